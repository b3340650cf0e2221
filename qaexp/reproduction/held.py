"""The papers' claims held against what was measured: held, reversed, undecided, or not measured."""

from collections.abc import Sequence

import pandas as pd

from qaexp.evaluation.significance import LEVEL
from qaexp.reproduction.build import Measured
from qaexp.reproduction.claims import Claim
from qaexp.reproduction.comparison import Comparison, as_written, compared, corrected
from qaexp.reproduction.ledger import PARAMETERS

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
