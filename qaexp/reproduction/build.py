"""From a table's file and the ledger to what we have measured of it: a row's numbers, seeds, state and verdict."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from qaexp.reproduction.cells import Keys, alternatives
from qaexp.reproduction.ledger import Ledger
from qaexp.reproduction.spec import Row, Table, Tuning, as_printed
from qaexp.reproduction.state import MEASURED, MISSING, NOT_RUN, PARTIAL, QUICK, CellState, Scored, found_in
from qaexp.reproduction.tuned import best_values

PUBLISHED = "published only"
"""The state of a row that nothing runs."""


@dataclass(frozen=True)
class Measured:
    """A table with our numbers."""

    table: Table
    states: Mapping[tuple[str, str], CellState]
    """By row and setting."""

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many cells are in each state; a row that is published only counts as one."""
        found = [state.status for state in self.states.values()] + [PUBLISHED for row in self.table.rows if row.overrides is None]
        return {status: found.count(status) for status in (MEASURED, PARTIAL, QUICK, NOT_RUN, MISSING, PUBLISHED) if status in found}

    @property
    def runs(self) -> str:
        """How many runs of its cells there are, of how many."""
        states = self.states.values()
        return f"{sum(len(state.entries) for state in states if state.shows)} of {sum(state.seeds_wanted for state in states)}"

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One line a row of the paper, in its order; every number as text, in the paper's unit and rounding."""
        lines = [self._line(row) for row in self.table.rows]
        if isinstance(self.table, Tuning):
            best = best_values(self.table, self.states)
            lines = [{**line, "verdict": best[row.label]} for line, row in zip(lines, self.table.rows, strict=True)]
        return pd.DataFrame(lines)

    def doubts(self) -> list[str]:
        """What should be doubted of its runs, in a line each."""
        found = [f"{self.table.named(*where)}: {doubt}" for where, state in self.states.items() for doubt in state.doubts()]
        cut = {self.table.named(*where): state for where, state in self.states.items() if state.cut_short}
        if cut:
            epochs = sorted({len(entry.history) for state in cut.values() for entry in state.cut_short})
            runs = ", ".join(f"{name} ({len(state.cut_short)} of {len(state.entries)})" for name, state in cut.items())
            found.append(f"dev might have become better after the {' or '.join(map(str, epochs))} epochs that these runs had: {runs}")
        for name in self._timed_columns:
            if elsewhere := [label for label, state in self._timed(name).items() if state.on_gpu != self._shown_on_gpu[name]]:
                where = "without a GPU" if self._shown_on_gpu[name] else "with a GPU"
                found.append(f"{name}: not shown for {', '.join(elsewhere)}, timed {where} where the other rows were not")
        return found

    @property
    def _timed_columns(self) -> list[str]:
        return [name for name, column in self.table.columns.items() if column.is_timed]

    def _timed(self, name: str) -> dict[str, CellState]:
        """The rows that have seconds in a column."""
        column = self.table.columns[name]
        found = {row.label: self.state_in(row.label, name) for row in self.table.rows}
        return {label: state for label, state in found.items() if state and state.interval(column)}

    @cached_property
    def _shown_on_gpu(self) -> dict[str, bool]:
        """Column of seconds to the kind of machine, with a GPU or without, that more of its rows were timed on: the rest are not shown."""
        kinds = {name: [state.on_gpu for state in self._timed(name).values()] for name in self._timed_columns}
        return {name: 2 * sum(on_gpu) > len(on_gpu) for name, on_gpu in kinds.items()}

    def _line(self, row: Row) -> dict[str, str]:
        table = self.table
        states = {name: self.states[row.label, name] for name in table.settings_of(row)}
        line = {table.label: row.label}
        verdicts: dict[str, str] = {}
        for (name, column), printed in zip(table.columns.items(), row.published, strict=True):
            state = states.get(table.setting_of(row, column))
            ours = state.interval(column) if state and self._shown_on_gpu.get(name, state.on_gpu) == state.on_gpu else None
            decimals = table.decimals_of(column)
            line[name] = _number(ours.mean if ours else None, decimals) + (column.unit if ours else "")
            line[f"{name} (paper)"] = as_printed(printed, decimals)
            line[f"{name} ci95"] = _number(ours.half if ours else None, decimals)
            if state and ours and isinstance(printed, (int, float)):
                verdicts[name] = state.verdict(column, ours, printed)
        if row.overrides is None:
            return {**line, "seeds": "", "status": PUBLISHED, "verdict": "", "command": ""}
        if isinstance(table, Tuning):  # of values without a run the blank tells enough
            states = {name: state for name, state in states.items() if state.entries} or states
        return {
            **line,
            "seeds": by_setting_text({name: str(len(state.entries)) for name, state in states.items()}),
            "status": by_setting_text({name: state.status for name, state in states.items()}),
            "verdict": by_setting_text(verdicts),
            "command": by_setting_text({name: " && ".join(state.cell.commands) for name, state in states.items()}),
        }

    def state_in(self, label: str, name: str) -> CellState | None:
        """The state of a row in a column."""
        row = next(row for row in self.table.rows if row.label == label)
        return self.states.get((label, self.table.setting_of(row, self.table.columns[name])))

    def scored(self, label: str, name: str) -> Scored | None:
        """A row's questions in a column, where the paper prints a number and they were measured."""
        row = next(row for row in self.table.rows if row.label == label)
        state, printed = self.state_in(label, name), row.published[list(self.table.columns).index(name)]
        return state.scored(self.table.columns[name]) if state and printed is not None else None


def measured(table: Table, ledger: Ledger, keys: Keys, quick: bool = False) -> Measured:
    """What the ledger has of a table."""
    states = {}
    for row in table.rows:
        for setting in table.settings_of(row):
            states[row.label, setting] = found_in(ledger, list(alternatives(table, row, setting, quick)), keys)
    return Measured(table, states)


def _number(value: float | None, decimals: int) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.{decimals}f}"


def by_setting_text(texts: Mapping[str, str]) -> str:
    """One text where all agree, otherwise each with its setting's or column's name before it.

    >>> by_setting_text({"TRAIN": "5", "TRAIN-ALL": "5"}), by_setting_text({"TRAIN": "5", "TRAIN-ALL": "2"})
    ('5', 'TRAIN: 5; TRAIN-ALL: 2')
    """
    if len(set(texts.values())) < 2:
        return next(iter(texts.values()), "")
    return "; ".join(f"{name}: {text}" for name, text in texts.items())
