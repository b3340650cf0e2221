"""What a table still needs: its runs in order, those that are impossible and why, and how long the rest will take."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean

from qaexp.errors import QaexpError
from qaexp.results.ledger import Entry, Ledger
from qaexp.results.record import RunRecord
from qaexp.tables.cells import Cell, Keys, alternatives, fingerprint, lacking
from qaexp.tables.spec import Table


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
        return f"{self.cell.table.title}: {self.cell.table.named(self.cell.row.label, self.cell.setting)}, seed {self.seed}"


@dataclass(frozen=True)
class Plan:
    """The runs of some tables: all first seeds before all second ones, so that an interrupted table is of use."""

    runs: Sequence[Run]

    @property
    def done(self) -> list[Run]:
        return [run for run in self.runs if run.entry]

    @property
    def impossible(self) -> list[Run]:
        return [run for run in self.runs if not run.entry and run.lacking]

    @property
    def to_do(self) -> list[Run]:
        """Each key once, whatever number of tables show it."""
        return list({run.key: run for run in reversed(self.runs) if not run.entry and not run.lacking}.values())[::-1]


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
    return Plan(sorted(runs, key=lambda run: run.seed))


def _runs(table: Table, ledger: Ledger, keys: Keys, choice: Choice) -> Iterator[Run]:
    of_table = choice.seeds_of(table)
    for row in table.rows:
        if choice.rows and row.label not in choice.rows:
            continue
        for setting in table.settings_of(row):
            if choice.settings and setting not in choice.settings:
                continue
            cells = list(alternatives(table, row, setting, choice.quick))
            cell = next((cell for cell in cells if not lacking(cell)), cells[0])
            lacks, data = lacking(cell), ""
            try:
                data = "" if lacks else fingerprint(cell)
            except QaexpError as error:
                lacks = str(error).splitlines()[0]
            found = dict(zip(table.seeds, keys.of(cell, table.seeds), strict=True))
            entries = {seed: ledger.find(key, data) for seed, key in found.items()}
            first = next((entry for entry in entries.values() if entry), None)
            for seed in of_table:
                if first is None or first.trained or entries[seed]:  # where a seed makes no difference, any one is all
                    yield Run(cell, seed, found[seed], data, entries[seed], lacks)


@dataclass(frozen=True)
class Times:
    """Seconds that runs took before, of those that learned something."""

    known: Sequence[tuple[frozenset[str], float]]
    """Overrides, seconds."""

    @classmethod
    def of(cls, ledger: Ledger) -> "Times":
        return cls([(frozenset(entry.command.split()), entry.seconds["total"]) for entry in ledger.entries if entry.trained])

    def expected(self, run: Run) -> float | None:
        """The mean of those on its data set that are most like it, by the share of overrides in common; None where none was run."""
        wanted = frozenset(run.cell.overrides)
        same_data = [(given, seconds) for given, seconds in self.known if f"dataset={run.cell.dataset}" in given]
        alike = [(len(wanted & given) / len(wanted | given), seconds) for given, seconds in same_data]
        nearest = max((share for share, _ in alike), default=None)
        return mean(seconds for share, seconds in alike if share == nearest) if alike else None

    def left(self, run: Run, begun: RunRecord | None) -> float | None:
        """The same, without what an interrupted run has taken so far."""
        expected = self.expected(run)
        return max(0.0, expected - begun.seconds.get("total", 0.0)) if expected and begun else expected
