"""The vocabulary of shapes, and the batches that cross module boundaries.

The axis words of all annotations in qaexp/. A number is an axis of that size, and `*` stands for any number of axes.

Texts and pairs:

    text                               distinct texts of one batch, questions or candidates; of a corpus where there is no batch
    question, candidate                the distinct ones of one batch or one split
    pair                               (question, candidate) pairs
    group                              training examples: a right candidate and its negatives
    place                              the pairs of a group, as many as the largest group has
    class                              classes of a pair, an axis of scores only where there are more than right and wrong
    field                              parts of a text, such as title and body; an axis only where a data set has several
    answer, negative                   texts that negatives are drawn from; wrong pairs
    hit                                texts that a search finds for another, the best first
    item, chosen, kept                 what is drawn from; what was drawn; the questions of a part
    batch_item, block_pair             the items of one batch; the pairs of one block
    pair_or_none                       pairs, or nothing where files do not say

Words:

    length                             tokens of a padded text; the padding id is 0
    question_length, candidate_length  the same where both sides are there
    partner_length, context_length     the same of the other text of a pair; of a context beside its title
    token                              the tokens of many texts, end to end and without padding
    word, known_word                   rows of the vocabulary; those that word vectors have
    ngram                              n-grams of a text
    position, range                    positions; runs of them, given by start and size

Widths:

    dim                                width of a vector
    hidden                             width of a recurrent state in one direction
    direction                          forwards and backwards
    head, head_dim                     attention heads; width of one
    gate, gates, products              width of one gate; of all of them, end to end; of the gates and all that they let in
    order                              the lengths of patterns, from 1, that an RCNN counts
    hop                                vectors of a text that is read several times
    filter, width, window              filters of a convolution; its widths in words; one of them
    channel                            what a convolution reads of each unit
    slice, neuron, form                values of a grid's cell; the same, of any model; bilinear forms of a pair
    feature, features                  what is measured of a pair; all of a text that is compared; `*features`: what stands before a grid
    output                             outputs of the last layer

Grids:

    row, column                        words of the question and of the candidate; of attention, rows of words that see one another
    row_column, cells                  all cells, row by row
    cell, padded_cell                  cells of a diagonal; with those beyond the grid's border
    part, two_states                   the LSTMs of a cell; the hidden states that one of them reads, end to end
    rows, columns                      the parts that dynamic pooling cuts a grid into; `*rows`: whatever stands before the last axis
    places, outputs                    units along a line or in a grid; windows on them
    k                                  the largest values of a grid

Counts:

    question_and_end                   where each question begins, and where the last one ends
    group_and_end, field_and_end       the same of groups and of fields
    rank                               ranks, from 1
    key                                numbers that stand for a question and a text
    num                                as many as are asked for
    some, others, other                of two lists of any size
    shape, whole, axis, any            whatever is there
"""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional as F

Text = dict[str, Tensor]
"""One side's texts part-way through a model. The first axis of every tensor is `text`; padding is False in `mask`.

Of all chains: `tokens` (text, length) ids; `mask` (text, length); `states` (text, length, dim); `vector` (text, dim) after pooling.
Of encoders whose last state has read the whole text: `last` (text, dim).
Of encoders that have done their first half: `residual` (text, length, dim) of a self-attention, `gru_gates` and `qrnn_gates`
(text, length, …) of a recurrence. Of coupled LSTMs: `gates` (text, length, …), a text's share of those of the grid.
Of some stages, for the stage that follows: `keys` (text, length, dim), a text's share of an attention or alignment; `linear`
(text, length, slice), its share of a grid; `attention` (text, length), its words' weights.
Of models without vectors: `hash` (text); `keys`, `counts` and `weights` (text, ngram).
Where there is a `mask`, axis 1 of every tensor beside it counts tokens (or n-grams), except `vector` and `last`.
"""


def gather_texts(texts: Text, rows: Int[Tensor, " pair"], length: int | None = None) -> Text:
    """The rows of every tensor in `texts`: from one row a text to one row a pair. With a `length`, only the first tokens of each text.

    >>> gather_texts({"vector": torch.tensor([[1.0], [2.0]])}, torch.tensor([1, 1, 0]))["vector"].flatten().tolist()
    [2.0, 2.0, 1.0]
    """
    return {name: (tensor[:, :length] if _has_tokens(texts, name) else tensor)[rows] for name, tensor in texts.items()}


def concatenate_texts(blocks: Sequence[Text]) -> Text:
    """Concatenates blocks of texts; tensors with an axis over tokens are padded to the longest block's length."""
    longest = max(padded_length(block) for block in blocks)
    return {name: torch.cat([_lengthened(block, name, longest) for block in blocks]) for name in blocks[0]}


def padded_length(texts: Text) -> int:
    """The length to which texts are padded; 1 if the texts are vectors without tokens."""
    return texts["mask"].shape[1] if "mask" in texts else 1


def _lengthened(block: Text, name: str, length: int) -> Tensor:
    """A tensor of the block, padded with zeros (False in a mask) after the last token."""
    tensor = block[name]
    if not _has_tokens(block, name):
        return tensor
    return F.pad(tensor, [0, 0] * (tensor.ndim - 2) + [0, length - tensor.shape[1]])


def _has_tokens(texts: Text, name: str) -> bool:
    """Whether axis 1 counts tokens."""
    return "mask" in texts and name not in ("vector", "last")
