"""From a table's file and the ledger to what we have measured of it: a row's numbers, seeds, state and verdict."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from statistics import median

import numpy as np
import pandas as pd

from qaexp.results.ledger import SECONDS, Entry, Ledger, PerQuestion, model_and_dataset
from qaexp.tables.cells import Cell, Keys, alternatives, at_hand, lacking, taken
from qaexp.tables.comparison import Comparison, Scored, compared, corrected
from qaexp.tables.significance import INCOMPARABLE, LEVEL, Interval, verdict
from qaexp.tables.spec import Column, Row, Table, Tuning, as_printed

MEASURED, PARTIAL, QUICK = "measured", "partial data", "quick"
PUBLISHED, MISSING, NOT_RUN = "published only", "data missing", "not run"
FAR_BELOW = 0.1
"""A seed whose best metric on dev is so much below the median of its row's is told of."""


@dataclass(frozen=True)
class CellState:
    """What there is of a row under a setting."""

    cell: Cell
    entries: Sequence[Entry]
    lacking: str

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

    def interval(self, column: Column) -> Interval | None:
        """Over seeds, in the paper's unit; None where nothing was measured."""
        metric, scale = self.cell.table.metric_of(column, self.cell.dataset), self.cell.table.scale_of(column)
        values = [value for entry in self.entries if metric and (value := entry.value(metric)) is not None]
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
            in_tables = taken(self.table)
            said = [self._best(row, in_tables.get(row.label)) for row in self.table.rows]
            lines = [{**line, "verdict": best} for line, best in zip(lines, said, strict=True)]
        return pd.DataFrame(lines)

    def doubts(self) -> list[str]:
        """What should be doubted, in a line each: training losses that did not move, seeds far below the others on dev."""
        found = []
        for (label, setting), state in self.states.items():
            where = self.table.named(label, setting)
            if stuck := [entry for entry in state.entries if not entry.learned]:
                seeds, losses = ", ".join(str(entry.seed) for entry in stuck), stuck[0].losses
                went = f"{losses[0]:.3g} to {losses[-1]:.3g}"
                found.append(f"{where}: next to nothing was learned with seed {seeds}; the training loss went from {went}")
            on_dev = {entry.seed: best for entry in state.entries if (best := entry.best_on_dev) is not None}
            middle = median(on_dev.values()) if on_dev else 0.0
            for seed, best in on_dev.items():
                if best < middle - FAR_BELOW:
                    found.append(
                        f"{where}: seed {seed} is far below the others on dev, {best:.3f} where the median of its seeds is {middle:.3f}"
                    )
        return found

    def comparisons(self) -> pd.DataFrame:
        """Every two rows over the same questions, column by column: the mean difference, and its p, Holm-corrected in a column."""
        return pd.DataFrame([line for name in self.table.columns for line in self._compare(name)])

    def _line(self, row: Row) -> dict[str, str]:
        table = self.table
        states = {name: self.states[row.label, name] for name in table.settings_of(row)}
        line = {table.label: row.label}
        verdicts: dict[str, str] = {}
        for (name, column), printed in zip(table.columns.items(), row.published, strict=True):
            state = states.get(table.setting_of(row, column))
            ours = state.interval(column) if state else None
            decimals = table.decimals_of(column)
            line[name] = _number(ours.mean if ours else None, decimals) + (column.unit if ours else "")
            line[f"{name} (paper)"] = as_printed(printed, decimals)
            line[f"{name} ci95"] = _number(ours.half if ours else None, decimals)
            if state and ours and isinstance(printed, (int, float)):
                verdicts[name] = self._verdict(state.cell, column, ours, printed)
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

    def _best(self, row: Row, in_tables: str | None) -> str:
        """Which value a row does best with, of two or more and over the seeds that they share, and which the paper's tables have."""
        columns = self.table.columns
        states = {name: self.states[row.label, self.table.setting_of(row, column)] for name, column in columns.items()}
        _, second_most, *_ = sorted([0, 0, *(len(state.entries) for state in states.values())], reverse=True)
        seeds_of = {
            name: {entry.seed for entry in state.entries} for name, state in states.items() if len(state.entries) >= second_most > 0
        }
        shared = set[int]().union(*seeds_of.values()).intersection(*seeds_of.values())
        if not shared:
            return ""
        compared = {name: replace(states[name], entries=[e for e in states[name].entries if e.seed in shared]) for name in seeds_of}
        means = {name: ours.mean for name, state in compared.items() if (ours := state.interval(columns[name]))}
        among = f" of {len(means)}" if len(means) < len(states) else ""
        over = f" over {len(shared)} seeds" if len(shared) > 1 else ""
        return f"best{among}{over}: {max(means, key=means.__getitem__)}; taken: {in_tables or 'none'}"

    def _verdict(self, cell: Cell, column: Column, ours: Interval, printed: int | float) -> str:
        if cell.quick:
            return f"{INCOMPARABLE}: quick"
        if cell.differs:
            return f"{INCOMPARABLE}: {cell.differs}"
        if (column.metric or "").startswith(SECONDS):
            return f"{INCOMPARABLE}: another machine"
        return verdict(ours, printed, 10.0 ** -self.table.decimals_of(column))

    def _compare(self, name: str) -> Iterator[dict[str, str]]:
        scored = {row.label: found for row in self.table.rows if (found := self.scored(row.label, name))}
        rows = {pair: found for pair in combinations(scored, 2) if (found := compared(*map(scored.__getitem__, pair)))}
        column = self.table.columns[name]
        for ((first, second), found), p in zip(rows.items(), corrected(list(rows.values())), strict=True):
            yield {
                "column": name,
                "row": first,
                "against": second,
                "difference": _number(found.difference * self.table.scale_of(column), self.table.decimals_of(column)),
                "questions": str(len(found.differences)),
                "seeds": f"{len(scored[first].by_seed)}; {len(scored[second].by_seed)}",
                **p_values(found, p),
                "significant": "one seed" if p is None else "yes" if p < LEVEL else "no",
            }

    def state_of(self, label: str, name: str) -> CellState | None:
        """The state of a row in a column."""
        row = next(row for row in self.table.rows if row.label == label)
        return self.states.get((label, self.table.setting_of(row, self.table.columns[name])))

    def scored(self, label: str, name: str) -> Scored | None:
        """A row's questions in a column, where the paper prints a number and they were measured."""
        row = next(row for row in self.table.rows if row.label == label)
        state, printed = self.state_of(label, name), row.published[list(self.table.columns).index(name)]
        return state.scored(self.table.columns[name]) if state and printed is not None else None


def measured(table: Table, ledger: Ledger, keys: Keys, quick: bool = False) -> Measured:
    """What the ledger has of a table."""
    states = {}
    for row in table.rows:
        for setting in table.settings_of(row):
            states[row.label, setting] = _state(list(alternatives(table, row, setting, quick)), ledger, keys)
    return Measured(table, states)


def _state(cells: Sequence[Cell], ledger: Ledger, keys: Keys) -> CellState:
    """The first alternative with results; or else the one that would be run here, or was run elsewhere in other cells."""
    for cell in cells:
        if model_and_dataset(cell.overrides) not in ledger.choices:  # then there is nothing to compose it for
            continue
        found = [entry for key in keys.of(cell, cell.table.seeds) if (entry := ledger.find(key))]
        if found:
            newest = max(found, key=lambda entry: entry.started)
            entries = [entry for entry in found if entry.fingerprint == newest.fingerprint]
            return CellState(cell, entries if entries[0].random else entries[:1], "")
    chosen = at_hand(cells)
    if (lacks := lacking(chosen)) and (elsewhere := next((cell for cell in cells if (cell.dataset, cell.vectors) in ledger.data), None)):
        return CellState(elsewhere, [], "")  # so the ledger's tables are the same with the data and without
    return CellState(chosen, [], lacks)


def p_values(found: Comparison, p: float | None) -> dict[str, str]:
    """As they are written: over questions, over seeds, and Holm's of the larger one; blank where a row has one seed."""
    said = {"p (questions)": found.p_questions, "p (seeds)": found.p_seeds, "p (Holm)": p}
    return {name: "" if value is None else f"{value:.3g}" for name, value in said.items()}


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
