"""RankingMetrics and torchmetrics' own four retrieval metrics, side by side: `python -m benchmarks.metrics`."""

import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor
from torchmetrics.retrieval import RetrievalMAP, RetrievalMRR, RetrievalPrecision

from qaexp.metrics import METRICS, RankingMetrics

NUM_QUESTIONS, NUM_CANDIDATES = 100_000, 10
REPEATS, OURS_PER_REPEAT, AFFORDABLE_SECONDS = 3, 5, 40.0  # ours is short enough for one interruption to spoil a single reading


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


def _timed(
    measure: Callable[[Tensor, Tensor, Tensor], dict[str, float]], pairs: tuple[Tensor, Tensor, Tensor]
) -> tuple[float, dict[str, float]]:
    start = time.perf_counter()
    values = measure(*pairs)
    return time.perf_counter() - start, values


def _line(name: str, seconds: list[float]) -> str:
    return f"{name:28}{statistics.median(seconds):8.3f} s ({min(seconds):.3f} to {max(seconds):.3f}, {len(seconds)} times)"


def run() -> list[str]:
    """Alternates the two until torchmetrics has used its seconds, checks that they agree, and reports medians.

    One thread each: torchmetrics' small tensors use no more, and ours would measure how busy the other cores are.
    """
    torch.set_num_threads(1)
    pairs = _pairs()
    ours = _ours(*pairs)  # warm-up
    seconds: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(REPEATS):
        for _ in range(OURS_PER_REPEAT):
            spent, ours = _timed(_ours, pairs)
            seconds["ours"].append(spent)
        spent, theirs = _timed(_theirs, pairs)
        seconds["theirs"].append(spent)
        for name in METRICS:
            assert abs(ours[name] - theirs[name]) < 1e-5, f"{name}: {ours[name]} here, {theirs[name]} in torchmetrics"  # float32 means
        if sum(seconds["theirs"]) + spent > AFFORDABLE_SECONDS:
            break
    ratio = statistics.median(seconds["theirs"]) / statistics.median(seconds["ours"])
    return [
        f"{len(pairs[0]):,} pairs in {NUM_QUESTIONS:,} questions, {torch.get_num_threads()} thread, alternating; median (range)",
        _line("RankingMetrics", seconds["ours"]),
        _line("torchmetrics, four metrics", seconds["theirs"]),
        f"{'ratio':28}{ratio:8.1f}",
    ]


def main() -> None:
    print("\n".join(run()))


if __name__ == "__main__":
    main()
