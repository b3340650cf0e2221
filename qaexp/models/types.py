"""The axis words of all annotations, and `Text`: the texts of one side, part-way through a model.

A number is an axis of that size, and `*` stands for any number of axes.

Texts and pairs:

    text                               distinct texts of one batch, questions or candidates; outside a batch, texts of a corpus
    question, candidate                the distinct ones of one batch or one split
    pair                               (question, candidate) pairs
    group                              training examples: a right candidate and its negatives
    place                              pairs of a group, padded to the largest group
    class                              classes of a pair; scores have this axis only if there are more classes than right and wrong
    field                              parts of a text, such as title and body; an axis only if a data set has several
    answer, negative                   texts that negatives are drawn from; wrong pairs
    right                              right pairs that are ranked, of all questions
    hit                                texts that a search finds for another, best first
    item, chosen, kept                 items to draw from; drawn items; questions of a part
    batch_item, block_pair             the items of one batch; the pairs of one block
    pair_or_none, pair_or_ungraded     pairs, or an empty axis if the files have no scores of a search; no grades
    question_or_alike, pair_or_alike   questions and pairs, or an empty axis if all texts with the same words are written alike
    answer_or_alike, further_spelling  the same of the answer set; the ways in which words are written after the first one

Words:

    length                             tokens of a padded text; the padding id is 0
    question_length, candidate_length  the same where both sides meet
    partner_length, context_length     the same for the other text of a pair; for a context beside its title
    token                              the tokens of many texts, concatenated without padding
    word, known_word                   rows of the vocabulary; those that word vectors have
    ngram                              n-grams of a text
    position, range                    positions; runs of them, given by start and size

Widths:

    dim                                width of a vector
    hidden                             width of a recurrent state in one direction
    direction                          forwards and backwards
    head, head_dim                     attention heads; width of one
    gate, gates, products              width of one gate; of all gates, concatenated; of the gates and their inputs
    order                              the lengths of patterns, from 1, that an RCNN counts
    hop                                vectors of a text that is read several times
    filter, width, window              filters of a convolution; its widths in words; one of them
    channel                            input channels of a convolution
    slice, neuron, form                values of a grid's cell; the same, of any model; bilinear forms of a pair
    feature, features                  measurements of a pair; all compared features of a text; `*features`: any axes before a grid
    output                             outputs of the last layer

Grids:

    row, column                        words of the question and of the candidate; in attention, rows of words that attend to one another
    row_column, cells                  all cells, row by row
    cell, padded_cell                  cells of a diagonal; the same with those outside the grid
    part, two_states                   the LSTMs of a cell; the concatenated hidden states that one of them reads
    rows, columns                      the parts into which dynamic pooling cuts a grid; `*rows`: any axes before the last
    places, outputs                    units along a line or in a grid; windows on them
    k                                  the largest values of a grid

Files:

    line, byte                         lines; UTF-8 of many texts, concatenated

Counts:

    question_and_end                   the start of each question, and the end of the last
    text_and_end, group_and_end        the same for texts and for groups
    field_and_end                      the same for fields
    rank                               ranks, from 1
    key                                numbers that identify a question and a text
    num                                a requested number
    some, others, other                two lists of any size
    shape, whole, any                  any axes
    _                                  one axis, of another size each time
"""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional as F

Text = dict[str, Tensor]
"""One side's texts part-way through a model. The first axis of every tensor is `text`; padding is False in `mask`.

Every chain has `tokens` (text, length), ids; `mask` (text, length); `states` (text, length, dim); `vector` (text, dim) after pooling.
- Subwords: `subwords` (text, length), ids.
- Encoders whose last, or first, state has read the whole text: `last`, `first` (text, dim).
- Encoders that have done their first half: `residual` (text, length, dim) of a self-attention; `gru_gates`, `qrnn_gates` (text, length, …)
  of a recurrence.
- Coupled LSTMs: `gates` (text, length, …), a text's share of the gates of the grid.
- Stages, for the stage that follows: `keys` (text, length, dim), a text's share of an attention or alignment; `linear` (text, length,
  slice), its share of a grid; `attention` (text, length), the weights of its words.
- Models without vectors: `hash` (text); `keys`, `counts` and `weights` (text, ngram).

Where there is a `mask`, axis 1 of every tensor beside it counts tokens (or n-grams), except `vector`, `last` and `first`.
"""


def gather_texts(texts: Text, rows: Int[Tensor, " pair"], length: int | None = None) -> Text:
    """The rows of every tensor in `texts`: from one row per text to one row per pair. With a `length`, only that many first tokens of each
    text.

    >>> gather_texts({"vector": torch.tensor([[1.0], [2.0]])}, torch.tensor([1, 1, 0]))["vector"].flatten().tolist()
    [2.0, 2.0, 1.0]
    """
    return {name: (tensor[:, :length] if has_tokens(texts, name) else tensor)[rows] for name, tensor in texts.items()}


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
    if not has_tokens(block, name):
        return tensor
    return F.pad(tensor, [0, 0] * (tensor.ndim - 2) + [0, length - tensor.shape[1]])


def has_tokens(texts: Text, name: str) -> bool:
    """Whether axis 1 counts tokens."""
    return "mask" in texts and name not in ("vector", "last", "first")
