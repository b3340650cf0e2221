"""The vocabulary of shapes, and the two batches that cross module boundaries.

Axis words used in every annotation:

    text        distinct texts (questions or candidates) of one batch
    question    distinct questions                    candidate   distinct candidates
    pair        (question, candidate) pairs           group       one training example: a right candidate and its negatives
    length      tokens of a padded text, padding id 0 dim         width of a vector
    head        attention heads                       word        rows of the vocabulary
"""

from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

Text = dict[str, Tensor]
"""One side's texts part-way through a model. The first axis of every tensor is `text`; padding is False in `mask`.

Keys: `tokens` (text, length) ids; `mask` (text, length); `states` (text, length, dim); `vector` (text, dim) after pooling.
Where there is a `mask`, axis 1 of every tensor beside it counts tokens.
"""

PADDING = 0


def gather_texts(texts: Text, rows: Int[Tensor, " pair"]) -> Text:
    """The rows of every tensor in `texts`: from one row a text to one row a pair.

    >>> gather_texts({"vector": torch.tensor([[1.0], [2.0]])}, torch.tensor([1, 1, 0]))["vector"].flatten().tolist()
    [2.0, 2.0, 1.0]
    """
    return {name: tensor[rows] for name, tensor in texts.items()}


@dataclass(frozen=True)
class _Batch:
    """Moves its tensors between devices; Lightning looks for `to`."""

    def to(self, device: torch.device | str, **_: object) -> Any:
        tensors = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: value.to(device) for name, value in tensors.items() if isinstance(value, Tensor)})


@dataclass(frozen=True)
class RankingBatch(_Batch):
    """One training step: distinct texts, and the pairs among them. Hard negatives are only more pairs."""

    questions: Int[Tensor, "question question_length"]
    candidates: Int[Tensor, "candidate candidate_length"]
    pair_question: Int[Tensor, " pair"]
    """Row of `questions`."""
    pair_candidate: Int[Tensor, " pair"]
    """Row of `candidates`."""
    labels: Int[Tensor, " pair"]
    """1 for a right candidate."""
    groups: Int[Tensor, " pair"]
    """The training example each pair belongs to, numbered from 0."""

    @property
    def num_groups(self) -> int:
        return int(self.groups.max()) + 1 if self.groups.numel() else 0


@dataclass(frozen=True)
class ScoringBlock(_Batch):
    """A step of scoring a split: some texts of one side and, for candidates, every pair that these texts take part in.

    All question blocks of a split come before its candidate blocks, so each distinct text is encoded exactly once.
    """

    split: str
    side: str
    """`question` or `candidate`."""
    tokens: Int[Tensor, "text length"]
    pairs: Int[Tensor, " pair"]
    """Position of each pair in the split; empty for a question block."""
    pair_question: Int[Tensor, " pair"]
    """Row of the split's distinct questions, in the order of their blocks."""
    pair_candidate: Int[Tensor, " pair"]
    """Row of `tokens`."""
