"""The claims of a paper (`experiments/<paper>/claims.yaml`), the tests that compare two rows, and the verdict on each claim."""

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
from qaexp.evaluation.significance import LEVEL, holm, paired_randomisation, welch
from qaexp.reproduction.ledger import PARAMETERS
from qaexp.reproduction.measured import Measured, Scored
from qaexp.reproduction.spec import EXPERIMENTS, FAULTS, Table, content_of, fault_in, filled, result_figures, result_tables


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


@dataclass(frozen=True)
class Statement:
    """What a paper says in one sentence: each row of `above` has more than each of `below`, in each of `columns`."""

    claim: str
    where: str
    """Where in the paper it is said."""
    columns: list[str]
    above: list[str]
    below: list[str]
    table: int | None = None
    figure: int | None = None
    """What it is said of: a table, or a figure whose points are runs."""
    note: str = ""
    """What else there is to say of it, such as why no test can be made."""

    @property
    def place(self) -> str:
        return f"Table {self.table}" if self.figure is None else f"Figure {self.figure}"

    def claims(self) -> Iterator["Claim"]:
        for column, above, below in product(self.columns, self.above, self.below):
            yield Claim(self, column, above, below)

    def fault(self, table: Table | None) -> str:
        """What it names that is not there; empty when all is."""
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
    """Of a statement, that row `above` has more than row `below` in a column."""

    said: Statement
    column: str
    above: str
    below: str


def claims(paper: str, folder: Path = EXPERIMENTS) -> list[Claim]:
    """A paper's claims, one for each two rows that a statement compares; none where it has no file of them.

    Raises:
        ConfigError: a statement's table or figure, column or row does not exist; names it.
    """
    path = folder / paper / "claims.yaml"
    if not path.is_file():
        return []
    places = {each.title: each for each in [*result_tables(folder), *result_figures(folder)]}
    try:
        statements = [_statement(content) for content in content_of(path)]
    except FAULTS as error:
        raise ConfigError(f"{path}: it is not a list of statements: {fault_in(error)}") from error
    for statement in statements:
        if fault := statement.fault(places.get(f"{paper}, {statement.place}")):
            raise ConfigError(f"{path}: claim {statement.claim!r}: {fault}")
    return [claim for statement in statements for claim in statement.claims()]


def _statement(content: Mapping[str, Any]) -> Statement:
    for name in ("columns", "above", "below"):
        if isinstance(content.get(name), str):
            raise ConfigError(f"{name}: {content[name]!r} is not a list; write [{content[name]}]")
    return filled(Statement, content)


HELD, REVERSED, UNDECIDED, NOT_MEASURED = "held", "reversed", "undecided", "not measured"
AS_COUNTED, NOT_AS_COUNTED = "as counted", "not as counted"
VERDICTS = (HELD, REVERSED, UNDECIDED, NOT_MEASURED, AS_COUNTED, NOT_AS_COUNTED)
P_VALUES = ["p (questions)", "p (seeds)", "p (Holm)"]
COLUMNS = ["claim", "where", "of", "column", "above", "below", "data", "seeds", "difference", *P_VALUES, "verdict", "note"]


def held_against(claims: Sequence[Claim], places: Sequence[Measured]) -> pd.DataFrame:
    """A line for each claim of a paper: the difference of seeds' means, and its p, Holm-corrected over all that can be tested.

    `held` where the claim's order is significant at 5% over questions and over seeds, `reversed` where the opposite order is, else
    `undecided`, as where a row has one seed. What two claims say of the same runs, as of a row that two tables have, is one test. Numbers
    of parameters need none: they are as counted, or not.
    """
    by_name = {place.table.title.removeprefix(f"{place.table.paper}, "): place for place in places}
    measured = [by_name.get(claim.said.place) for claim in claims]
    found = [_compared(claim, there) if there else None for claim, there in zip(claims, measured, strict=True)]
    lines = [_line(*each) for each in zip(claims, measured, found, corrected(found), strict=True)]
    return pd.DataFrame(lines, columns=COLUMNS)


def _compared(claim: Claim, measured: Measured) -> Comparison | None:
    """What the claim says is positive."""
    return compared(measured.scored(claim.above, claim.column), measured.scored(claim.below, claim.column))


def _line(claim: Claim, measured: Measured | None, found: Comparison | None, p: float | None) -> dict[str, str]:
    line = {"claim": claim.said.claim, "where": claim.said.where, "of": claim.said.place, "column": claim.column}
    line = {**dict.fromkeys(COLUMNS, ""), **line, "above": claim.above, "below": claim.below, "note": claim.said.note}
    if measured and found:
        decided = p is not None and p < LEVEL
        verdict = UNDECIDED if not decided else HELD if found.difference > 0 else REVERSED
        return {**line, **_said(claim, measured, found.difference), **as_written(found, p), "verdict": verdict}
    if measured and (more := _more_parameters(claim, measured)) is not None:
        return {**line, **_said(claim, measured, more), "verdict": AS_COUNTED if more > 0 else NOT_AS_COUNTED}
    return {**line, "verdict": NOT_MEASURED}


def _said(claim: Claim, measured: Measured, difference: float) -> dict[str, str]:
    column, state = measured.table.columns[claim.column], measured.state_in(claim.above, claim.column)
    number = f"{difference * measured.table.scale_of(column):+.{measured.table.decimals_of(column)}f}{column.unit}"
    return {"data": state.cell.dataset if state else "", "difference": number}


def _more_parameters(claim: Claim, measured: Measured) -> float | None:
    """By how many `above` has more; None in a column of anything else, or where one of the two was not run."""
    states = [measured.state_in(label, claim.column) for label in (claim.above, claim.below)]
    if measured.table.columns[claim.column].metric != PARAMETERS or not all(state and state.entries for state in states):
        return None
    above, below = (state.entries[0].value(PARAMETERS) or 0.0 for state in states if state)
    return above - below
