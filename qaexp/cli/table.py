"""Tabulates runs: a row for each configuration, with mean ± standard deviation over its seeds.

qaexp table --split test --csv results/table.csv
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from qaexp.cli.command import print_lines
from qaexp.files import atomic_write_text, csv_text, name_another_place
from qaexp.runs.folder import RUNS
from qaexp.runs.table import by_row, markdown, read_records, run_table


def main(arguments: Sequence[str]) -> int:
    """Returns the exit code: 0, or 2 when there are no runs."""
    parser = argparse.ArgumentParser(prog="qaexp table", description="Tabulate finished runs, with mean ± standard deviation over seeds.")
    parser.add_argument("folder", type=Path, nargs="?", default=RUNS, help="folder of runs, searched recursively (default: %(default)s)")
    parser.add_argument("--split", default="test", help="dev, test, test1 ... (default: %(default)s)")
    parser.add_argument("--csv", type=Path, help="also write one line per run to this file")
    options = parser.parse_args(arguments)
    return print_lines(lambda: [_tabulated(options)])


def _tabulated(options: argparse.Namespace) -> str:
    runs = run_table(read_records(options.folder), options.split)
    if options.csv:
        atomic_write_text(options.csv, csv_text(runs), name_another_place("--csv FILE"))
    return markdown(by_row(runs))
