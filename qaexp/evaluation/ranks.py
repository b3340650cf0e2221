"""The ranks of all right candidates of all questions, from which measures are computed at once."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from qaexp.errors import UnrankableScoresError
from qaexp.evaluation.conventions import Convention

UNJUDGED = -(1 << 31)
"""The label of a candidate without a judgement. It counts as wrong, except in measures that tell the two apart, such as `Judged`."""


def rank_pairs(scores: Float[Tensor, " pair"], questions: Int[Tensor, " pair"], tie_order: Int[Tensor, " pair"]) -> Int[Tensor, " pair"]:
    """The order of the pairs: by question, then by descending score, then by descending `tie_order`, then in input order.

    One stable sort by the key question · 2³² + place of the score among all float32 values, over pairs already in tie order.

    Reading: trec_eval keeps scores in C floats, so doubles that differ only beyond float32 are ties. They are ties here, too, under every
    convention. Half precision widens without loss.

    Raises: UnrankableScoresError on NaN (naming the question), on no pairs, and on question numbers beyond 31 bits.

    >>> rank_pairs(torch.tensor([0.1, -2.0, 0.1]), torch.tensor([4, 4, 4]), torch.tensor([0, 1, 2])).tolist()
    [2, 0, 1]
    """
    if not len(scores):
        raise UnrankableScoresError("there are no scored pairs to rank: is the split empty?")
    if bool(nan := (faulty := scores.isnan()).sum()):
        first = int(questions[faulty][0])
        raise UnrankableScoresError(
            f"{int(nan)} of {len(scores)} scores are NaN, the first in question number {first}: has training diverged?"
        )
    if int(questions.abs().max()) >= 2**31:
        raise UnrankableScoresError("question numbers must fit in 31 bits: number the questions of a split from 0")
    bits = (scores.float() + 0.0).view(torch.int32)  # + 0.0 turns −0.0 into 0.0, since the two compare equal
    ascending = bits ^ ((bits >> 31) & 0x7FFFFFFF)  # floats below 0 count their bits downwards: flip all but the sign
    keys = (questions.long() << 32) + ~ascending.long()  # ~x = −x − 1: descending
    by_tie = tie_order.argsort(descending=True, stable=True)
    return by_tie[keys[by_tie].argsort(stable=True)]


@dataclass(frozen=True)
class Ranks:
    """All questions, sorted by number, and all right candidates that were ranked, one row each, sorted by question and rank.

    A label above 0 is right.
    """

    convention: Convention
    question: Int[Tensor, " question"]
    candidates: Int[Tensor, " question"]
    """How many of its candidates are ranked."""
    answers: Int[Tensor, " question"]
    """How many right candidates it has, whether ranked or not."""
    group: Int[Tensor, " right"]
    """Place of the candidate's question in `question`."""
    rank: Int[Tensor, " right"]
    nth: Int[Tensor, " right"]
    """1 for the best right candidate of a question, 2 for the next."""
    gain: Int[Tensor, " right"]
    """Its label."""
    ideal_group: Int[Tensor, " answer"]
    """The best possible order of all right candidates: `group`, `rank` and `gain` in it."""
    ideal_rank: Int[Tensor, " answer"]
    ideal_gain: Int[Tensor, " answer"]
    pair_group: Int[Tensor, " pair"]
    """For each pair as it came: place of its question, rank (0 if it is not ranked) and label."""
    pair_rank: Int[Tensor, " pair"]
    pair_label: Int[Tensor, " pair"]

    @classmethod
    def of(
        cls,
        scores: Float[Tensor, " pair"],
        labels: Int[Tensor, " pair"],
        questions: Int[Tensor, " pair"],
        tie_order: Int[Tensor, " pair"],
        convention: Convention,
        ranked: Bool[Tensor, " pair"] | None = None,
    ) -> "Ranks":
        """The ranks of scored pairs. `ranked` is False for candidates that are judged but missing from the ranking; their scores are
        ignored.

        Raises: as `rank_pairs`.
        """
        question, group = questions.unique(return_inverse=True)
        places = torch.arange(len(scores), device=scores.device) if ranked is None else ranked.nonzero().squeeze(1)
        order = places[rank_pairs(scores[places], questions[places], tie_order[places])]
        candidates = torch.bincount(group[order], minlength=len(question))
        ranks = torch.arange(len(order), device=order.device) - _starts(candidates)[group[order]] + 1
        right = labels[order] > 0
        right_group = group[order][right]
        found = torch.bincount(right_group, minlength=len(question))
        nth = torch.arange(len(right_group), device=order.device) - _starts(found)[right_group] + 1
        answer = (labels > 0).nonzero().squeeze(1)
        answer = answer[labels[answer].argsort(descending=True, stable=True)]
        answer = answer[group[answer].argsort(stable=True)]
        answers = torch.bincount(group[answer], minlength=len(question))
        return cls(
            convention=convention,
            question=question,
            candidates=candidates,
            answers=answers,
            group=right_group,
            rank=ranks[right],
            nth=nth,
            gain=labels[order][right],
            ideal_group=group[answer],
            ideal_rank=torch.arange(len(answer), device=order.device) - _starts(answers)[group[answer]] + 1,
            ideal_gain=labels[answer],
            pair_group=group,
            pair_rank=torch.zeros_like(group).index_copy_(0, order, ranks),
            pair_label=labels,
        )

    def total(self, values: Tensor) -> Float[Tensor, " question"]:
        """The sum of a value over a question's ranked right candidates."""
        return _sums(values, self.group, len(self.question))

    def seen_to(self, k: int | float) -> int | float:
        """The last rank that reciprocal rank and average precision look at."""
        return min(k, self.convention.depth or k)

    def ideal_dcg(self, k: int | float) -> Float[Tensor, " question"]:
        """Σ of label / log₂(rank + 1) over the first k of the best order."""
        gains = (self.ideal_rank <= k) * self.ideal_gain / (self.ideal_rank.double() + 1).log2()
        return _sums(gains, self.ideal_group, len(self.question))


def _starts(sizes: Int[Tensor, " question"]) -> Int[Tensor, " question"]:
    return sizes.cumsum(0) - sizes


def _sums(values: Tensor, group: Int[Tensor, " pair"], size: int) -> Float[Tensor, " question"]:
    return torch.zeros(size, dtype=torch.float64, device=group.device).index_add_(0, group, values.double())
