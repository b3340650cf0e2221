"""Tabulates runs: a row for each configuration, with mean ± standard deviation over its seeds.

qaexp table --split test --csv results/table.csv
"""

import argparse
import shutil
import sys
from collections.abc import Sequence
from math import inf
from pathlib import Path

import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from qaexp.cli.command import print_lines
from qaexp.errors import require_among
from qaexp.evaluation.measures import is_measure
from qaexp.files import atomic_write_text, csv_text, name_another_place
from qaexp.runs.folder import RUNS
from qaexp.runs.table import by_row, markdown, read_records, run_table

OPTIONS_WIDTH, BAR = 40, 12
"""In characters: the width at which options wrap, and the width of a bar."""


def main(arguments: Sequence[str]) -> int:
    """Returns the exit code: 0, or 2 when there are no runs."""
    parser = argparse.ArgumentParser(prog="qaexp table", description="Tabulate finished runs, with mean ± standard deviation over seeds.")
    parser.add_argument("folder", type=Path, nargs="?", default=RUNS, help="folder of runs, searched recursively (default: %(default)s)")
    parser.add_argument("--split", default="test", help="dev, test, test1 ... (default: %(default)s)")
    parser.add_argument("--sort", metavar="COLUMN", help="best first by a measure, such as MAP, or in order of another column")
    parser.add_argument("--csv", type=Path, help="also write one line per run to this file")
    options = parser.parse_args(arguments)
    return print_lines(lambda: _tabulated(options))


def _tabulated(options: argparse.Namespace) -> list[str]:
    runs = run_table(read_records(options.folder), options.split)
    rows = by_row(runs)
    if options.sort:
        rows = _sorted(rows, options.sort)
    if options.csv:
        atomic_write_text(options.csv, csv_text(runs), name_another_place("--csv FILE"))
    shown = [_terminal_table(rows, options.sort, shutil.get_terminal_size().columns)] if sys.stdout.isatty() else [markdown(rows)]
    return [*shown, *([f"a line for each run is in {options.csv}"] if options.csv else [])]


def _terminal_table(rows: pd.DataFrame, sort: str | None, width: int) -> str:
    """The rows as wide as the terminal: the least important columns are left out, and the sorted measure, or the first one, has bars."""
    measures = [name for name in rows.columns if is_measure(name)]
    barred = next((name for name in measures if sort and name.lower() == sort.lower()), measures[0] if measures else "")
    widths = {name: max(len(str(value)) for value in (name, *rows[name])) + 2 for name in rows.columns}
    widths["options"] = min(widths["options"], OPTIONS_WIDTH)
    order = ["configuration", "data", "seconds", "questions", *(name for name in measures[::-1] if name != barred)]
    for name in order:
        if name in widths and sum(widths.values()) + BAR > width:
            del widths[name]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, caption="measures in percent", caption_justify="left")
    for name in widths:
        text = name in ("dataset", "data", "model", "options", "configuration")
        table.add_column(name, justify="left" if text else "right", no_wrap=not text, overflow="fold")
        if name == barred:
            table.add_column("", no_wrap=True)
    for row in rows.to_dict("records"):
        cells = []
        for name in widths:
            cells.append(Text(str(row[name])))
            if name == barred:
                cells.append(Text("█" * round((BAR - 2) * (_mean(row[name]) or 0) / 100), style="cyan"))
        table.add_row(*cells)
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        console.print(table)
    return captured.get().rstrip()


def _sorted(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Sort the rows by a column: measures by falling mean, texts and counts in rising order."""
    named = {str(column).lower(): str(column) for column in rows.columns}
    require_among("--sort", [name.lower()], list(named))
    column: list[str] = [str(value) for value in rows[named[name.lower()]]]
    means = [_mean(value) for value in column]
    if is_measure(named[name.lower()].removeprefix("dev ")):
        order = sorted(range(len(column)), key=lambda row: -inf if means[row] is None else means[row] or 0.0, reverse=True)
    elif None in means:
        order = sorted(range(len(column)), key=column.__getitem__)
    else:
        order = sorted(range(len(column)), key=lambda row: means[row] or 0.0)
    return rows.iloc[order]


def _mean(cell: str) -> float | None:
    """
    >>> _mean("55.00 ± 7.07"), _mean("ggsa")
    (55.0, None)
    """
    try:
        return float(cell.partition(" ±")[0])
    except ValueError:
        return None
