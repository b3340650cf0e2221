"""Precision at 1 and 5, reciprocal rank, average precision and nDCG at 10 of all questions at once, from ranks and a named convention."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from qaexp.errors import QaexpError
from qaexp.evaluation.conventions import METRICS, Convention, find_convention


class UnrankableScoresError(QaexpError):
    """The scores cannot be ranked: there are none, or some are NaN."""


def rank_pairs(scores: Float[Tensor, " pair"], questions: Int[Tensor, " pair"], tie_order: Int[Tensor, " pair"]) -> Int[Tensor, " pair"]:
    """Pairs by question ascending, then score descending, then `tie_order` descending, then as they came.

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


def measure_questions(
    scores: Float[Tensor, " pair"],
    labels: Int[Tensor, " pair"],
    questions: Int[Tensor, " pair"],
    tie_order: Int[Tensor, " pair"],
    convention: Convention,
) -> dict[str, Tensor]:
    """The metrics of each question that the convention counts, in order of question number; a label above 0 is right.

    With the right candidates of a question at ranks r₁ < r₂ < … < r_R, the depth d and n of them at ranks ≤ d:

        p@k = |{i: rᵢ ≤ k}| / k        mrr = 1 / r₁ if r₁ ≤ d, else 0        map = Σ_{i ≤ n} (i / rᵢ) / R
        ndcg@10 = Σ_{rᵢ ≤ 10} 1 / log₂(rᵢ + 1)  /  Σ_{i ≤ min(R, 10)} 1 / log₂(i + 1)

    map over n for `divides_by_found`. Source: trec_eval's P_1, P_5, recip_rank, map and ndcg_cut_10.

    Also returns `question` (its number), `candidates` and `answers` (its counts).

    Raises: as `rank_pairs`.

    >>> scores, labels = torch.tensor([0.9, -0.5, 0.2, 0.1]), torch.tensor([0, 1, 1, 0])    # right candidates at ranks 2 and 4
    >>> zeros = torch.zeros(4, dtype=torch.int64)
    >>> measured = measure_questions(scores, labels, zeros, zeros, find_convention("trec"))
    >>> {name: measured[name].tolist() for name in METRICS[:4]}    # map = (1/2 + 2/4) / 2
    {'p@1': [0.0], 'mrr': [0.5], 'map': [0.5], 'p@5': [0.4]}
    >>> round(measured["ndcg@10"].item(), 4)    # (1/log₂3 + 1/log₂5) / (1/log₂2 + 1/log₂3)
    0.6509
    """
    order = rank_pairs(scores, questions, tie_order)
    question, group, candidates = torch.unique_consecutive(questions[order], return_inverse=True, return_counts=True)
    right = (labels[order] > 0).nonzero().squeeze(1)  # from here on, one row a right candidate, best first
    group = group[right]
    answers = torch.bincount(group, minlength=len(question))
    rank = right - (candidates.cumsum(0) - candidates)[group] + 1
    nth = torch.arange(len(right), device=rank.device) - (answers.cumsum(0) - answers)[group] + 1
    seen = rank <= (convention.depth or len(scores))

    def total(values: Tensor) -> Float[Tensor, " question"]:
        return torch.zeros(len(question), dtype=torch.float64, device=rank.device).index_add_(0, group, values.double())

    def precision(k: int) -> Float[Tensor, " question"]:
        return total(rank <= k) / (candidates.clamp(max=k) if convention.precision_divides_by_pool else k)

    ideal = torch.arange(2, 12, dtype=torch.float64, device=rank.device).log2().reciprocal().cumsum(0)
    measured = {
        "p@1": precision(1),
        "mrr": total((seen & (nth == 1)) / rank.double()),
        "map": total(seen * nth / rank.double()) / (total(seen) if convention.divides_by_found else answers).clamp(min=1),
        "p@5": precision(5),
        "ndcg@10": total((rank <= 10) / (rank.double() + 1).log2()) / ideal[answers.clamp(min=1, max=10) - 1],
        "question": question,
        "candidates": candidates,
        "answers": answers,
    }
    return measured if convention.counts_unanswered else {name: values[answers > 0] for name, values in measured.items()}


def share_tied_at_first_answer(
    scores: Float[Tensor, " pair"], labels: Int[Tensor, " pair"], questions: Int[Tensor, " pair"]
) -> Float[Tensor, ""]:
    """Share of questions whose best right candidate ties with a wrong one (in float32), so that their rank depends on the order of ties.

    Reading: a share of the questions that have a right candidate; the others have no such rank. 0 when none has one.

    >>> zeros = torch.zeros(4, dtype=torch.int64)
    >>> share_tied_at_first_answer(torch.tensor([1.0, 1.0, 3.0, 2.0]), torch.tensor([1, 0, 0, 1]), torch.tensor([0, 0, 1, 1])).item()
    0.5
    """
    scores = scores.float()
    question, group = questions.unique(return_inverse=True)
    right: Bool[Tensor, " pair"] = labels > 0
    answered = torch.bincount(group[right], minlength=len(question)) > 0
    best = scores.new_full((len(question),), -torch.inf).scatter_reduce(0, group[right], scores[right], "amax")
    tied = torch.bincount(group[~right & (scores == best[group])], minlength=len(question)) > 0
    return (tied & answered).sum().double() / answered.sum().clamp(min=1)


class RankingMetrics(Metric):
    """Means of `measure_questions` over the pairs of all updates and all processes; a question's pairs may arrive in any order and place.

    `tie_order` is `find_convention(...).tie_order` of the split's candidate ids, computed once at load: since it travels with the pairs,
    no result depends on the order in which they arrive, not even under the stable conventions.

    Departs: torchmetrics 1.7.4 to 1.9.0 treats candidates with scores ≤ 0 as not retrieved; only its state and sync are used here.

    Raises: ConfigError on an unknown convention; on reading a result, UnrankableScoresError if there is NaN or nothing to average.

    >>> metrics = RankingMetrics("trec")    # question 7 ranks its answer second, question 8 first
    >>> scores, labels = torch.tensor([0.9, -0.1, -3.0, -2.0]), torch.tensor([0, 1, 0, 1])
    >>> metrics.update(scores, labels, torch.tensor([7, 7, 8, 8]), torch.tensor([1, 0, 1, 0]))
    >>> {name: round(value.item(), 4) for name, value in metrics.compute().items()}
    {'p@1': 0.5, 'mrr': 0.75, 'map': 0.75, 'p@5': 0.2, 'ndcg@10': 0.8155}
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    scores: list[Tensor]
    labels: list[Tensor]
    questions: list[Tensor]
    tie_order: list[Tensor]

    def __init__(self, convention: str) -> None:
        super().__init__()
        self.convention = find_convention(convention)
        for state in ("scores", "labels", "questions", "tie_order"):
            self.add_state(state, default=[], dist_reduce_fx="cat")

    def update(
        self,
        scores: Float[Tensor, " pair"],
        labels: Int[Tensor, " pair"],
        questions: Int[Tensor, " pair"],
        tie_order: Int[Tensor, " pair"],
    ) -> None:
        self.scores.append(scores.detach().float())
        self.labels.append(labels)
        self.questions.append(questions)
        self.tie_order.append(tie_order)

    def compute(self) -> dict[str, Float[Tensor, ""]]:
        measured = measure_questions(*self._pairs(), self.convention)
        if not len(measured["question"]):
            raise UnrankableScoresError(
                "no question has a right candidate, and this convention leaves such questions out: there is nothing to average"
            )
        return {name: measured[name].mean() for name in METRICS}

    def per_question(self) -> dict[str, Tensor]:
        """`measure_questions` of everything so far, of all processes: `compute` gives the means of its columns."""
        with self.sync_context(dist_sync_fn=self.dist_sync_fn):
            return measure_questions(*self._pairs(), self.convention)

    def share_tied_at_first_answer(self) -> Float[Tensor, ""]:
        """The function of that name, of everything so far, of all processes."""
        with self.sync_context(dist_sync_fn=self.dist_sync_fn):
            scores, labels, questions, _ = self._pairs()
            return share_tied_at_first_answer(scores, labels, questions)

    def _pairs(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        if isinstance(self.scores, list) and not self.scores:
            raise UnrankableScoresError("there are no scored pairs to rank: `update` has not been called")
        return dim_zero_cat(self.scores), dim_zero_cat(self.labels), dim_zero_cat(self.questions), dim_zero_cat(self.tie_order)
