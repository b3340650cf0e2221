"""The state of one row of a table under a setting: its runs in the ledger, their numbers over seeds, and doubts about them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from qaexp.evaluation.significance import INCOMPARABLE, Interval, verdict
from qaexp.reproduction.cells import Cell, Keys
from qaexp.reproduction.ledger import PARAMETERS, SECONDS, Entry, Ledger, PerQuestion
from qaexp.reproduction.spec import Column

MEASURED, PARTIAL, QUICK = "measured", "partial data", "quick"
MISSING, NOT_RUN = "data missing", "not run"
FAR_BELOW = 0.1
"""The page names a seed whose best dev metric, in [0, 1], is below the median of its row's seeds by more than this."""


@dataclass(frozen=True)
class Scored:
    """A row's metric in a column: the mean over seeds for each question, and the mean over questions for each seed."""

    questions: PerQuestion
    by_seed: Sequence[float]
    random: bool
    """Whether a seed makes a difference."""
    data: tuple[str, str]
    """The choice of `dataset=`, and the fingerprint of its texts at the time."""
    measured_as: tuple[str, int | float | None]
    """The scoring convention, and the number of pairs."""


@dataclass(frozen=True)
class CellState:
    """A row under a setting, and its runs in the ledger."""

    cell: Cell
    entries: Sequence[Entry]
    max_epochs: int = 0
    """Its table's limit of epochs; 0 without entries."""

    @property
    def status(self) -> str:
        if not self.entries:
            return NOT_RUN
        if not self.shows:
            return MISSING
        return QUICK if self.cell.quick else PARTIAL if self.entries[0].data["partial"] else MEASURED

    @property
    def shows(self) -> bool:
        """Whether its runs have a number for any column. A part of a data set may lack the table's split."""
        table = self.cell.table
        columns = [column for column in table.columns.values() if table.setting_of(self.cell.row, column) == self.cell.setting]
        return any(self.interval(column) for column in columns)

    @property
    def seeds_wanted(self) -> int:
        """How many seeds its table asks for; one if a seed makes no difference, as for BM25."""
        return 1 if self.entries and not self.entries[0].random else len(self.cell.table.seeds)

    @property
    def timed(self) -> Sequence[Entry]:
        """The runs whose seconds count: those without a GPU, if there are any."""
        return [entry for entry in self.entries if not entry.hardware["gpu"]] or self.entries

    @property
    def on_gpu(self) -> bool:
        """Whether its seconds are those of a GPU."""
        return any(entry.hardware["gpu"] for entry in self.timed)

    def interval(self, column: Column) -> Interval | None:
        """Over seeds, in the paper's unit; None if nothing was measured. Seconds are those of the `timed` runs."""
        metric, scale = self.cell.table.metric_of(column, self.cell.dataset), self.cell.table.scale_of(column)
        entries = self.timed if metric and metric.startswith(SECONDS) else self.entries
        values = [value for entry in entries if metric and (value := entry.value(metric)) is not None]
        return Interval.of([scale * value for value in values], random=self.varies(column)) if values else None

    def varies(self, column: Column) -> bool:
        """Whether a seed makes a difference to its number in a column."""
        return bool(self.entries) and self.entries[0].random and column.metric != PARAMETERS

    def scored(self, column: Column) -> Scored | None:
        """Over the seeds whose questions are known; None if there are none, or if their questions differ."""
        metric = self.cell.table.metric_of(column, self.cell.dataset) or ""
        kept = [(entry, found) for entry in self.entries if (found := entry.per_question(metric)) is not None]
        if not kept or any(found.of != kept[0][1].of for _, found in kept):
            return None
        means = np.mean([found.values for _, found in kept], axis=0).tolist()
        by_seed = [value for entry, _ in kept if (value := entry.value(metric)) is not None]
        first, split = kept[0][0], metric.rpartition("/")[0]
        data, measured_as = (self.cell.dataset, first.fingerprint), (first.convention, first.metrics.get(split, {}).get("pairs"))
        return Scored(PerQuestion(kept[0][1].of, means), by_seed, self.entries[0].random, data, measured_as)

    def verdict(self, column: Column, ours: Interval, printed: int | float) -> str:
        """Ours against the paper's number, or why the two cannot be compared."""
        if self.cell.quick:
            return f"{INCOMPARABLE}: quick"
        if self.cell.differs:
            return f"{INCOMPARABLE}: {self.cell.differs}"
        if column.is_timed:
            return f"{INCOMPARABLE}: another machine"
        return verdict(ours, printed, 10.0 ** -self.cell.table.decimals_of(column))

    @property
    def cut_short(self) -> Sequence[Entry]:
        """The runs that more epochs might have improved, because the limit of epochs ended them and not `patience`.

        If the table's limit is the paper's, only runs with a lower limit count. A run that `patience` could not have ended counts only if
        its last epoch was the best.
        """
        if self.cell.quick:
            return []
        cut = [entry for entry in self.entries if entry.cut_short]
        if self.cell.table.fixed_epochs:
            return [entry for entry in cut if len(entry.history) < self.max_epochs]
        return [e for e in cut if len(e.history) < self.max_epochs or e.may_stop or e.best_epoch == len(e.history)]

    def doubts(self) -> Iterator[str]:
        """Training losses that did not fall, and seeds far below the others on dev."""
        if stuck := [entry for entry in self.entries if not entry.learned]:
            seeds, losses = ", ".join(str(entry.seed) for entry in stuck), stuck[0].losses
            yield f"hardly anything was learned with seed {seeds}; the training loss went from {losses[0]:.3g} to {losses[-1]:.3g}"
        on_dev = {entry.seed: best for entry in self.entries if (best := entry.best_on_dev) is not None}
        middle = median(on_dev.values()) if on_dev else 0.0
        for seed, best in on_dev.items():
            if best < middle - FAR_BELOW:
                yield f"seed {seed} is far below the others on dev, {best:.3f} and the median of its seeds is {middle:.3f}"


def found_in(ledger: Ledger, cells: Sequence[Cell], keys: Keys) -> CellState:
    """The state of the first alternative with runs in the ledger. Files on disk are not looked at.

    If there are no runs, the first alternative whose data and word vectors other runs used, else the paper's own.
    """
    for cell in cells:
        if cell.dataset not in ledger.datasets:  # there is no need to compose it
            continue
        of_seeds = keys.of(cell, cell.table.seeds)
        found = [entry for key in of_seeds if (entry := ledger.find(key) or ledger.beginning_of(key))]
        if found:
            same = max(found, key=lambda entry: entry.started).has_read_the_same
            entries = [entry for key in of_seeds if (entry := ledger.find(key, same) or ledger.beginning_of(key, same))]
            return CellState(cell, entries if entries[0].random else entries[:1], of_seeds[0].max_epochs)
    return CellState(next((cell for cell in cells if (cell.dataset, cell.vectors) in ledger.data), cells[0]), [])
