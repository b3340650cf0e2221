"""The batches of training and scoring steps: distinct texts and the pairs among them."""

from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from qaexp.data.vocabulary import PADDING


def token_mask(tokens: Int[Tensor, "text *field length"]) -> Bool[Tensor, "text *field length"]:
    """True on real tokens.

    >>> token_mask(torch.tensor([[5, 6, 0]])).tolist()
    [[True, True, False]]
    """
    return tokens != PADDING


def lengths_of(tokens: Int[Tensor, "text *field length"]) -> Int[Tensor, " text"]:
    """Number of tokens of each text, or of its longest field.

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
        """Number of items in the step: the rows of its first tensor, unless a subclass counts otherwise."""
        return len(self._tensors()[0])

    @property
    def num_tokens(self) -> Int[Tensor, ""]:
        """Number of tokens without padding, as a tensor, so that reading it does not wait for the device."""
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
    """1 for a right candidate; for classified pairs, the class."""
    groups: Int[Tensor, " pair"]
    """The training example each pair belongs to, numbered from 0."""
    question_texts: Int[Tensor, " question"] | None = None
    """Each question's number in the corpus; None in a batch that is made by hand."""
    candidate_texts: Int[Tensor, " candidate"] | None = None
    targets: Float[Tensor, " pair"] | None = None
    """A teacher's scores, for losses that learn from them."""

    @property
    def num_groups(self) -> int:
        return int(self.groups.max()) + 1 if self.groups.numel() else 0

    @property
    def num_examples(self) -> int:
        return self.num_groups

    def of_pairs(self, pairs: Int[Tensor, " some"]) -> "RankingBatch":
        """A smaller batch with some of the pairs and only their texts, padded to the longest of these."""
        questions, pair_question, question_texts = _needed(self.questions, self.pair_question[pairs], self.question_texts)
        candidates, pair_candidate, candidate_texts = _needed(self.candidates, self.pair_candidate[pairs], self.candidate_texts)
        targets = None if self.targets is None else self.targets[pairs]
        labels, groups = self.labels[pairs], self.groups[pairs]
        return RankingBatch(questions, candidates, pair_question, pair_candidate, labels, groups, question_texts, candidate_texts, targets)


def _needed(
    tokens: Int[Tensor, "text *field length"], rows: Int[Tensor, " pair"], texts: Int[Tensor, " text"] | None
) -> tuple[Tensor, Int[Tensor, " pair"], Tensor | None]:
    """The texts of these rows, each once, the new row of each, and their numbers in the corpus."""
    rows, places = rows.unique(return_inverse=True)
    needed = tokens[rows]
    return needed[..., : max(1, int(lengths_of(needed).max()))], places, None if texts is None else texts[rows]


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
    """One step of pre-training: titles, each with the context to predict it from."""

    titles: Int[Tensor, "text length"]
    """The words of each title, without begin and end marks."""
    contexts: Int[Tensor, "text context_length"]
