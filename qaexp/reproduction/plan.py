"""The runs that tables need: which are done, to do or impossible (and why), and how long they will take."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from statistics import fmean
from typing import NamedTuple

from qaexp.errors import QaexpError
from qaexp.reproduction.cells import Cell, Keys, alternatives, at_hand, fingerprint, lacking, vector_files, written_fingerprint
from qaexp.reproduction.ledger import Entry, Ledger
from qaexp.reproduction.spec import Table
from qaexp.runs.provenance import hardware
from qaexp.runs.record import RunRecord
from qaexp.runs.sources import Sources


@dataclass(frozen=True)
class Run:
    """One seed of a cell."""

    cell: Cell
    seed: int
    key: str
    fingerprint: str
    """Fingerprint of the data on disk; empty if there are none."""
    entry: Entry | None
    """Its entry in the ledger."""
    lacking: str
    """What is missing on disk; empty if it can run."""

    @property
    def title(self) -> str:
        return f"{self.cell.title}, seed {self.seed}"


@dataclass(frozen=True)
class Plan:
    """The runs of some tables: all first seeds before all second ones, so that an interrupted table is already useful."""

    runs: Sequence[Run]

    published_only: Sequence[str] = ()
    """For each row that is published only, its table."""

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
    """Each key once, even if several tables show it."""
    first: dict[str, Run] = {}
    for run in runs:
        first.setdefault(run.key, run)
    return list(first.values())


@dataclass(frozen=True)
class Choice:
    """Limits a plan to these seeds, rows and settings; an empty list means all."""

    seeds: Sequence[int] = ()
    rows: Sequence[str] = ()
    settings: Sequence[str] = ()
    quick: bool = False

    def seeds_of(self, table: Table) -> list[int]:
        return list(table.seeds[:1]) if self.quick else [seed for seed in table.seeds if not self.seeds or seed in self.seeds]


def plan(tables: Sequence[Table], ledger: Ledger, keys: Keys, choice: Choice) -> Plan:
    """The chosen runs of some tables, done or not."""
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
            found = dict(zip(table.seeds, keys.of(cell, table.seeds), strict=True))  # first, as it reports mistakes in a row
            lacks, now = lacking(cell), None
            entries = {seed: ledger.find(key) for seed, key in found.items()}
            try:
                if not lacks:
                    now = _sources(cell)
                    entries = {seed: ledger.find(key, partial(_has_read, now)) for seed, key in found.items()}
                    if cell.teacher:
                        entries = _of_present_teachers(entries, cell.teacher, ledger, keys)
            except QaexpError as error:
                lacks = " ".join(line.strip() for line in str(error).splitlines()[:2])
            first = next((entry for entry in entries.values() if entry), None)
            for seed in of_table:
                if first is None or first.random or entries[seed]:  # if a seed makes no difference, one run is enough
                    yield Run(cell, seed, found[seed].whole, now.fingerprint if now else "", entries[seed], lacks)


def _sources(cell: Cell) -> Sources:
    return Sources(fingerprint(cell), vector_files(cell), partial(written_fingerprint, cell), _revision_here)


def _has_read(now: Sources, entry: Entry) -> bool:
    return now.match(entry.data, {})


def _of_present_teachers(entries: Mapping[int, Entry | None], teacher: Cell, ledger: Ledger, keys: Keys) -> dict[int, Entry | None]:
    """Maps each seed to the student's entry. None if the teacher has no run on the present files, or was trained after the student."""
    reads_the_same = partial(_has_read, _sources(teacher))
    taught = dict(zip(teacher.table.seeds, keys.of(teacher, teacher.table.seeds), strict=True))
    teachers = {seed: ledger.find(key, reads_the_same) for seed, key in taught.items()}
    return {seed: entry if entry and (by := teachers[seed]) and by.started <= entry.started else None for seed, entry in entries.items()}


@cache
def _revision_here(weights: str) -> str:
    from qaexp.models.pretrained.weights import revision_here  # imports torch, which takes seconds

    return revision_here(weights)


class Past(NamedTuple):
    """The seconds of a past run."""

    overrides: frozenset[str]
    epochs: int
    epoch: float
    """Seconds of an epoch, dev included."""
    test: float
    other: float = 0.0
    started: str = ""
    trained: bool = True
    gpu: bool = False

    @classmethod
    def of(cls, entry: Entry) -> "Past":
        test, epochs = entry.seconds["test"], len(entry.history)
        other = max(0.0, entry.seconds["total"] - entry.seconds.get("fit", 0.0) - test)
        return cls(
            frozenset(entry.options),
            epochs,
            _an_epoch(entry),
            test,
            other,
            entry.started,
            entry.trained,
            bool(entry.hardware["gpu"]),
        )


def _an_epoch(run: Entry | RunRecord) -> float:
    return run.seconds.get("fit", 0.0) / len(run.history) if run.history else 0.0


@dataclass(frozen=True)
class Times:
    """Predicts a run's seconds from those of past runs. A past run without training counts for its own model only. Past runs on
    this machine's kind of device (CPU or GPU) count, or those on the other kind if there are none.
    """

    known: Sequence[Past]
    gpu: bool | None = None
    """Whether this machine has a GPU. None: unknown; torch, which takes seconds to import, is asked if it makes a difference."""

    @classmethod
    def of(cls, ledger: Ledger) -> "Times":
        return cls([Past.of(entry) for entry in ledger.entries])

    def expected(self, run: Run, begun: RunRecord | None = None) -> float | None:
        """The expected seconds of a run, estimated from the most similar past runs on its data set. With `begun`, the record of a run that
        was interrupted, the seconds that are left at the pace of its own epochs.

        The number of epochs is the mean over those past runs, at least one more than the run's patience, and at most its limit. An epoch
        takes as long as in the newest of them.
        Similarity is the share of common overrides. None if no past run has the same data set, and the same part of the training batches
        as an epoch.
        """
        alike = self._most_like(run)
        if not alike:
            return None
        newest = max(alike, key=lambda past: past.started)
        pace, taken = (_an_epoch(begun), begun.seconds.get("total", 0.0)) if begun else (0.0, 0.0)
        usual = fmean(past.epochs for past in alike)
        epochs = _within_limits(run.cell.overrides, usual) if newest.trained else usual
        training = epochs * (pace or newest.epoch) + newest.other
        return newest.test + max(0.0, training - taken)

    def _most_like(self, run: Run) -> list[Past]:
        wanted = frozenset(run.cell.overrides)
        epoch = _part_of_batches(wanted)
        same_data = [
            past for past in self.known if f"dataset={run.cell.dataset}" in past.overrides and _part_of_batches(past.overrides) == epoch
        ]
        model = {override for override in wanted if override.startswith("model=")}
        known = [past for past in same_data if past.trained or model <= past.overrides]
        if len({past.gpu for past in known}) > 1:
            gpu = bool(hardware()["gpu"]) if self.gpu is None else self.gpu
            known = [past for past in known if past.gpu == gpu]
        shares = [len(wanted & past.overrides) / len(wanted | past.overrides) for past in known]
        return [past for past, share in zip(known, shares, strict=True) if share == max(shares)]


def _within_limits(overrides: Sequence[str], epochs: float) -> float:
    """A number of epochs that these options allow: a run that stops early has had more epochs than its patience.

    >>> [_within_limits(["trainer.max_epochs=60", f"patience={patience}"], 20.0) for patience in (60, 30, 8)]
    [60.0, 31.0, 20.0]
    """
    chosen = dict(override.split("=", 1) for override in overrides)
    most, patience = (float(chosen.get(option, 0)) for option in ("trainer.max_epochs", "patience"))
    return min(max(epochs, patience + 1), most) if most > 0 and patience > 0 else epochs


def _part_of_batches(overrides: frozenset[str]) -> set[str]:
    """The options that make an epoch a part of the training batches."""
    return {option for option in overrides if option.startswith(("trainer=", "trainer.limit_train_batches=", "dataset.train_fraction="))}
