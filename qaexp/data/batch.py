"""What training and scoring steps are given: distinct texts, and the pairs among them."""

from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from qaexp.data.vocabulary import PADDING


def token_mask(tokens: Int[Tensor, "text *field length"]) -> Bool[Tensor, "text *field length"]:
    """True on real tokens.

    >>> token_mask(torch.tensor([[5, 6, 0]])).tolist()
    [[True, True, False]]
    """
    return tokens != PADDING


def lengths_of(tokens: Int[Tensor, "text *field length"]) -> Int[Tensor, " text"]:
    """Tokens of each text, of its longest field where there are several.

    >>> lengths_of(torch.tensor([[5, 6, 0], [7, 0, 0]])).tolist()
    [2, 1]
    """
    lengths = token_mask(tokens).sum(dim=-1)  # (text) or (text, field)
    return lengths if lengths.ndim == 1 else lengths.amax(dim=1)


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
