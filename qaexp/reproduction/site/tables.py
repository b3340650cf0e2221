"""What the page of a table shows, read from its committed CSV and the ledger. Nothing is composed, so that the site is built in seconds."""

import csv
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from qaexp.errors import MissingDataError
from qaexp.explain.names import data_set_in_words
from qaexp.reproduction.ledger import Entry
from qaexp.reproduction.measured import STATUSES, of_each_setting
from qaexp.reproduction.page import LETTERS
from qaexp.reproduction.spec import Column, Figure, Row, Table, Tuning

FIELD_PAPER = "field"
"""The folder of tables that no paper prints: a leaderboard."""


@dataclass(frozen=True)
class SeedValue:
    """The number of one seed, and the page of its record."""

    seed: int
    number: str
    record: str


@dataclass(frozen=True)
class Number:
    """A table's number: ours, the paper's, and the records that ours was computed from."""

    column: str
    ours: str = ""
    half: str = ""
    """Half the width of the 95% interval; empty for one seed or an exact number."""
    paper: str = ""
    verdict: str = ""
    status: str = ""
    command: str = ""
    seeds: Sequence[SeedValue] = ()

    @property
    def verdict_word(self) -> str:
        return self.verdict.partition(":")[0]

    @property
    def why(self) -> str:
        return self.verdict.partition(": ")[2]


@dataclass(frozen=True)
class Line:
    """A row of a table."""

    label: str
    numbers: Sequence[Number]
    status: str
    best: str = ""
    """The best value in words; tunings only."""
    rank: int | None = None

    @property
    def measured(self) -> bool:
        return any(number.ours for number in self.numbers)


@dataclass(frozen=True)
class Shown:
    """A table or figure with the lines of its CSV."""

    table: Table
    lines: Sequence[Line] = ()
    picture: bool = False
    """Whether `results/` has its picture."""
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def title(self) -> str:
        if not isinstance(self.table, Tuning):
            return self.table.title
        return f"{self.table.paper}, tuning on {data_set_in_words(self.table.name.partition('_')[2])}"

    @property
    def page(self) -> str:
        return f"{self.table.paper}/{self.table.name}.html"

    @property
    def leaderboard(self) -> bool:
        return self.table.paper == FIELD_PAPER and not isinstance(self.table, (Figure, Tuning))

    @property
    def ranked_by(self) -> str:
        """The column by which a leaderboard is sorted; empty for other tables."""
        names = list(self.table.columns)
        return "" if not self.leaderboard else "MAP" if "MAP" in names else names[0]

    @property
    def intervals(self) -> bool:
        return any(number.half for line in self.lines for number in line.numbers)

    @property
    def is_tuning(self) -> bool:
        return isinstance(self.table, Tuning)

    @property
    def make(self) -> str:
        """The command that makes it."""
        return f"make reproduce-{'tuning' if self.is_tuning else self.table.name} PAPER={self.table.paper}"

    @cached_property
    def reasons(self) -> dict[str, str]:
        """Why numbers cannot be compared, with a letter each."""
        parts = dict.fromkeys(part for line in self.lines for number in line.numbers for part in number.why.split("; ") if part)
        return dict(zip(parts, LETTERS, strict=False))


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_table(table: Table, results: Path, records: Mapping[str, Entry]) -> Shown:
    """A table with the numbers of its CSV. If there is no CSV, it has only what its file in `experiments/` says.

    `records` maps the `file_key` of each entry to the entry.

    Raises:
        MissingDataError: the CSV lacks a column that the table has now.
    """
    path = results / table.paper / f"{table.name}.csv"
    drawn = path.with_suffix(".svg").is_file()
    if not path.is_file():
        return Shown(table, picture=drawn)
    rows = read_csv(path)
    if isinstance(table, Figure):  # a line for each point
        of_rows = {row.get(table.label, ""): row["status"] for row in rows}
        return Shown(table, picture=drawn, counts=_ordered(Counter(of_rows.values())))
    if rows and (lacking := [name for name in (table.label, *table.columns) if name not in rows[0]]):
        raise MissingDataError(f"{path} is older than its table: it has no column {lacking[0]!r}; `make tables` writes it again", [path])
    by_label = {row.label: row for row in table.rows}
    rows = [row for row in rows if row[table.label] in by_label]
    lines = [_line(table, by_label[row[table.label]], row, records) for row in rows]
    counts = Counter(status for row in rows for status in _statuses(table, by_label[row[table.label]], row))
    shown = Shown(table, lines, drawn, _ordered(counts))
    return replace(shown, lines=_ranked(shown)) if shown.leaderboard else shown


def _ordered(counts: Mapping[str, int]) -> dict[str, int]:
    return {status: counts[status] for status in STATUSES if counts.get(status)}


def _statuses(table: Table, row: Row, line: Mapping[str, str]) -> Sequence[str]:
    """The status of each of the row's cells."""
    return list(of_each_setting(line["status"], table.settings_of(row)).values()) or [line["status"]]


def _line(table: Table, row: Row, line: Mapping[str, str], records: Mapping[str, Entry]) -> Line:
    settings = table.settings_of(row)
    parts = {name: of_each_setting(line.get(name, ""), settings) for name in ("status", "command", "records")}
    verdicts = {} if isinstance(table, Tuning) else of_each_setting(line["verdict"], list(table.columns))
    numbers = []
    for (name, column), printed in zip(table.columns.items(), row.published, strict=True):
        setting = table.setting_of(row, column)
        entries = [records[key] for key in parts["records"].get(setting, "").split() if key in records]
        numbers.append(
            Number(
                column=name,
                ours=line[name],
                half=line[f"{name} ci95"],
                paper=line[f"{name} (paper)"],
                verdict=verdicts.get(name, "") if line[name] and isinstance(printed, (int, float)) else "",
                status=parts["status"].get(setting, line["status"]),
                command=parts["command"].get(setting, ""),
                seeds=_seeds(table, column, entries),
            )
        )
    best = line["verdict"] if isinstance(table, Tuning) else ""
    return Line(row.label, numbers, line["status"], best)


def _seeds(table: Table, column: Column, entries: Sequence[Entry]) -> list[SeedValue]:
    found = []
    for entry in entries:
        metric = table.metric_of(column, entry.choice("dataset"))
        value = entry.value(metric) if metric else None
        number = "" if value is None or math.isnan(value) else table.shown(column, value)
        found.append(SeedValue(entry.seed, number, record_page(entry)))
    return found


def record_page(entry: Entry) -> str:
    return f"records/{entry.file_key}.html"


def _ranked(shown: Shown) -> list[Line]:
    """The best first; what has no number last."""
    by = list(shown.table.columns).index(shown.ranked_by)
    first = sorted((line for line in shown.lines if line.numbers[by].ours), key=lambda line: -float(line.numbers[by].ours))
    rest = [line for line in shown.lines if not line.numbers[by].ours]
    return [*(replace(line, rank=rank) for rank, line in enumerate(first, 1)), *rest]
