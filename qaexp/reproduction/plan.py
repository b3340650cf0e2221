"""What a table still needs: its runs in order, those that are impossible and why, and how long the rest will take."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import mean
from typing import NamedTuple

from qaexp.config import split_options
from qaexp.errors import QaexpError
from qaexp.reproduction.cells import Cell, Keys, alternatives, at_hand, fingerprint, lacking, vector_files
from qaexp.reproduction.ledger import Entry, Ledger
from qaexp.reproduction.spec import Table
from qaexp.runs.record import RunRecord, hardware, is_over


@dataclass(frozen=True)
class Run:
    """One seed of a cell."""

    cell: Cell
    seed: int
    key: str
    fingerprint: str
    """Of the data on disk; empty where they are lacking."""
    entry: Entry | None
    """What the ledger has of it."""
    lacking: str
    """What is not on disk; empty when it can be run."""

    @property
    def title(self) -> str:
        return f"{self.cell.title}, seed {self.seed}"


@dataclass(frozen=True)
class Plan:
    """The runs of some tables: all first seeds before all second ones, so that an interrupted table is of use."""

    runs: Sequence[Run]

    published_only: Sequence[str] = ()
    """The table of each row that a paper quotes without defining its model."""

    @property
    def done(self) -> list[Run]:
        return _each_once(run for run in self.runs if run.entry)

    @property
    def impossible(self) -> list[Run]:
        return _each_once(run for run in self.runs if not run.entry and run.lacking)

    @property
    def to_do(self) -> list[Run]:
        return _each_once(run for run in self.runs if not run.entry and not run.lacking)


def _each_once(runs: Iterable[Run]) -> list[Run]:
    """Each key once, whatever number of tables show it."""
    first: dict[str, Run] = {}
    for run in runs:
        first.setdefault(run.key, run)
    return list(first.values())


@dataclass(frozen=True)
class Choice:
    """Of the tables' seeds, rows and settings these alone; where none is named, all of them."""

    seeds: Sequence[int] = ()
    rows: Sequence[str] = ()
    settings: Sequence[str] = ()
    quick: bool = False

    def seeds_of(self, table: Table) -> list[int]:
        return list(table.seeds[:1]) if self.quick else [seed for seed in table.seeds if not self.seeds or seed in self.seeds]


def plan(tables: Sequence[Table], ledger: Ledger, keys: Keys, choice: Choice) -> Plan:
    """The chosen runs of these tables, done or not."""
    runs = [run for table in tables for run in _runs(table, ledger, keys, choice)]
    published = [
        table.title for table in tables for row in table.rows if row.overrides is None and (not choice.rows or row.label in choice.rows)
    ]
    return Plan(sorted(runs, key=lambda run: run.seed), published)


def _runs(table: Table, ledger: Ledger, keys: Keys, choice: Choice) -> Iterator[Run]:
    of_table = choice.seeds_of(table)
    for row in table.rows:
        if choice.rows and row.label not in choice.rows:
            continue
        for setting in table.settings_of(row):
            if choice.settings and setting not in choice.settings:
                continue
            cell = at_hand(list(alternatives(table, row, setting, choice.quick)))
            found = dict(zip(table.seeds, keys.of(cell, table.seeds), strict=True))  # first, as it tells what is wrong in a row
            lacks, texts, vectors = lacking(cell), "", None
            try:
                texts, vectors = ("", None) if lacks else (fingerprint(cell), vector_files(cell))
            except QaexpError as error:
                lacks = " ".join(line.strip() for line in str(error).splitlines()[:2])
            entries = {seed: ledger.find(key, partial(_is_over, texts, vectors)) for seed, key in found.items()}
            first = next((entry for entry in entries.values() if entry), None)
            for seed in of_table:
                if first is None or first.random or entries[seed]:  # where a seed makes no difference, any one is all
                    yield Run(cell, seed, found[seed].whole, texts, entries[seed], lacks)


def _is_over(fingerprint: str, vector_files: Sequence[str] | None, entry: Entry) -> bool:
    """Whether a run is over these data; of data that are not here, any run."""
    return not fingerprint or is_over(entry.data, fingerprint, vector_files)


class Past(NamedTuple):
    """What a run took, in seconds."""

    overrides: frozenset[str]
    epochs: int
    epoch: float
    """Dev included."""
    test: float
    other: float = 0.0
    started: str = ""
    trained: bool = True
    gpu: bool = False

    @classmethod
    def of(cls, entry: Entry) -> "Past":
        test, epochs = entry.seconds["test"], len(entry.history)
        other = max(0.0, entry.seconds["total"] - _fit(entry) - test)
        return cls(
            frozenset(split_options(entry.command)),
            epochs,
            _an_epoch(entry),
            test,
            other,
            entry.started,
            entry.trained,
            bool(entry.hardware["gpu"]),
        )


def _fit(run: Entry | RunRecord) -> float:
    """Some early records of resumed runs have in `fit` and `total` the last process alone, and all of them in `steps`."""
    return max(run.seconds.get("fit", 0.0), run.seconds.get("steps", 0.0))


def _an_epoch(run: Entry | RunRecord) -> float:
    return _fit(run) / len(run.history) if run.history else 0.0


@dataclass(frozen=True)
class Times:
    """Seconds that runs took before; those where nothing was trained stand for their own model alone. Where there is a GPU, those on
    one count if there are any, else those without; and the other way round.
    """

    known: Sequence[Past]
    gpu: bool = False

    @classmethod
    def of(cls, ledger: Ledger) -> "Times":
        return cls([Past.of(entry) for entry in ledger.entries], gpu=bool(hardware()["gpu"]))

    def expected(self, run: Run) -> float | None:
        """So many epochs as those on its data set that are most like it had on average, by the share of overrides in common, at the pace
        of the newest of them; None where none was run.
        """
        return self.left(run, None)

    def left(self, run: Run, begun: RunRecord | None) -> float | None:
        """The same at the pace of an interrupted run's own epochs, without what it has taken so far. Its test is still to come."""
        alike = self._most_like(run)
        if not alike:
            return None
        newest = max(alike, key=lambda past: past.started)
        pace, taken = (_an_epoch(begun), begun.seconds.get("total", 0.0)) if begun else (0.0, 0.0)
        training = mean(past.epochs for past in alike) * (pace or newest.epoch) + newest.other
        return newest.test + max(0.0, training - taken)

    def _most_like(self, run: Run) -> list[Past]:
        wanted = frozenset(run.cell.overrides)
        same_data = [past for past in self.known if f"dataset={run.cell.dataset}" in past.overrides]
        model = {override for override in wanted if override.startswith("model=")}
        known = [past for past in same_data if past.trained or model <= past.overrides]
        known = [past for past in known if past.gpu == self.gpu] or known
        shares = [len(wanted & past.overrides) / len(wanted | past.overrides) for past in known]
        return [past for past, share in zip(known, shares, strict=True) if share == max(shares)]
