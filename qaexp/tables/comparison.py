"""Two rows of a table over the same questions: how far apart they are, and how likely that is by chance, of questions and of seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from qaexp.results.ledger import PerQuestion
from qaexp.tables.significance import holm, paired_randomisation, welch


@dataclass(frozen=True)
class Scored:
    """A row's metric in a column: of each question the mean over seeds, and of each seed the mean over questions."""

    questions: PerQuestion
    by_seed: Sequence[float]
    random: bool
    """Whether a seed makes a difference."""
    data: tuple[str, str]
    """The choice of `dataset=`, and the fingerprint of what it was then."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """One row less another, question by question."""

    differences: Float[np.ndarray, " question"]
    p_seeds: float | None
    """Of Welch's test over seeds; None where a row has one alone."""

    @property
    def difference(self) -> float:
        return float(self.differences.mean())

    @cached_property
    def p_questions(self) -> float:
        """Of the paired randomisation test."""
        return paired_randomisation(self.differences)

    @property
    def p(self) -> float | None:
        """The larger of the two: an order is one of the models where neither other questions nor other seeds would easily turn it."""
        return None if self.p_seeds is None else max(self.p_questions, self.p_seeds)


def compared(one: Scored | None, other: Scored | None) -> Comparison | None:
    """None where one was not measured, or they were measured over other questions, or over a data set before and after it changed."""
    if one is None or other is None or one.questions.of != other.questions.of:
        return None
    if one.data[0] == other.data[0] and one.data[1] != other.data[1]:
        return None
    differences = np.array(one.questions.values) - np.array(other.questions.values)
    return Comparison(differences, welch(one.by_seed, other.by_seed, (one.random, other.random)))


def corrected(comparisons: Sequence[Comparison | None]) -> list[float | None]:
    """The p of each, Holm-corrected over all that have one. Two rows that share a run make one test with a third row, not two."""
    tests = {each.differences.tobytes(): each.p for each in comparisons if each and each.p is not None}
    adjusted = dict(zip(tests, holm([p for p in tests.values() if p is not None]), strict=True))
    return [adjusted.get(each.differences.tobytes()) if each and each.p is not None else None for each in comparisons]
