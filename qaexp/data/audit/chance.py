"""What a random order of the candidates reaches, in closed form: the mean of P@1 and of the reciprocal rank, and their standard errors."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Chance:
    """What a random order reaches on some pools: the mean of a metric and its standard error."""

    mean: float
    error: float

    def deviation(self, measured: float) -> float:
        """In standard errors. Where every order gives the same, 0 or infinite."""
        off = measured - self.mean
        return 0.0 if abs(off) < 1e-9 else off / self.error if self.error else float(np.copysign(np.inf, off))


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
