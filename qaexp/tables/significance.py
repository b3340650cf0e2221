"""Ours against theirs, and rows against rows: intervals over seeds, verdicts, and the paired randomisation test over questions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import mean, stdev

import numpy as np
from jaxtyping import Float
from scipy import stats

RESAMPLES = 9_999
LEVEL = 0.05

REPRODUCED, ABOVE, BELOW, INCOMPARABLE = "reproduced", "above", "below", "not comparable"


@dataclass(frozen=True)
class Interval:
    """A mean over seeds and half the width of its 95% confidence interval: t(0.975, n − 1) · s / √n; nan for a single seed."""

    mean: float
    half: float

    @classmethod
    def of(cls, values: Sequence[float], random: bool) -> "Interval":
        """`random` is false where the seed makes no difference: then one value is all there is, and exact.

        >>> Interval.of([1.0, 2.0, 3.0], random=True)
        Interval(mean=2.0, half=2.484...)
        """
        if not random:
            return cls(values[0], 0.0)
        if len(values) < 2:
            return cls(values[0], math.nan)
        return cls(mean(values), float(stats.t.ppf(1 - LEVEL / 2, len(values) - 1)) * stdev(values) / math.sqrt(len(values)))


def verdict(ours: Interval, printed: int | float, unit: float) -> str:
    """A two-sided one-sample t-test at 5% of our seeds' mean against a printed number that was rounded to `unit`.

    `reproduced` where the 95% interval reaches one of the values that are printed so, printed ± unit/2; otherwise `above` or `below`.

    >>> verdict(Interval(68.4, 0.3), 68.1, 0.01), verdict(Interval(68.4, 0.2), 68.1, 0.01), verdict(Interval(68.4, 0.2), 68.7, 0.1)
    ('reproduced', 'above', 'below')
    """
    if math.isnan(ours.half):
        return f"{INCOMPARABLE}: one seed"
    reach = ours.half + unit / 2 + 1e-9 * abs(printed)
    if abs(ours.mean - printed) <= reach:
        return REPRODUCED
    return ABOVE if ours.mean > printed else BELOW


def paired_randomisation(differences: Float[np.ndarray, "question pair"]) -> Float[np.ndarray, " pair"]:
    """Two-sided p of each column's mean difference when two systems are exchanged at random, question by question.

    p = (1 + #{r : |Σ_q s_rq d_q| ≥ |Σ_q d_q|}) / (1 + R),  s_rq = ±1 with even odds
    """
    signs = _signs(len(differences))
    drawn = np.abs(signs @ differences.astype(np.float32))  # (resample, pair)
    observed = np.abs(differences.sum(axis=0))
    return (1 + (drawn >= observed - 1e-4 * np.maximum(observed, 1e-3)).sum(axis=0)) / (1 + RESAMPLES)


@cache
def _signs(num_questions: int) -> Float[np.ndarray, "resample question"]:
    drawn = np.random.default_rng(num_questions).integers(0, 2, size=(RESAMPLES, num_questions), dtype=np.int8)
    return (2 * drawn - 1).astype(np.float32)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted for as many tests as there are (Holm 1979): p₍ᵢ₎ → max over j ≤ i of min(1, (m − j + 1) · p₍ⱼ₎).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted, largest = [0.0] * len(p_values), 0.0
    for place, index in enumerate(np.argsort(p_values, kind="stable")):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = round(largest, 6)
    return adjusted
