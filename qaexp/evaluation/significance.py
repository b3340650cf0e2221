"""Confidence intervals over seeds, verdicts against printed numbers, and tests between two systems."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev

import numpy as np
from jaxtyping import Float

LEVEL = 0.05
POWER = 0.8
MAX_PARTS = 60
"""p is exact if all differences are multiples of 1/n for some n up to this."""
MAX_SIGNS_TRIED = 20
"""Up to this many differing questions, all combinations of signs are tried: a million sums."""
FEW_THAT_COUNT = 10
"""The saddle-point approximation needs at least this effective number of differing questions, (Σd²)² / Σd⁴, which is n for n equal
differences.
"""
LARGEST = 16
"""With fewer, all signs of this many largest differences are tried: 65,536 sums."""
ROUNDING = 1e-6
"""Smaller differences count as 0: a question's metrics are stored with six decimals."""
SMALLEST_P = 1e-12
"""The smallest p that is returned; smaller ones would be lost in rounding."""

REPRODUCED, ABOVE, BELOW, INCOMPARABLE = "reproduced", "above", "below", "not comparable"


@dataclass(frozen=True)
class Interval:
    """A mean over seeds and half the width of its 95% confidence interval: t(0.975, n − 1) · s / √n; nan for a single seed."""

    mean: float
    half: float

    @classmethod
    def of(cls, values: Sequence[float], random: bool) -> "Interval":
        """`random` is false if the seed makes no difference: then any value is exact, and `half` is 0.

        >>> Interval.of([1.0, 2.0, 3.0], random=True)
        Interval(mean=2.0, half=2.484...)
        """
        if not random:
            return cls(values[0], 0.0)
        if len(values) < 2:
            return cls(values[0], math.nan)
        from scipy import special  # an extra, which training does without

        return cls(mean(values), float(special.stdtrit(len(values) - 1, 1 - LEVEL / 2)) * stdev(values) / math.sqrt(len(values)))


def verdict(ours: Interval, printed: int | float, unit: float) -> str:
    """A two-sided one-sample t-test at 5% of our seeds' mean against a printed number that was rounded to `unit`.

    `reproduced` if the 95% interval overlaps printed ± unit/2, the values that round to the printed number; otherwise `above` or `below`.

    >>> verdict(Interval(68.4, 0.3), 68.1, 0.01), verdict(Interval(68.4, 0.2), 68.1, 0.01), verdict(Interval(68.4, 0.2), 68.7, 0.1)
    ('reproduced', 'above', 'below')
    """
    if math.isnan(ours.half):
        return f"{INCOMPARABLE}: one seed"
    reach = ours.half + unit / 2 + 1e-9 * abs(printed)
    if abs(ours.mean - printed) <= reach:
        return REPRODUCED
    return ABOVE if ours.mean > printed else BELOW


def paired_randomisation(differences: Float[np.ndarray, " question"]) -> float:
    """Two-sided p of a mean difference when two systems are exchanged at random, question by question.

        p = P(|Σ_q s_q·d_q| ≥ |Σ_q d_q|),  s_q = ±1, each with probability ½

    No signs are drawn. p is exact if all differences are multiples of 1/n for some n up to 60, as for means of P@1 over up to six seeds, or
    if at most twenty questions differ. Otherwise p is approximated, with a relative error of a few hundredths, or a tenth if p is below
    1e-4.

    >>> round(paired_randomisation(np.array([0.5, 0.5, 0.5, 0.5])), 9)  # 2 of the 16 choices of signs reach their sum
    0.125
    """
    differing = differences[np.abs(differences) > ROUNDING]  # a question without a difference changes no sum
    sizes, observed = np.abs(differing), abs(float(differing.sum()))
    if observed < ROUNDING:
        return 1.0
    if parts := _parts_of_one(sizes):
        p = _counted(np.rint(sizes * parts), observed * parts)
    elif len(sizes) <= MAX_SIGNS_TRIED:
        p = _of_all_signs(sizes, observed)
    elif (sizes @ sizes) ** 2 < FEW_THAT_COUNT * (sizes**4).sum():
        p = _of_few(sizes, observed)
    else:
        p = _approximated(sizes, observed)
    return float(np.clip(p, SMALLEST_P, 1.0))


def _parts_of_one(sizes: Float[np.ndarray, " question"]) -> int | None:
    """The number that turns every size into a whole number; None if it is above 60."""
    for parts in range(1, MAX_PARTS + 1):
        whole = np.rint(sizes * parts)
        if whole.min() >= 1 and np.abs(sizes * parts - whole).max() < 1e-4:
            return parts
    return None


def _counted(sizes: Float[np.ndarray, " question"], observed: float) -> float:
    """Exact p for whole numbers. The sum has the characteristic function Π_q cos(t·d_q), and its Fourier transform is the distribution."""
    steps, counts = np.unique(sizes, return_counts=True)
    farthest = int(steps @ counts)
    num_sums = 2 ** math.ceil(math.log2(2 * farthest + 2))
    angles = 2 * np.pi / num_sums * np.arange(num_sums // 2 + 1)
    characteristic = np.ones_like(angles)
    for step, count in zip(steps, counts, strict=True):
        characteristic *= np.cos(step * angles) ** count
    probabilities = np.fft.irfft(characteristic, num_sums)  # of the sums 0, 1, 2, ...; negative sums have the same
    return 2 * float(probabilities[math.ceil(observed - 0.5) : farthest + 1].sum())


def _of_all_signs(sizes: Float[np.ndarray, " question"], observed: float) -> float:
    return float(np.mean(np.abs(_signed_sums(sizes)) >= observed - ROUNDING * len(sizes)))


def _signed_sums(sizes: Float[np.ndarray, " question"]) -> Float[np.ndarray, " some"]:
    """The sums Σ ±d_q with all 2^n choices of the signs."""
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums + size, sums - size])
    return sums


def _of_few(sizes: Float[np.ndarray, " question"], observed: float) -> float:
    """All signs of the largest differences; the sum of the others is taken as normal, with deviation √Σd²."""
    from scipy import special

    sizes = np.sort(sizes)[::-1]
    others = sizes[LARGEST:]
    return 2 * float(np.mean(special.ndtr((_signed_sums(sizes[:LARGEST]) - observed) / math.sqrt(others @ others))))


def _approximated(sizes: Float[np.ndarray, " question"], observed: float) -> float:
    """The saddle point's approximation (Lugannani & Rice 1980). With K(t) = Σ_q log cosh(t·d_q) and K'(t) = x, the observed sum,

    P(sum ≥ x) = 1 − Φ(w) + φ(w)·(1/v − 1/w),  w = √(2(t·x − K)),  v = t·√K''
    """
    from scipy import special

    deviation = math.sqrt(sizes @ sizes)
    d, x = sizes / deviation, observed / deviation
    if x < 1e-3:  # w and v vanish there, and the sum is nearly normal
        return 2 * float(special.ndtr(-x))
    if d.sum() - x < 1e-9:  # all differences have one sign
        return 2 * 0.5 ** len(d)
    from scipy import optimize  # it takes long to import

    t = optimize.root_scalar(lambda t: d @ np.tanh(t * d) - x, bracket=(0.0, 40 / d.min())).root
    K = float(np.sum(np.logaddexp(t * d, -t * d) - math.log(2)))
    w = math.sqrt(2 * (t * x - K))
    v = t * math.sqrt(d**2 @ (1 - np.tanh(t * d) ** 2))
    return 2 * float(special.ndtr(-w) + math.exp(-w * w / 2) / math.sqrt(2 * math.pi) * (1 / v - 1 / w))


def welch(ours: Sequence[float], theirs: Sequence[float], random: tuple[bool, bool]) -> float | None:
    """Two-sided p of the difference of two means over seeds, whose variances may differ (Welch 1947).

    `random` says for each side whether the seed makes a difference. If it does on one side only, that side's mean is compared with the
    other's value; if on neither, p is 0 or 1. None if the variance over seeds is unknown: a random side has one seed, or all seeds agree.

    >>> welch([0.5], [0.4], random=(False, False)), welch([0.5, 0.6], [0.4], random=(True, True))
    (0.0, None)
    """
    if any(drawn and len(values) < 2 for drawn, values in zip(random, (ours, theirs), strict=True)):
        return None
    difference = mean(ours) - mean(theirs)
    error, freedom = welch_error(ours, theirs, random)
    if not error:
        return None if any(random) else float(difference == 0)
    from scipy import special

    return float(2 * special.stdtr(freedom, -abs(difference) / error))


def welch_error(ours: Sequence[float], theirs: Sequence[float], random: tuple[bool, bool]) -> tuple[float, float]:
    """The standard error of a difference of two means over seeds, and its degrees of freedom; 0 and ∞ if the error is 0."""
    sides = list(zip(random, (ours, theirs), strict=True))
    errors = [stdev(values) ** 2 / len(values) if drawn else 0.0 for drawn, values in sides]
    if not (error := sum(errors)):
        return 0.0, math.inf
    return math.sqrt(error), error**2 / sum(each**2 / (len(values) - 1) for each, (_, values) in zip(errors, sides, strict=True) if each)


def detectable(error: float, freedom: float) -> float:
    """The smallest difference that a two-sided t-test at 5% detects with a power of 0.8 (Bloom 1995, "Minimum Detectable Effects").

        (t(0.975) + t(0.8)) · error, with `freedom` degrees of freedom

    >>> round(detectable(1.0, 8.0), 2), round(detectable(1.0, 1e6), 2), detectable(0.0, math.inf)
    (3.19, 2.8, 0.0)
    """
    if not error:
        return 0.0
    from scipy import special

    return error * float(special.stdtrit(freedom, 1 - LEVEL / 2) + special.stdtrit(freedom, POWER))


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted for the number of tests (Holm 1979): p₍ᵢ₎ → max over j ≤ i of min(1, (m − j + 1) · p₍ⱼ₎). NaN stays NaN.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted, largest, number = [math.nan] * len(p_values), 0.0, int(np.isfinite(p_values).sum())
    for place, index in enumerate(np.argsort(p_values, kind="stable")[:number]):  # NaN comes last
        largest = max(largest, min(1.0, (number - place) * p_values[index]))
        adjusted[index] = largest
    return adjusted
