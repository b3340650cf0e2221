"""The vocabulary of shapes, and the batches that cross module boundaries.

The axis words of every annotation in qaexp/. A number is an axis of that size, and `*` stands for any number of axes.

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
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional as F

from qaexp.masking import token_mask

Text = dict[str, Tensor]
"""One side's texts part-way through a model. The first axis of every tensor is `text`; padding is False in `mask`.

Of all chains: `tokens` (text, length) ids; `mask` (text, length); `states` (text, length, dim); `vector` (text, dim) after pooling.
Of some stages, for the stage that follows: `gates` (text, length, …), what a recurrence goes on from; `keys` (text, length, dim), a text's
share of an attention or alignment; `linear` (text, length, slice), its share of a grid; `attention` (text, length), its words' weights.
Of models without vectors: `hash` (text); `keys`, `counts` and `weights` (text, ngram).
Where there is a `mask`, axis 1 of every tensor beside it counts tokens (or n-grams), but for `vector`.
"""


def gather_texts(texts: Text, rows: Int[Tensor, " pair"], length: int | None = None) -> Text:
    """The rows of every tensor in `texts`: from one row a text to one row a pair. Of tokens, the first `length`, or all.

    >>> gather_texts({"vector": torch.tensor([[1.0], [2.0]])}, torch.tensor([1, 1, 0]))["vector"].flatten().tolist()
    [2.0, 2.0, 1.0]
    """
    return {name: (tensor[:, :length] if _has_tokens(texts, name) else tensor)[rows] for name, tensor in texts.items()}


def concatenated(blocks: Sequence[Text]) -> Text:
    """Blocks of texts end to end; tensors with an axis over tokens are padded to the longest block's length."""
    longest = max(longest_text(block) for block in blocks)
    return {name: torch.cat([_lengthened(block, name, longest) for block in blocks]) for name in blocks[0]}


def lengths_of(tokens: Int[Tensor, "text *field length"]) -> Int[Tensor, " text"]:
    """Tokens of each text, of its longest field where there are several.

    >>> lengths_of(torch.tensor([[5, 6, 0], [7, 0, 0]])).tolist()
    [2, 1]
    """
    lengths = token_mask(tokens).sum(dim=-1)  # (text) or (text, field)
    return lengths if lengths.ndim == 1 else lengths.amax(dim=1)


def longest_text(texts: Text) -> int:
    """The length to which texts are padded; 1 where no words are left."""
    return texts["mask"].shape[1] if "mask" in texts else 1


def _lengthened(block: Text, name: str, length: int) -> Tensor:
    """Zeros (False in a mask) after the last token."""
    tensor = block[name]
    if not _has_tokens(block, name):
        return tensor
    return F.pad(tensor, [0, 0] * (tensor.ndim - 2) + [0, length - tensor.shape[1]])


def _has_tokens(texts: Text, name: str) -> bool:
    """Whether axis 1 counts tokens."""
    return "mask" in texts and name != "vector"


@dataclass(frozen=True)
class _Batch:
    """Moves its tensors between devices; Lightning looks for `to`."""

    def to(self, device: torch.device | str, **_: object) -> Any:
        tensors = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: value.to(device) for name, value in tensors.items() if isinstance(value, Tensor)})

    @property
    def num_examples(self) -> int:
        """What is learned from or scored in one step: the rows of its first tensor, unless a batch says otherwise."""
        return len(self._tensors()[0])

    @property
    def num_tokens(self) -> Int[Tensor, ""]:
        """Tokens of its texts, padding left out. They alone have several axes. A tensor, so that asking waits for no device."""
        return torch.stack([token_mask(tensor).sum() for tensor in self._tensors() if tensor.ndim > 1]).sum()

    def _tensors(self) -> list[Tensor]:
        return [value for field in fields(self) if isinstance(value := getattr(self, field.name), Tensor)]


@dataclass(frozen=True)
class RankingBatch(_Batch):
    """One training step: distinct texts, and the pairs among them. Hard negatives are only more pairs."""

    questions: Int[Tensor, "question *field question_length"]
    candidates: Int[Tensor, "candidate *field candidate_length"]
    pair_question: Int[Tensor, " pair"]
    """Row of `questions`."""
    pair_candidate: Int[Tensor, " pair"]
    """Row of `candidates`."""
    labels: Int[Tensor, " pair"]
    """1 for a right candidate; where pairs have classes, the class."""
    groups: Int[Tensor, " pair"]
    """The training example each pair belongs to, numbered from 0."""

    @property
    def num_groups(self) -> int:
        return int(self.groups.max()) + 1 if self.groups.numel() else 0

    @property
    def num_examples(self) -> int:
        return self.num_groups

    def of_pairs(self, pairs: Int[Tensor, " some"]) -> "RankingBatch":
        """Some of the pairs, with the texts that they need, padded no longer than these need."""
        questions, pair_question = _needed(self.questions, self.pair_question[pairs])
        candidates, pair_candidate = _needed(self.candidates, self.pair_candidate[pairs])
        return RankingBatch(questions, candidates, pair_question, pair_candidate, self.labels[pairs], self.groups[pairs])


def _needed(tokens: Int[Tensor, "text *field length"], rows: Int[Tensor, " pair"]) -> tuple[Tensor, Int[Tensor, " pair"]]:
    """The texts that stand in these rows, each once, and the rows in which they stand then."""
    rows, places = rows.unique(return_inverse=True)
    texts = tokens[rows]
    return texts[..., : max(1, int(lengths_of(texts).max()))], places


@dataclass(frozen=True)
class ScoringBlock(_Batch):
    """A step of scoring a split: some texts of one side and, for candidates, every pair that these texts take part in.

    All question blocks of a split come before its candidate blocks, so each distinct text is encoded exactly once.
    """

    split: str
    side: str
    """`question` or `candidate`."""
    tokens: Int[Tensor, "text *field length"]
    pairs: Int[Tensor, " pair"]
    """Position of each pair in the split; empty for a question block."""
    pair_question: Int[Tensor, " pair"]
    """Row of the split's distinct questions, in the order of their blocks."""
    pair_candidate: Int[Tensor, " pair"]
    """Row of `tokens`."""


@dataclass(frozen=True)
class ReconstructionBatch(_Batch):
    """One step of pre-training: titles, each beside the context from which it is to be told."""

    titles: Int[Tensor, "text length"]
    """The words of each title, without a mark of its beginning or end."""
    contexts: Int[Tensor, "text context_length"]
