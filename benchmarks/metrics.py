"""RankingMetrics against torchmetrics' own four retrieval metrics, on the CPU, where runs end up."""

from collections.abc import Iterator

import torch
from torch import Tensor
from torchmetrics.retrieval import RetrievalMAP, RetrievalMRR, RetrievalPrecision

from benchmarks.row import Row
from benchmarks.timing import CPU, paired
from qaexp.evaluation.conventions import METRICS
from qaexp.evaluation.metrics import RankingMetrics

NUM_QUESTIONS, NUM_CANDIDATES = 100_000, 10
OURS_PER_PAIR = 5  # ours is short enough for one interruption to spoil a single reading
NUM_PAIRS = 2  # far from the limit


def rows() -> Iterator[Row]:
    pairs = _pairs()
    values: dict[str, dict[str, float]] = {"ours": _ours(*pairs)}

    def ours() -> None:
        for _ in range(OURS_PER_PAIR):
            values["ours"] = _ours(*pairs)

    def other() -> None:
        values["other"] = _theirs(*pairs)

    measured = paired(ours, other, NUM_PAIRS, CPU, warm_up=False)
    for name in METRICS:
        apart = abs(values["ours"][name] - values["other"][name])
        if not apart < 1e-5:  # float32 means
            raise AssertionError(f"{name}: {values['ours'][name]} here, {values['other'][name]} in torchmetrics")
    measured.ours[:] = [seconds / OURS_PER_PAIR for seconds in measured.ours]
    what = f"P@1, MRR, MAP, P@5 of {len(pairs[0]):,} pairs in {NUM_QUESTIONS:,} questions: RankingMetrics, torchmetrics (same values)"
    yield measured.at_least(what, 20)


def _pairs() -> tuple[Tensor, Tensor, Tensor]:
    """Distinct scores, so that no tie is at issue; above 0, because torchmetrics holds the others to be not retrieved."""
    generator = torch.Generator().manual_seed(0)
    num_pairs = NUM_QUESTIONS * NUM_CANDIDATES
    scores = (torch.randperm(num_pairs, generator=generator) + 1).float() / num_pairs
    labels = (torch.rand(num_pairs, generator=generator) < 0.15).long()  # a fifth of the questions have no right candidate
    shuffled = torch.randperm(num_pairs, generator=generator)
    return scores, labels, torch.arange(NUM_QUESTIONS).repeat_interleave(NUM_CANDIDATES)[shuffled]


def _ours(scores: Tensor, labels: Tensor, questions: Tensor) -> dict[str, float]:
    metrics = RankingMetrics("trec")
    metrics.update(scores, labels, questions, torch.arange(len(scores)))
    return {name: value.item() for name, value in metrics.compute().items()}


def _theirs(scores: Tensor, labels: Tensor, questions: Tensor) -> dict[str, float]:
    measures = {"p@1": RetrievalPrecision(top_k=1), "mrr": RetrievalMRR(), "map": RetrievalMAP(), "p@5": RetrievalPrecision(top_k=5)}
    for measure in measures.values():
        measure.update(scores, labels, questions)
    return {name: measure.compute().item() for name, measure in measures.items()}
