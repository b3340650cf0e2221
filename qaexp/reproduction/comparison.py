"""Two rows of a table over the same questions: how far apart they are, and how likely that is by chance, of questions and of seeds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import pandas as pd
from jaxtyping import Float

from qaexp.evaluation.significance import LEVEL, holm, paired_randomisation, welch
from qaexp.reproduction.build import Measured
from qaexp.reproduction.state import Scored


@dataclass(frozen=True, eq=False)
class Comparison:
    """One row less another, question by question."""

    differences: Float[np.ndarray, " question"]
    seeds: tuple[int, int]
    """How many the one has, and the other."""
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
    def test(self) -> bytes:
        """The same of two comparisons that are one test: of the same differences, whichever row stands first."""
        return min((self.differences + 0.0).tobytes(), (0.0 - self.differences).tobytes())

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
    seeds = len(one.by_seed), len(other.by_seed)
    return Comparison(differences, seeds, welch(one.by_seed, other.by_seed, (one.random, other.random)))


def corrected(comparisons: Sequence[Comparison | None]) -> list[float | None]:
    """The p of each, Holm-corrected over all that have one. Two rows that share a run make one test with a third row, and none together."""
    tests = {each.test: each.p for each in comparisons if each and each.p is not None and each.differences.any()}
    adjusted = dict(zip(tests, holm([p for p in tests.values() if p is not None]), strict=True))
    return [adjusted.get(each.test, each.p) if each and each.p is not None else None for each in comparisons]


def comparisons(measured: Measured) -> pd.DataFrame:
    """Every two rows of a table over the same questions, column by column: the mean difference, and its p, Holm-corrected in a column."""
    return pd.DataFrame([line for name in measured.table.columns for line in _of_column(measured, name)])


def _of_column(measured: Measured, name: str) -> Iterator[dict[str, str]]:
    table, column = measured.table, measured.table.columns[name]
    scored = {row.label: measured.scored(row.label, name) for row in table.rows}
    pairs = {(one, other): found for one, other in combinations(scored, 2) if (found := compared(scored[one], scored[other]))}
    for ((one, other), found), p in zip(pairs.items(), corrected(list(pairs.values())), strict=True):
        yield {
            "column": name,
            "row": one,
            "against": other,
            "difference": f"{found.difference * table.scale_of(column):.{table.decimals_of(column)}f}",
            "questions": str(len(found.differences)),
            **as_written(found, p),
            "significant": "one seed" if p is None else "yes" if p < LEVEL else "no",
        }


def as_written(found: Comparison, p: float | None) -> dict[str, str]:
    """Seeds of the two, and p over questions, over seeds, and Holm's of the larger one; blank where a row has one seed."""
    said = {"p (questions)": found.p_questions, "p (seeds)": found.p_seeds, "p (Holm)": p}
    return {"seeds": "; ".join(map(str, found.seeds)), **{name: "" if value is None else f"{value:.3g}" for name, value in said.items()}}
