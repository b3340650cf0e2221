"""Records of many runs to one table: a row for each configuration, mean ± deviation over its seeds.

python -m qaexp.results.table results/runs --split test --csv results/table.csv
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from qaexp.cli.command import print_lines
from qaexp.files import atomic_write_text, name_another_place
from qaexp.runs.table import by_row, markdown, read_records, run_table


def main(arguments: Sequence[str]) -> int:
    """The exit status: 0, or 2 when there is nothing to tabulate."""
    parser = argparse.ArgumentParser(
        prog="python -m qaexp.results.table", description="Tabulate finished runs; mean ± deviation over seeds."
    )
    parser.add_argument("folder", type=Path, help="where to look for runs, at any depth")
    parser.add_argument("--split", default="test", help="dev, test, test1 ... (default: %(default)s)")
    parser.add_argument("--csv", type=Path, help="write one line a run here as well")
    options = parser.parse_args(arguments)
    return print_lines(lambda: [_tabulated(options)])


def _tabulated(options: argparse.Namespace) -> str:
    runs = run_table(read_records(options.folder), options.split)
    if options.csv:
        atomic_write_text(options.csv, runs.to_csv(index=False), name_another_place("--csv FILE"))
    return markdown(by_row(runs))
