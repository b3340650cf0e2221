"""What a tuning found: the value that each row does best with on dev, beside the one that the paper's tables have."""

from collections.abc import Mapping
from dataclasses import replace

from qaexp.reproduction.cells import cells_of
from qaexp.reproduction.read import result_figures, result_tables
from qaexp.reproduction.spec import Row, Tuning
from qaexp.reproduction.state import CellState


def best_values(tuning: Tuning, states: Mapping[tuple[str, str], CellState]) -> dict[str, str]:
    """Of each row, in words. `states` are by row and setting."""
    in_tables = taken(tuning)
    return {row.label: _best(tuning, row, states, in_tables.get(row.label)) for row in tuning.rows}


def taken(tuning: Tuning) -> dict[str, str]:
    """Row to the column that the paper's tables and figures have it with, which is the one whose commands are theirs."""
    theirs = [each for each in (*result_tables(), *result_figures()) if each.paper == tuning.paper]
    of_tables = {frozenset(cell.overrides) for each in theirs for cell in cells_of(each)}
    column_of = {column.setting: name for name, column in tuning.columns.items()}
    return {cell.row.label: column_of[cell.setting] for cell in cells_of(tuning) if frozenset(cell.overrides) in of_tables}


def _best(tuning: Tuning, row: Row, states: Mapping[tuple[str, str], CellState], in_tables: str | None) -> str:
    """Of two values or more, over the seeds that they share: a value that has fewer seeds than the second most is left out."""
    columns = tuning.columns
    of_value = {name: states[row.label, tuning.setting_of(row, column)] for name, column in columns.items()}
    seeds = {name: {entry.seed for entry in state.entries} for name, state in of_value.items()}
    _, second_most, *_ = sorted([0, 0, *map(len, seeds.values())], reverse=True)
    among = {name: found for name, found in seeds.items() if len(found) >= second_most > 0}
    shared = set[int]().union(*among.values()).intersection(*among.values())
    if not shared:
        return ""
    runs = {name: replace(of_value[name], entries=[e for e in of_value[name].entries if e.seed in shared]) for name in among}
    means = {name: ours.mean for name, state in runs.items() if (ours := state.interval(columns[name]))}
    if not means:
        return ""
    of = f" of {len(means)}" if len(means) < len(columns) else ""
    over = f" over {len(shared)} seeds" if len(shared) > 1 else ""
    return f"best{of}{over}: {max(means, key=means.__getitem__)}; taken: {in_tables or 'none'}"
