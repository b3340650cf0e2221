"""What the ledger has of a table: the state of each row under each setting, and the table with our numbers."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median

import numpy as np
import pandas as pd

from qaexp.evaluation.significance import INCOMPARABLE, Interval, verdict
from qaexp.reproduction.cells import Cell, Keys, alternatives, at_hand, cells_of, lacking
from qaexp.reproduction.ledger import SECONDS, Entry, Ledger, PerQuestion
from qaexp.reproduction.spec import Column, Row, Table, Tuning, as_printed, result_figures, result_tables

MEASURED, PARTIAL, QUICK = "measured", "partial data", "quick"
MISSING, NOT_RUN = "data missing", "not run"
FAR_BELOW = 0.1
"""A seed whose best metric on dev is so much below the median of its row's is told of."""


@dataclass(frozen=True)
class Scored:
    """A row's metric in a column: of each question the mean over seeds, and of each seed the mean over questions."""

    questions: PerQuestion
    by_seed: Sequence[float]
    random: bool
    """Whether a seed makes a difference."""
    data: tuple[str, str]
    """The choice of `dataset=`, and the fingerprint of what it was then."""


@dataclass(frozen=True)
class CellState:
    """What there is of a row under a setting."""

    cell: Cell
    entries: Sequence[Entry]
    lacking: str
    max_epochs: int = 0
    """The limit of epochs that its table asks for; 0 without entries."""

    @property
    def status(self) -> str:
        if not self.entries:
            return MISSING if self.lacking else NOT_RUN
        if not self.shows:
            return MISSING
        return QUICK if self.cell.quick else PARTIAL if self.entries[0].data["partial"] else MEASURED

    @property
    def shows(self) -> bool:
        """Whether its runs have a number for any column: a part of the data may lack the split that a table is of."""
        table = self.cell.table
        columns = [column for column in table.columns.values() if table.setting_of(self.cell.row, column) == self.cell.setting]
        return any(self.interval(column) for column in columns)

    @property
    def seeds_wanted(self) -> int:
        """How many seeds its table asks for: one where a seed makes no difference, as for BM25."""
        return 1 if self.entries and not self.entries[0].random else len(self.cell.table.seeds)

    @property
    def timed(self) -> Sequence[Entry]:
        """The runs whose seconds count: those without a GPU, where there are any."""
        return [entry for entry in self.entries if not entry.hardware["gpu"]] or self.entries

    @property
    def on_gpu(self) -> bool:
        """Whether its seconds are those of a GPU."""
        return any(entry.hardware["gpu"] for entry in self.timed)

    def interval(self, column: Column) -> Interval | None:
        """Over seeds, in the paper's unit; None where nothing was measured. Seconds are those of the `timed` runs."""
        metric, scale = self.cell.table.metric_of(column, self.cell.dataset), self.cell.table.scale_of(column)
        entries = self.timed if metric and metric.startswith(SECONDS) else self.entries
        values = [value for entry in entries if metric and (value := entry.value(metric)) is not None]
        return Interval.of([scale * value for value in values], random=self.entries[0].random) if values else None

    def scored(self, column: Column) -> Scored | None:
        """Over the seeds whose questions are known; None where there are none, or they are not the same."""
        metric = self.cell.table.metric_of(column, self.cell.dataset) or ""
        kept = [(entry, found) for entry in self.entries if (found := entry.per_question(metric)) is not None]
        if not kept or any(found.of != kept[0][1].of for _, found in kept):
            return None
        means = np.mean([found.values for _, found in kept], axis=0).tolist()
        by_seed = [value for entry, _ in kept if (value := entry.value(metric)) is not None]
        data = self.cell.dataset, kept[0][0].fingerprint
        return Scored(PerQuestion(kept[0][1].of, means), by_seed, self.entries[0].random, data)

    def verdict(self, column: Column, ours: Interval, printed: int | float) -> str:
        """Ours against the paper's number, or why the two are not to be compared."""
        if self.cell.quick:
            return f"{INCOMPARABLE}: quick"
        if self.cell.differs:
            return f"{INCOMPARABLE}: {self.cell.differs}"
        if column.is_timed:
            return f"{INCOMPARABLE}: another machine"
        return verdict(ours, printed, 10.0 ** -self.cell.table.decimals_of(column))

    @property
    def cut_short(self) -> Sequence[Entry]:
        """The runs that a limit of epochs has ended which is not the paper's: where the table's is the paper's, a lower one."""
        if self.cell.quick:
            return []
        cut = [entry for entry in self.entries if entry.cut_short]
        return [entry for entry in cut if len(entry.history) < self.max_epochs] if self.cell.table.fixed_epochs else cut

    def doubts(self) -> Iterator[str]:
        """Training losses that did not move, seeds far below the others on dev."""
        if stuck := [entry for entry in self.entries if not entry.learned]:
            seeds, losses = ", ".join(str(entry.seed) for entry in stuck), stuck[0].losses
            yield f"next to nothing was learned with seed {seeds}; the training loss went from {losses[0]:.3g} to {losses[-1]:.3g}"
        on_dev = {entry.seed: best for entry in self.entries if (best := entry.best_on_dev) is not None}
        middle = median(on_dev.values()) if on_dev else 0.0
        for seed, best in on_dev.items():
            if best < middle - FAR_BELOW:
                yield f"seed {seed} is far below the others on dev, {best:.3f} where the median of its seeds is {middle:.3f}"


def found_in(ledger: Ledger, cells: Sequence[Cell], keys: Keys) -> CellState:
    """The first alternative with results; or else the one that would be run here, or was run elsewhere in other cells."""
    for cell in cells:
        if cell.dataset not in ledger.datasets:  # then there is nothing to compose it for
            continue
        of_seeds = keys.of(cell, cell.table.seeds)
        found = [entry for key in of_seeds if (entry := ledger.find(key) or ledger.beginning_of(key))]
        if found:
            over = max(found, key=lambda entry: entry.started).over_the_same
            entries = [entry for key in of_seeds if (entry := ledger.find(key, over) or ledger.beginning_of(key, over))]
            return CellState(cell, entries if entries[0].random else entries[:1], "", of_seeds[0].max_epochs)
    chosen = at_hand(cells)
    if (lacks := lacking(chosen)) and (elsewhere := next((cell for cell in cells if (cell.dataset, cell.vectors) in ledger.data), None)):
        return CellState(elsewhere, [], "")  # so the ledger's tables are the same with the data and without
    return CellState(chosen, [], lacks)


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
