"""Canaries: scorers that know nothing or everything. Their results can be computed, so any other result shows a leak or a fault."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from jaxtyping import Float, Int

from qaexp.data.corpus import RankingSplit
from qaexp.data.module import RankingDataModule
from qaexp.evaluation.conventions import METRICS, file_tie_order, find_convention
from qaexp.evaluation.metrics import RankingMetrics

ERRORS = 4.0
"""How many standard errors a scorer that knows nothing may be off. By chance it is off by more once in 16,000 comparisons."""

MAX_SHARE_OF_WAY = 0.5
"""The largest acceptable share of the way from chance to a perfect P@1, for an order that belongs to the data set."""

OK, NOTE, LEAK, BROKEN = "OK", "note", "LEAK", "BROKEN"
"""As expected; worth knowing; something reveals the labels; the metrics or the labels are wrong."""


@dataclass(frozen=True)
class Chance:
    """The result of a random order on some pools: the mean of a metric and its standard error."""

    mean: float
    error: float

    def deviation(self, measured: float) -> float:
        """How far `measured` is from the mean, in standard errors. 0 or infinite if every order gives the same value."""
        off = measured - self.mean
        return 0.0 if abs(off) < 1e-9 else off / self.error if self.error else float(np.copysign(np.inf, off))


@dataclass(frozen=True)
class Finding:
    """A row of the table."""

    split: str
    canary: str
    verdict: str
    measured: Mapping[str, float]
    """The canary's metrics, if it ranks."""
    expected: Mapping[str, Chance]
    remark: str
    """What the numbers mean; may be empty."""


def check(data: RankingDataModule, in_files: RankingDataModule, seed: int) -> list[Finding]:
    """Every canary on every ranked split of `data`; `in_files` is the same data set with its pools in the order of the files."""
    return [finding for split in data.ranked_splits for finding in _check_split(split, data, in_files, seed)]


def _check_split(split: str, data: RankingDataModule, in_files: RankingDataModule, seed: int) -> Iterator[Finding]:
    table, rng = data.splits[split], np.random.default_rng(seed)
    shuffled = not np.array_equal(table.candidate_ids, in_files.splits[split].candidate_ids)
    first_to_last = _scores(-np.arange(table.num_pairs))
    constant = data.metrics(split, _scores(np.zeros(table.num_pairs)))
    yield _labels(split, data.metrics(split, _scores(table.relevance)))
    yield _random(split, data.metrics(split, _scores(rng.random(table.num_pairs))))
    yield _constant(split, constant, shuffled)
    yield _ties(split, constant)
    yield _order_in_use(split, data.metrics(split, first_to_last), shuffled)
    yield _order_in_files(split, in_files.metrics(split, first_to_last), shuffled)
    yield _shuffling(split, table, rng.integers(3, size=len(data.corpus.texts)), seed)
    if len(table.retrieval_scores):
        yield _retrieval(split, data.metrics(split, _scores(table.retrieval_scores)))
    if "train" in data.splits:
        yield _seen_in_training(split, table, data.splits["train"])
        yield _remembered(split, table, data.splits["train"], data, rng.random(table.num_pairs))


def _labels(split: str, metrics: RankingMetrics) -> Finding:
    """A scorer that knows the labels is right for every question that has a right candidate."""
    measured = metrics.per_question()
    answered = measured["answers"] > 0
    means = {name: float(measured[name][answered].mean()) for name in METRICS[:3]}
    perfect = all(mean > 1 - 1e-9 for mean in means.values())
    ceiling = {name: Chance(1.0, 0.0) for name in ("p@1", "mrr")}
    remark = "" if perfect else "the labels themselves do not give P@1 = MRR = MAP = 1 on the questions that have a right candidate"
    return Finding(split, "label-leaking", OK if perfect else BROKEN, means, ceiling, remark)


def _random(split: str, metrics: RankingMetrics) -> Finding:
    means, expected = _means(metrics), _chance(metrics)
    inside = _side(means, expected) == 0
    return Finding(split, "random", OK if inside else BROKEN, means, expected, "" if inside else "random scores are not at chance")


def _constant(split: str, metrics: RankingMetrics, shuffled: bool) -> Finding:
    """All scores are equal, so the convention alone decides the order, by candidate id or by position."""
    if metrics.convention.tie_order is file_tie_order:
        return _of_order(split, "constant", metrics, shuffled)
    means, expected = _means(metrics), _chance(metrics)
    side = _side(means, expected)
    points = {0: "", 1: "are worth points", -1: "cost points"}[side]
    remark = points and f"candidate ids, which break ties, reveal the labels: ties {points}"
    return Finding(split, "constant", {0: OK, 1: LEAK, -1: NOTE}[side], means, expected, remark)


def _ties(split: str, metrics: RankingMetrics) -> Finding:
    """If all scores are equal, each question with right and wrong candidates has a tie at its first right candidate."""
    measured = metrics.per_question()
    answered, mixed = measured["answers"] > 0, (measured["answers"] > 0) & (measured["answers"] < measured["candidates"])
    share = float(metrics.share_tied_at_first_answer()) * int(answered.sum()) / max(int(mixed.sum()), 1)
    as_expected = abs(share - bool(mixed.any())) < 1e-9
    remark = "" if as_expected else f"{share:.1%} of the questions with right and wrong candidates are tied, not all"
    return Finding(split, "constant: ties", OK if as_expected else BROKEN, {"share": share}, {}, remark)


def _order_in_use(split: str, metrics: RankingMetrics, shuffled: bool) -> Finding:
    return _of_order(split, "order in use", metrics, shuffled or metrics.convention.tie_order is not file_tie_order)


def _of_order(split: str, canary: str, metrics: RankingMetrics, must_be_chance: bool) -> Finding:
    """The order in which models get the candidates. An order that belongs to the data set may reveal the labels up to
    MAX_SHARE_OF_WAY; any other must not reveal them at all.
    """
    means, expected = _means(metrics), _chance(metrics)
    if _side(means, expected) == 0:
        return Finding(split, canary, OK, means, expected, "")
    share = _share_of_way(metrics, means, expected)
    if must_be_chance or share > MAX_SHARE_OF_WAY:
        return Finding(split, canary, LEAK, means, expected, "the order of the candidates reveals the labels: set dataset.shuffle_seed")
    remark = f"the order that the convention keeps is {share:.0%} of the way from chance to a perfect P@1: a baseline to beat"
    return Finding(split, canary, NOTE, means, expected, remark)


def _order_in_files(split: str, metrics: RankingMetrics, shuffled: bool) -> Finding:
    means, expected = _means(metrics), _chance(metrics)
    side = _side(means, expected)
    remark = {0: "", 1: "the files list right candidates early", -1: "the files list right candidates late"}[side]
    after = "; harmless, as the pools are shuffled" if shuffled else ""
    return Finding(split, "order in files", NOTE if side else OK, means, expected, remark and remark + after)


def _shuffling(split: str, table: RankingSplit, text_scores: Int[np.ndarray, " text"], seed: int) -> Finding:
    """Scores that depend on the texts alone, with many ties: under `trec` no metric may depend on the order of a pool."""
    before, after = (_measure_trec(each, text_scores[each.candidates]) for each in (table, table.shuffled(seed)))
    same = all(torch.equal(before[name], after[name]) for name in before)
    remark = "" if same else "under trec, another order of the same scored candidates gives other metrics"
    means = {name: float(after[name].mean()) for name in METRICS[:3]}
    return Finding(split, "shuffled, trec", OK if same else BROKEN, means, {}, remark)


def _measure_trec(table: RankingSplit, scores: Int[np.ndarray, " pair"]) -> dict[str, torch.Tensor]:
    metrics, tie_order = RankingMetrics("trec"), find_convention("trec").tie_order(table.candidate_ids)
    metrics.update(
        _scores(scores),
        torch.from_numpy(table.relevance.astype(np.int64)),
        torch.from_numpy(table.pair_question),
        torch.from_numpy(tie_order),
    )
    return metrics.per_question()


def _retrieval(split: str, metrics: RankingMetrics) -> Finding:
    """The search engine's own scores, if they are published."""
    remark = "the result of the scores in the files: a baseline to beat"
    return Finding(split, "published scores", NOTE, _means(metrics), {}, remark)


def _seen_in_training(split: str, table: RankingSplit, train: RankingSplit) -> Finding:
    seen = table.asked_in(train)
    remark = f"{seen:,} of {table.num_questions:,} questions are asked in train too, word for word" if seen else ""
    return Finding(split, "asked in train", NOTE if seen else OK, {"count": float(seen)}, {}, remark)


def _remembered(
    split: str, table: RankingSplit, train: RankingSplit, data: RankingDataModule, tie_breaks: Float[np.ndarray, " pair"]
) -> Finding:
    """Scores a candidate by the share of right labels of its text in training, for any question; a new text gets the base rate."""
    size = len(data.corpus.texts)
    shown, right = np.bincount(train.candidates, minlength=size), np.bincount(train.candidates[train.labels > 0], minlength=size)
    base = (
        right.sum() / shown.sum() if right.sum() < shown.sum() else 0.0
    )  # if all training candidates are right, unknown ones count as wrong
    share = (right + base) / (shown + 1)
    places = np.lexsort((tie_breaks, share[table.candidates])).argsort()
    metrics = data.metrics(split, _scores(places))
    means, expected = _means(metrics), _chance(metrics)
    side = _side(means, expected)
    share = _share_of_way(metrics, means, expected)
    remark = {
        0: "",
        1: f"candidates recur: remembering what was right in training is {share:.0%} of the way from chance to a perfect P@1",
        -1: "candidates recur with other labels: right candidates of training tend to be wrong here",
    }[side]
    return Finding(split, "right in train", OK if side == 0 else LEAK if share > MAX_SHARE_OF_WAY else NOTE, means, expected, remark)


def _share_of_way(metrics: RankingMetrics, means: Mapping[str, float], expected: Mapping[str, Chance]) -> float:
    """The share of the way from chance to a perfect P@1."""
    return (means["p@1"] - expected["p@1"].mean) / max(_share_answered(metrics) - expected["p@1"].mean, 1e-9)


def _scores(values: np.ndarray) -> Float[torch.Tensor, " pair"]:
    return torch.from_numpy(values.astype(np.float32))


def _means(metrics: RankingMetrics) -> dict[str, float]:
    return {name: float(value) for name, value in metrics.compute().items()}


def _chance(metrics: RankingMetrics) -> dict[str, Chance]:
    measured = metrics.per_question()
    return chance(measured["candidates"].tolist(), measured["answers"].tolist(), metrics.convention.depth)


def _share_answered(metrics: RankingMetrics) -> float:
    return float((metrics.per_question()["answers"] > 0).double().mean())


def _side(means: Mapping[str, float], expected: Mapping[str, Chance]) -> int:
    """1 above chance, −1 below, 0 within `ERRORS` standard errors of it on every metric; the largest deviation decides."""
    deviations = [expected[name].deviation(means[name]) for name in expected]
    largest = max(deviations, key=abs)
    return int(np.sign(largest)) if abs(largest) > ERRORS else 0


@cache
def first_answer_odds(candidates: int, answers: int) -> Float[np.ndarray, " rank"]:
    """P(first right candidate at rank r), r = 1, 2, …, when R right ones among N candidates are in random order.

        P(r) = C(N − r, R − 1) / C(N, R), so P(1) = R / N and P(r + 1) = P(r) · (N − r − R + 1) / (N − r)

    >>> first_answer_odds(4, 2)    # of the six places that two can take, three begin at rank 1, two at 2, one at 3
    array([0.5       , 0.33333333, 0.16666667])
    """
    if not answers:
        return np.zeros(0)
    r = np.arange(1, candidates - answers + 1)
    return answers / candidates * np.cumprod(np.concatenate([[1.0], (candidates - r - answers + 1) / (candidates - r)]))


@cache
def expected_reciprocal_rank(candidates: int, answers: int, depth: int | None = None) -> tuple[float, float]:
    """E[RR] = Σ P(r) / r and E[RR²] = Σ P(r) / r², over r ≤ depth.

    >>> round(expected_reciprocal_rank(4, 1)[0], 6)    # (1 + 1/2 + 1/3 + 1/4) / 4 = 25 / 48
    0.520833
    >>> expected_reciprocal_rank(4, 1, depth=2)[0]
    0.375
    """
    odds = first_answer_odds(candidates, answers)[:depth]
    reciprocal = 1 / np.arange(1, len(odds) + 1)
    return float(odds @ reciprocal), float(odds @ reciprocal**2)


def chance(candidates: Sequence[int], answers: Sequence[int], depth: int | None) -> dict[str, Chance]:
    """Exact mean and standard error of the mean of P@1 and RR over independent pools in random order.

    P@1 is 1 with p = R / N, so E = p and Var = p(1 − p); for RR see `expected_reciprocal_rank`. The error is √(Σ Var) / pools.

    >>> chance([4, 2], [1, 1], None)["p@1"]    # (1/4 + 1/2) / 2, √(3/16 + 1/4) / 2
    Chance(mean=0.375, error=0.33071891388307384)
    """
    first = np.array([right / size for size, right in zip(candidates, answers, strict=True)])
    moments = np.array([expected_reciprocal_rank(size, right, depth) for size, right in zip(candidates, answers, strict=True)])
    variances = {"p@1": first * (1 - first), "mrr": moments[:, 1] - moments[:, 0] ** 2}
    means = {"p@1": first, "mrr": moments[:, 0]}
    return {name: Chance(float(means[name].mean()), float(np.sqrt(variances[name].clip(0).sum()) / len(first))) for name in means}
