"""The papers' tables of data statistics (`kind: statistics`), measured on the data on disk."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pandas as pd
from hydra.utils import instantiate
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from qaexp.config import compose
from qaexp.data.fetch.remotes import data_root
from qaexp.data.files import locate
from qaexp.errors import MissingDataError
from qaexp.files import atomic_write_text, csv_text, name_another_place
from qaexp.reproduction.cell_state import MEASURED, MISSING, PARTIAL
from qaexp.reproduction.content import EXPERIMENTS
from qaexp.reproduction.counts import FILE_MEASURES, MEASURES, Count
from qaexp.reproduction.spec import PaperTable, read_all

if TYPE_CHECKING:  # it needs torch, which writing tables does not
    from qaexp.data.module import RankingDataModule

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Column:
    """`measure` over the splits `of` together, without those that a data set lacks; blank if it lacks all."""

    measure: str
    of: Sequence[str] = ()


@dataclass(frozen=True)
class Row:
    """A data set, or one of its files, and what the paper prints of it; null if it prints nothing."""

    label: str
    published: Sequence[str | int | float | None]
    datasets: Sequence[str] = ()
    """Choices of `dataset=`; the first one on disk is measured."""
    overrides: Sequence[str] = ()
    file: str = ""
    """A file in the data folder, in place of `datasets`."""
    read_by: str = ""
    """The name in FILE_MEASURES of the function that reads `file`."""


@dataclass(frozen=True)
class StatisticsTable(PaperTable):
    """A table of a paper. Rows are data sets and columns statistics, whichever way the paper prints it."""

    kind: ClassVar[str] = "statistics"
    described: ClassVar[str] = "a table of statistics"
    column_type: ClassVar[type] = Column
    row_type: ClassVar[type] = Row

    paper: str
    name: str
    source: str
    questions: str
    """`as read`: all in the files; `as used`: only those that training or ranking can use."""
    columns: Mapping[str, Column]
    rows: Sequence[Row]
    notes: Sequence[str] = ()

    def fault(self) -> str:
        if self.questions not in ("as read", "as used"):
            return f"questions is {self.questions!r}; write `as read` or `as used`"
        for row in self.rows:
            if bool(row.datasets) == bool(row.file) or (row.file and row.read_by not in FILE_MEASURES):
                return f"row {row.label!r} needs datasets, or a file and read_by, one of {', '.join(FILE_MEASURES)}"
            if unknown := [column.measure for column in self.columns.values() if row.datasets and column.measure not in MEASURES]:
                return f"{unknown[0]} of row {row.label!r} is not measured; what is: {', '.join(MEASURES)}"
        return ""


@dataclass(frozen=True)
class MeasuredRow:
    """A row with our figures; None if there is none, or if the paper prints none."""

    row: Row
    status: str
    measured_on: str
    """The overrides that name the data set, or the file."""
    figures: Sequence[Count | None]


def tables(folder: Path = EXPERIMENTS) -> list[StatisticsTable]:
    """Every paper's tables of data statistics; raises as `read_all` does."""
    return read_all(StatisticsTable, folder)


def measure(table: StatisticsTable, data_dir: str | None) -> list[MeasuredRow]:
    """Our figures for every row."""
    return [_from_file(table, row, data_root(data_dir)) if row.file else _from_dataset(table, row, data_dir) for row in table.rows]


def _from_file(table: StatisticsTable, row: Row, root: Path) -> MeasuredRow:
    try:
        [path] = locate([root / row.file], "")
    except MissingDataError:
        return _missing(row)
    found = FILE_MEASURES[row.read_by](path)
    return MeasuredRow(row, MEASURED, row.file, _printed(row, [found.get(column.measure) for column in table.columns.values()]))


def _from_dataset(table: StatisticsTable, row: Row, data_dir: str | None) -> MeasuredRow:
    for name in row.datasets:
        choice = [f"dataset={name}", *row.overrides]
        cfg = compose([*choice, "dataset/vectors=random"])
        cfg.data_dir = str(data_root(data_dir))
        data: RankingDataModule = instantiate(cfg.dataset)
        try:
            splits = data.corpus.splits if table.questions == "as read" else data.splits
        except MissingDataError:
            continue
        figures: list[Count | None] = []
        for column in table.columns.values():
            of = [splits[split] for split in column.of if split in splits]
            figures.append(MEASURES[column.measure](data.corpus.texts, of) if of else None)
        return MeasuredRow(row, PARTIAL if data.partial_data else MEASURED, " ".join(choice), _printed(row, figures))
    return _missing(row)


def _missing(row: Row) -> MeasuredRow:
    return MeasuredRow(row, MISSING, "", [None] * len(row.published))


def _printed(row: Row, figures: Sequence[Count | None]) -> list[Count | None]:
    return [None if published is None else figure for published, figure in zip(row.published, figures, strict=True)]


def show(table: StatisticsTable, rows: Sequence[MeasuredRow], console: Console) -> None:
    """Prints a line for each statistic and a column for each data set, with the printed figure in brackets."""
    shown = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("", *(row.row.label for row in rows)):
        shown.add_column(escape(heading), justify="right" if heading else "left")
    for place, name in enumerate(table.columns):
        shown.add_row(escape(name), *(cell_of(row, place) for row in rows))
    shown.add_row("status", *(row.status for row in rows))
    title = f"{table.title} ({table.source}), questions {table.questions}: ours (paper)"
    console.print(title, highlight=False, markup=False, soft_wrap=True)
    console.print(shown)
    for row in rows:
        if row.status == PARTIAL:
            line = f"{row.row.label}: {PARTIAL}, counted on {row.measured_on}; not a result on {row.row.label}"
            console.print(line, highlight=False, markup=False, soft_wrap=True)


def cell_of(row: MeasuredRow, place: int) -> str:
    """Our figure in the column at `place`, and the printed one in brackets; empty if none is printed."""
    figure, published = row.figures[place], row.row.published[place]
    if published is None:
        return ""
    ours = "–" if figure is None else f"{figure:,.1f}" if isinstance(figure, float) else f"{figure:,}"
    return f"{ours} ({published})"


def frame(table: StatisticsTable, rows: Sequence[MeasuredRow]) -> pd.DataFrame:
    """A line for each data set: our figure and the printed one of every statistic, and its status."""
    lines = []
    for row in rows:
        line = {"data set": row.row.label}
        for name, figure, published in zip(table.columns, row.figures, row.row.published, strict=True):
            line[name] = "" if figure is None else f"{figure:.3f}" if isinstance(figure, float) else str(figure)
            line[f"{name} (paper)"] = "" if published is None else str(published)
        lines.append({**line, "status": row.status, "measured on": row.measured_on})
    return pd.DataFrame(lines)


def describe_all(data_dir: str | None, csv_dir: str | None) -> None:
    """Print every table, and write `<paper>/table<N>.csv` below `csv_dir` if given.

    Raises:
        BadDataError: files that are there are not as published.
        OutputError: a table cannot be written.
    """
    for table in tables():
        rows = measure(table, data_dir)
        show(table, rows, Console())
        if csv_dir is not None:
            path = Path(csv_dir).expanduser() / table.paper / f"{table.name}.csv"
            atomic_write_text(path, csv_text(frame(table, rows)), name_another_place("--csv DIR"))
            log.info("%s", path)
