"""The papers' claims held against what was measured: held, reversed, undecided, or not measured."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from qaexp.results.ledger import PARAMETERS
from qaexp.tables.build import Measured, p_of
from qaexp.tables.claims import Claim
from qaexp.tables.significance import LEVEL, holm

HELD, REVERSED, UNDECIDED, NOT_MEASURED = "held", "reversed", "undecided", "not measured"
VERDICTS = (HELD, REVERSED, UNDECIDED, NOT_MEASURED)
COLUMNS = ["claim", "where", "of", "column", "above", "below", "data", "seeds", "difference", "p (Holm)", "verdict", "note"]


def held_against(claims: Sequence[Claim], places: Sequence[Measured]) -> pd.DataFrame:
    """A line for each claim of a paper: the difference over questions of seeds' means, its p, Holm-corrected over all that can be tested.

    `held` where the claim's order is significant at 5%, `reversed` where the opposite order is, else `undecided`. What two claims
    say of the same runs, as of a row that two tables have, is one test. Numbers of parameters are as they are, without a test.
    """
    by_name = {place.table.title.removeprefix(f"{place.table.paper}, "): place for place in places}
    differences = [_differences(claim, by_name.get(claim.place)) for claim in claims]
    tests = {difference.tobytes(): p_of(difference) for difference in differences if difference is not None}
    corrected = dict(zip(tests, holm(list(tests.values())), strict=True))
    lines = []
    for claim, difference in zip(claims, differences, strict=True):
        line = {"claim": claim.claim, "where": claim.where, "of": claim.place, "column": claim.column, "above": claim.above}
        line |= {"below": claim.below, "note": claim.note}
        measured = by_name.get(claim.place)
        if measured and difference is not None:
            p = corrected[difference.tobytes()]
            found = {**_said(claim, measured, float(np.mean(difference)), p < LEVEL), "p (Holm)": f"{p:.4f}"}
        elif measured and (counted := _counted(claim, measured)) is not None:
            found = _said(claim, measured, counted, counted != 0)
        else:
            found = {"verdict": NOT_MEASURED}
        lines.append({**dict.fromkeys(COLUMNS, ""), **line, **found})
    return pd.DataFrame(lines, columns=COLUMNS)


def _said(claim: Claim, measured: Measured, difference: float, decided: bool) -> dict[str, str]:
    column = measured.table.columns[claim.column]
    states = [state for label in (claim.above, claim.below) if (state := measured.state_of(label, claim.column))]
    return {
        "data": states[0].cell.dataset,
        "seeds": "; ".join(str(len(state.entries)) for state in states),
        "difference": f"{difference * measured.table.scale_of(column):+.{measured.table.decimals_of(column)}f}{column.unit}",
        "verdict": UNDECIDED if not decided else HELD if difference > 0 else REVERSED,
    }


def _counted(claim: Claim, measured: Measured) -> float | None:
    """By how many parameters `above` has more; None in a column of anything else, or where one of the two was not run."""
    states = [measured.state_of(label, claim.column) for label in (claim.above, claim.below)]
    if measured.table.columns[claim.column].metric != PARAMETERS or not all(state and state.entries for state in states):
        return None
    above, below = (state.entries[0].value(PARAMETERS) or 0.0 for state in states if state)
    return above - below


def _differences(claim: Claim, measured: Measured | None) -> np.ndarray | None:
    """Of each question, what the claim says is positive; None where the two rows were not run over the same questions."""
    if measured is None:
        return None
    above, below = (measured.scored(label, claim.column) for label in (claim.above, claim.below))
    if above is None or below is None or above.of != below.of:
        return None
    return np.array(above.values) - np.array(below.values)
