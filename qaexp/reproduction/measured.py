"""A table with our numbers: from its file and the ledger to lines of text. For a tuning, the best value of each row."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd

from qaexp.reproduction.cell_state import MEASURED, MISSING, NOT_RUN, PARTIAL, QUICK, CellState, Scored, found_in
from qaexp.reproduction.cells import Cell, Keys, alternatives, cells_of
from qaexp.reproduction.ledger import Ledger
from qaexp.reproduction.spec import Row, Table, Tuning, as_printed, result_figures, result_tables

PUBLISHED = "published only"
"""The status of a row without a run."""

STATUSES = (MEASURED, PARTIAL, QUICK, NOT_RUN, MISSING, PUBLISHED)


@dataclass(frozen=True)
class Measured:
    """A table with our numbers."""

    table: Table
    states: Mapping[tuple[str, str], CellState]
    """By row and setting."""

    @cached_property
    def counts(self) -> dict[str, int]:
        """Status to its number of cells; a row that is published only counts as one."""
        found = [state.status for state in self.states.values()] + [PUBLISHED for row in self.table.rows if row.overrides is None]
        return {status: found.count(status) for status in STATUSES if status in found}

    @property
    def runs(self) -> str:
        """How many of its runs there are, such as `5 of 12`."""
        states = self.states.values()
        return f"{sum(len(state.entries) for state in states if state.shows)} of {sum(state.seeds_wanted for state in states)}"

    @cached_property
    def frame(self) -> pd.DataFrame:
        """A line for each row, in the paper's order; every number as text, in the paper's unit and rounding."""
        lines = [self._line(row) for row in self.table.rows]
        if isinstance(self.table, Tuning):
            best = best_values(self.table, self.states)
            lines = [{**line, "verdict": best[row.label]} for line, row in zip(lines, self.table.rows, strict=True)]
        return pd.DataFrame(lines)

    def doubts(self) -> list[str]:
        """Reasons to doubt some of its runs, a line each."""
        found = [f"{self.table.named(*where)}: {doubt}" for where, state in self.states.items() for doubt in state.doubts()]
        cut = {self.table.named(*where): state for where, state in self.states.items() if state.cut_short}
        if cut:
            epochs = sorted({len(entry.history) for state in cut.values() for entry in state.cut_short})
            runs = ", ".join(f"{name} ({len(state.cut_short)} of {len(state.entries)})" for name, state in cut.items())
            found.append(f"training ended at its limit of {' or '.join(map(str, epochs))} epochs, and more might have helped: {runs}")
        found += [*self._older_texts(), *self._absent_splits()]
        for name in self._timed_columns:
            if elsewhere := [label for label, state in self._timed(name).items() if state.on_gpu != self._shown_on_gpu[name]]:
                where = "without a GPU" if self._shown_on_gpu[name] else "with a GPU"
                found.append(f"{name}: not shown for {', '.join(elsewhere)}, timed {where}, unlike the other rows")
        return found

    def _older_texts(self) -> Iterator[str]:
        """Rows that read the same data set as others, at a time when its files had other texts."""
        on_data: dict[tuple[str, ...], dict[tuple[str, str], CellState]] = {}
        for where, state in self.states.items():
            if state.entries:
                on_data.setdefault(tuple(state.cell.reading), {})[where] = state
        for states in on_data.values():
            newest = max((entry for state in states.values() for entry in state.entries), key=lambda entry: entry.started)
            older = [self.table.named(*where) for where, state in states.items() if state.entries[0].fingerprint != newest.fingerprint]
            if older:
                yield (
                    f"the files of {newest.data['name']} had other texts when these rows were measured, which cannot be compared with the "
                    f"other rows: {', '.join(older)}"
                )

    def _absent_splits(self) -> Iterator[str]:
        """Columns of a split that no run has."""
        for name, column in self.table.columns.items():
            states = [state for row in self.table.rows if (state := self.state_in(row.label, name)) and state.entries]
            split = (self.table.metric_of(column, states[0].cell.dataset) or "").rpartition("/")[0] if states else ""
            there = {each: None for state in states for entry in state.entries for each in entry.metrics}
            if split and split not in there:
                yield f"{name}: no run has the split {split!r}; their splits are {', '.join(there)}"

    @property
    def _timed_columns(self) -> list[str]:
        return [name for name, column in self.table.columns.items() if column.is_timed]

    def _timed(self, name: str) -> dict[str, CellState]:
        """The rows with seconds in a column."""
        column = self.table.columns[name]
        found = {row.label: self.state_in(row.label, name) for row in self.table.rows}
        return {label: state for label, state in found.items() if state and state.interval(column)}

    @cached_property
    def _shown_on_gpu(self) -> dict[str, bool]:
        """Column of seconds to whether most of its rows were timed on a GPU. The other rows are not shown, as they cannot be compared."""
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
            varies = state and ours and state.varies(column) and not column.is_timed  # seconds vary with the machine's load
            line[f"{name} ci95"] = _number(ours.half if ours and varies else None, decimals)
            if state and ours and isinstance(printed, (int, float)):
                verdicts[name] = state.verdict(column, ours, printed)
        if row.overrides is None:
            return {**line, "seeds": "", "status": PUBLISHED, "verdict": "", "command": "", "records": ""}
        status = by_setting_text({name: state.status for name, state in states.items()})
        if isinstance(table, Tuning):  # values without a run are left blank
            states = {name: state for name, state in states.items() if state.entries} or states
        return {
            **line,
            "seeds": by_setting_text({name: str(len(state.entries)) for name, state in states.items()}),
            "status": status,
            "verdict": by_setting_text(verdicts),
            "command": by_setting_text({name: state.cell.command for name, state in states.items()}),
            "records": by_setting_text({name: " ".join(entry.file_key for entry in state.entries) for name, state in states.items()}),
        }

    def state_in(self, label: str, name: str) -> CellState | None:
        """The state of a row in a column."""
        row = next(row for row in self.table.rows if row.label == label)
        return self.states.get((label, self.table.setting_of(row, self.table.columns[name])))

    def scored(self, label: str, name: str) -> Scored | None:
        """A row's metric of each question in a column; None if the paper prints no number there or nothing was measured."""
        row = next(row for row in self.table.rows if row.label == label)
        state, printed = self.state_in(label, name), row.published[list(self.table.columns).index(name)]
        return state.scored(self.table.columns[name]) if state and printed is not None else None


def measured(table: Table, ledger: Ledger, keys: Keys, quick: bool = False) -> Measured:
    """A table with what the ledger has of it."""
    states = {}
    for row in table.rows:
        for setting in table.settings_of(row):
            states[row.label, setting] = found_in(ledger, list(alternatives(table, row, setting, quick)), keys)
    return Measured(table, states)


def _number(value: float | None, decimals: int) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.{decimals}f}"


def by_setting_text(texts: Mapping[str, str]) -> str:
    """One text if all agree, otherwise each after the name of its setting or column.

    >>> by_setting_text({"TRAIN": "5", "TRAIN-ALL": "5"}), by_setting_text({"TRAIN": "5", "TRAIN-ALL": "2"})
    ('5', 'TRAIN: 5; TRAIN-ALL: 2')
    """
    if len(set(texts.values())) < 2:
        return next(iter(texts.values()), "")
    return "; ".join(f"{name}: {text}" for name, text in texts.items())


def of_each_setting(text: str, names: Sequence[str]) -> dict[str, str]:
    """Reverses `by_setting_text`: maps each setting or column to its text. Names without a text are left out.

    >>> of_each_setting("TRAIN: 5; TRAIN-ALL: 2", ["TRAIN", "TRAIN-ALL"]), of_each_setting("5", ["TRAIN", "TRAIN-ALL"])
    ({'TRAIN': '5', 'TRAIN-ALL': '2'}, {'TRAIN': '5', 'TRAIN-ALL': '5'})
    """
    heading = "|".join(map(re.escape, names))
    if not re.match(rf"(?:{heading}): ", text):
        return dict.fromkeys(names, text)
    _, *found = re.split(rf"(?:^|; )({heading}): ", text)
    return dict(zip(found[::2], found[1::2], strict=True))


def best_values(tuning: Tuning, states: Mapping[tuple[str, str], CellState]) -> dict[str, str]:
    """Row to its best value in words. `states` are by row and setting."""
    in_tables = values_in_tables(tuning)
    return {row.label: _best(tuning, row, states, in_tables.get(row.label)) for row in tuning.rows}


def values_in_tables(tuning: Tuning) -> dict[str, str]:
    """Maps each row to the column whose value the paper's tables and figures use.

    The column has the same options as one of their cells, apart from the data set and the number of epochs: a value that was chosen on
    TRAIN of TREC QA may be used on TRAIN-ALL.
    """

    def options(cell: Cell) -> frozenset[str]:
        return frozenset(option for option in cell.overrides if not option.startswith(("dataset=", "trainer.max_epochs=")))

    theirs = [each for each in (*result_tables(), *result_figures()) if each.paper == tuning.paper]
    of_tables = {options(cell) for each in theirs for cell in cells_of(each)}
    column_of = {column.setting: name for name, column in tuning.columns.items()}
    return {cell.row.label: column_of[cell.setting] for cell in cells_of(tuning) if options(cell) in of_tables}


def _best(tuning: Tuning, row: Row, states: Mapping[tuple[str, str], CellState], in_tables: str | None) -> str:
    """The best of two or more values, over the seeds that they share. Values with fewer seeds than the second most are left out."""
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
    over = f" over seed{'s' if len(shared) > 1 else ''} {', '.join(map(str, sorted(shared)))}"
    return f"best{of}{over}: {max(means, key=means.__getitem__)}; taken: {in_tables or 'none'}"
