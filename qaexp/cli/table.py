"""Tabulates runs: a row for each configuration, with mean ± standard deviation over its seeds.

qaexp table --split test --csv results/table.csv
"""

import argparse
from collections.abc import Sequence
from math import inf
from pathlib import Path

import pandas as pd

from qaexp.cli.command import print_lines
from qaexp.errors import require_among
from qaexp.evaluation.measures import is_measure
from qaexp.files import atomic_write_text, csv_text, name_another_place
from qaexp.runs.folder import RUNS
from qaexp.runs.table import by_row, markdown, read_records, run_table


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
    return [markdown(rows), *([f"a line for each run is in {options.csv}"] if options.csv else [])]


def _sorted(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Sort the rows by a column: measures by falling mean, texts and counts in rising order."""
    named = {str(column).lower(): str(column) for column in rows.columns}
    require_among("--sort", [name.lower()], list(named))
    column: list[str] = [str(value) for value in rows[named[name.lower()]]]
    means = [_mean(value) for value in column]
    if is_measure(named[name.lower()]):
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
