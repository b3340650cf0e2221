"""The torchmetrics metric that collects the scored pairs of a split and computes all measures at once."""

from collections.abc import Sequence

from jaxtyping import Float, Int
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from qaexp.errors import UnrankableScoresError
from qaexp.evaluation.conventions import METRICS, find_convention
from qaexp.evaluation.measures import measure_keys
from qaexp.evaluation.questions import measure_questions, share_tied_at_first_answer


class RankingMetrics(Metric):
    """Means of `measure_questions` over the pairs of all updates and all processes; a question's pairs may arrive in any order and on any
    process.

    `tie_order` is `find_convention(...).tie_order` of the split's candidate ids, computed once when the data are read. It is given with the
    pairs, so no result depends on the order in which they arrive, whatever the convention.

    Departs: torchmetrics 1.7.4 to 1.9.0 treats candidates with scores ≤ 0 as not retrieved; only its state and sync are used here.

    Raises: ConfigError on an unknown convention or measure; on reading a result,
        UnrankableScoresError if there is NaN or nothing to average.

    >>> import torch
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

    def __init__(self, convention: str, measures: Sequence[str] = METRICS) -> None:
        super().__init__()
        self.convention = find_convention(convention)
        self.measures = measure_keys(measures)
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
        measured = self._measured()
        if not len(measured["question"]):
            raise UnrankableScoresError(
                "no question has a right candidate, and this convention leaves such questions out: there is nothing to average"
            )
        return {name: measured[name].mean() for name in self.measures}

    def per_question(self) -> dict[str, Tensor]:
        """`measure_questions` of all pairs so far, from all processes. `compute` returns the means of its columns."""
        with self.sync_context(dist_sync_fn=self.dist_sync_fn):
            return self._measured()

    def share_tied_at_first_answer(self) -> Float[Tensor, ""]:
        """`questions.share_tied_at_first_answer` of all pairs so far, from all processes."""
        with self.sync_context(dist_sync_fn=self.dist_sync_fn):
            scores, labels, questions, _ = self._pairs()
            return share_tied_at_first_answer(scores, labels, questions)

    def _measured(self) -> dict[str, Tensor]:
        return measure_questions(*self._pairs(), self.convention, self.measures)

    def _pairs(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        if isinstance(self.scores, list) and not self.scores:
            raise UnrankableScoresError("there are no scored pairs to rank: `update` has not been called")
        return dim_zero_cat(self.scores), dim_zero_cat(self.labels), dim_zero_cat(self.questions), dim_zero_cat(self.tie_order)
