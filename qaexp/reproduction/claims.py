"""What the papers say in words about one model against another (`experiments/<paper>/claims.yaml`), tested on our runs.

Statement → claims (one for each two rows) → comparison of two rows, question by question → verdict.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from qaexp.errors import ConfigError
from qaexp.evaluation.significance import LEVEL, detectable, holm, paired_randomisation, welch, welch_error
from qaexp.reproduction.content import EXPERIMENTS, content_of, folders_of
from qaexp.reproduction.ledger import PARAMETERS
from qaexp.reproduction.measured import Measured, Scored
from qaexp.reproduction.spec import READING_ERRORS, Table, describe, filled, result_figures, result_tables

HELD, REVERSED, UNDECIDED, NOT_MEASURED = "held", "reversed", "undecided", "not measured"
AS_COUNTED, NOT_AS_COUNTED = "as counted", "not as counted"
VERDICTS = (HELD, REVERSED, UNDECIDED, NOT_MEASURED, AS_COUNTED, NOT_AS_COUNTED)
P_VALUES = ["p (questions)", "p (seeds)", "p (Holm)"]
POWERED = "80% power from"
POINTS = "points"
"""The smallest difference that the tests detect with 80% power, always in percentage points. Only the CSV file has this column."""
COLUMNS = ["claim", "where", "of", "column", "above", "below", "data", "seeds", "difference", POWERED, *P_VALUES, "verdict", POINTS, "note"]


@dataclass(frozen=True)
class Statement:
    """One sentence of a paper: each row of `above` has more than each of `below`, in each of `columns`."""

    claim: str
    where: str
    """Its place in the paper."""
    columns: list[str]
    above: list[str]
    below: list[str]
    table: int | None = None
    figure: int | None = None
    """The table, or the figure of runs, that it is about."""
    note: str = ""
    """A remark for the page, such as why no test can be made."""

    @property
    def place(self) -> str:
        return f"Table {self.table}" if self.figure is None else f"Figure {self.figure}"

    def claims(self) -> Iterator["Claim"]:
        for column, above, below in product(self.columns, self.above, self.below):
            yield Claim(self, column, above, below)

    def fault(self, table: Table | None) -> str:
        """What is wrong in it, such as a row that does not exist; empty if nothing is."""
        if (self.table is None) == (self.figure is None):
            return "it needs a table or a figure, and not both"
        if table is None:
            return f"the paper has no {self.place} of runs"
        labels = [row.label for row in table.rows]
        for what, named, there in (("column", self.columns, list(table.columns)), ("row", [*self.above, *self.below], labels)):
            if missing := [name for name in named if name not in there]:
                return f"{table.title} has no {what} {missing[0]!r}; {what}s: {', '.join(there)}"
        return ""


@dataclass(frozen=True)
class Claim:
    """Part of a statement: row `above` has more than row `below` in a column."""

    statement: Statement
    column: str
    above: str
    below: str


def claims(paper: str, folder: Path = EXPERIMENTS) -> list[Claim]:
    """A paper's claims; none if it has no file of them.

    Raises:
        ConfigError: a statement's table or figure, column or row does not exist; names it.
    """
    path = next((file for place in reversed(folders_of(folder)) if (file := place / paper / "claims.yaml").is_file()), None)
    if path is None:
        return []
    places = {each.title: each for each in [*result_tables(folder), *result_figures(folder)]}
    try:
        statements = [_statement(content) for content in content_of(path)]
        faults = [(each.claim, each.fault(places.get(f"{paper}, {each.place}"))) for each in statements]
    except READING_ERRORS as error:
        raise ConfigError(f"{path}: it is not a list of statements: {describe(error)}") from error
    for claim, fault in faults:
        if fault:
            raise ConfigError(f"{path}: claim {claim!r}: {fault}")
    return [claim for statement in statements for claim in statement.claims()]


def _statement(content: Mapping[str, Any]) -> Statement:
    for name in ("columns", "above", "below"):
        if isinstance(content.get(name), str):
            raise ConfigError(f"{name}: {content[name]!r} is not a list; write [{content[name]}]")
    return filled(Statement, content)


@dataclass(frozen=True, eq=False)
class Comparison:
    """One row minus another, question by question."""

    differences: Float[np.ndarray, " question"]
    seeds: tuple[int, int]
    """How many seeds the first row has, and the second."""
    p_seeds: float | None
    """p of Welch's test over seeds; None if a row has only one."""
    error_of_seeds: tuple[float, float] | None
    """The standard error of Welch's test and its degrees of freedom; None if a row has only one seed."""

    @property
    def detectable(self) -> float | None:
        """The smallest difference that both tests find with a power of 80%, before any correction."""
        if self.error_of_seeds is None or (num_questions := len(self.differences)) < 2:
            return None
        error = float(self.differences.std(ddof=1)) / math.sqrt(num_questions)
        return max(detectable(*self.error_of_seeds), detectable(error, float(num_questions - 1)))

    @property
    def difference(self) -> float:
        return float(self.differences.mean())

    @cached_property
    def p_questions(self) -> float:
        """p of the paired randomisation test."""
        return paired_randomisation(self.differences)

    @property
    def identity(self) -> bytes:
        """Equal for two comparisons with the same differences, in whichever order their rows stand: these are one test."""
        return min((self.differences + 0.0).tobytes(), (0.0 - self.differences).tobytes())

    @property
    def p(self) -> float | None:
        """The larger p: two models differ only if neither other questions nor other seeds would easily reverse their order."""
        return None if self.p_seeds is None else max(self.p_questions, self.p_seeds)


def compare(one: Scored | None, other: Scored | None) -> Comparison | None:
    """None if one was not measured, or if they were measured on other questions or pairs, by another convention, or on different versions
    of a data set."""
    if one is None or other is None or one.questions.of != other.questions.of or one.measured_as != other.measured_as:
        return None
    if one.data[0] == other.data[0] and one.data[1] != other.data[1]:
        return None
    differences = np.array(one.questions.values) - np.array(other.questions.values)
    seeds, sides = (len(one.by_seed), len(other.by_seed)), (one.by_seed, other.by_seed, (one.random, other.random))
    p_seeds = welch(*sides)
    return Comparison(differences, seeds, p_seeds, None if p_seeds is None else welch_error(*sides))


def holm_corrected(comparisons: Sequence[Comparison | None]) -> list[float | None]:
    """The p of each comparison, Holm-corrected over all tests.

    Comparisons with the same differences count as one test, as when two rows have the same runs. Without any difference, there is no test.
    """
    tests = {each.identity: each.p for each in comparisons if each and each.p is not None and each.differences.any()}
    adjusted = dict(zip(tests, holm([p for p in tests.values() if p is not None]), strict=True))
    return [adjusted.get(each.identity, each.p) if each and each.p is not None else None for each in comparisons]


def comparisons(measured: Measured) -> pd.DataFrame:
    """Every two rows of a table on the same questions: the mean difference, and its p, Holm-corrected within a column."""
    return pd.DataFrame([line for name in measured.table.columns for line in _comparisons_in(measured, name)])


def _comparisons_in(measured: Measured, name: str) -> Iterator[dict[str, str]]:
    table, column = measured.table, measured.table.columns[name]
    scored = {row.label: measured.scored(row.label, name) for row in table.rows}
    pairs = {(one, other): found for one, other in combinations(scored, 2) if (found := compare(scored[one], scored[other]))}
    for ((one, other), found), p in zip(pairs.items(), holm_corrected(list(pairs.values())), strict=True):
        yield {
            "column": name,
            "row": one,
            "against": other,
            "difference": table.shown(column, found.difference),
            "questions": str(len(found.differences)),
            **_seeds_and_p_values(found, p),
            "significant": "unknown" if p is None else "yes" if p < LEVEL else "no",
        }


def _seeds_and_p_values(found: Comparison, p: float | None) -> dict[str, str]:
    """Seeds of both rows, p over questions, p over seeds, and the larger p Holm-corrected; the last two are blank without Welch's test."""
    values = zip(P_VALUES, (found.p_questions, found.p_seeds, p), strict=True)
    return {"seeds": "; ".join(map(str, found.seeds)), **{name: "" if value is None else f"{value:.3g}" for name, value in values}}


def claim_verdicts(claims: Sequence[Claim], places: Sequence[Measured]) -> pd.DataFrame:
    """A line for each claim of a paper: the difference of means over seeds, its p, Holm-corrected over the paper's tests, and a verdict.

    `held` if the claimed order is significant at 5% over questions and over seeds, `reversed` if the opposite order is, otherwise
    `undecided`, as with one seed. Two claims about the same runs are one test, as when a row stands in two tables. Numbers of parameters
    need no test: they are as counted, or not.
    """
    by_name = {measured.table.place: measured for measured in places}
    measured = [by_name.get(claim.statement.place) for claim in claims]
    found = [_compare_rows(claim, there) if there else None for claim, there in zip(claims, measured, strict=True)]
    lines = [_line(*each) for each in zip(claims, measured, found, holm_corrected(found), strict=True)]
    return pd.DataFrame(lines, columns=COLUMNS)


def _compare_rows(claim: Claim, measured: Measured) -> Comparison | None:
    """Row `above` minus row `below`."""
    return compare(measured.scored(claim.above, claim.column), measured.scored(claim.below, claim.column))


def _line(claim: Claim, measured: Measured | None, found: Comparison | None, p: float | None) -> dict[str, str]:
    line = {"claim": claim.statement.claim, "where": claim.statement.where, "of": claim.statement.place, "column": claim.column}
    line = {**dict.fromkeys(COLUMNS, ""), **line, "above": claim.above, "below": claim.below, "note": claim.statement.note}
    if measured and found:
        decided = p is not None and p < LEVEL
        verdict = UNDECIDED if not decided else HELD if found.difference > 0 else REVERSED
        line |= _data_and_difference(claim, measured, found.difference)
        if (smallest := found.detectable) is not None:
            line |= {POWERED: measured.table.shown(measured.table.columns[claim.column], smallest), POINTS: f"{100 * smallest:.1f}"}
        return {**line, **_seeds_and_p_values(found, p), "verdict": verdict}
    if measured and (more := _more_parameters(claim, measured)) is not None:
        return {**line, **_data_and_difference(claim, measured, more), "verdict": AS_COUNTED if more > 0 else NOT_AS_COUNTED}
    return {**line, "verdict": NOT_MEASURED}


def _data_and_difference(claim: Claim, measured: Measured, difference: float) -> dict[str, str]:
    state = measured.state_in(claim.above, claim.column)
    shown = measured.table.shown(measured.table.columns[claim.column], difference, sign="+")
    return {"data": state.cell.dataset if state else "", "difference": shown}


def _more_parameters(claim: Claim, measured: Measured) -> float | None:
    """How many more parameters `above` has; None if the column is of anything else or one of the rows was not run."""
    states = [measured.state_in(label, claim.column) for label in (claim.above, claim.below)]
    if measured.table.columns[claim.column].metric != PARAMETERS or not all(state and state.entries for state in states):
        return None
    above, below = (state.entries[0].value(PARAMETERS) or 0.0 for state in states if state)
    return above - below
