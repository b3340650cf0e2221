"""`qaexp report RUN [RUN...] --to PLACE`: the page of a run, or of several side by side."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from qaexp.cli.command import non_negative_int, print_lines


def main(arguments: Sequence[str]) -> int:
    """Returns the exit code: 0, or 2 when the runs cannot be reported."""
    parser = argparse.ArgumentParser(
        prog="qaexp report",
        description="Write a page of finished runs, to open in any browser, without a network: scores with intervals, training curves, and "
        "every question with its candidates as they were ranked, their texts and what the model looked at. For several runs, also where "
        "each is better, and whether that may be chance.",
    )
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="folders of finished runs on the same data")
    where = "a file that ends in .html, or a folder for index.html; a page above 5 MB keeps its parts in a folder beside it"
    parser.add_argument("--to", type=Path, required=True, metavar="PLACE", help=where)
    parser.add_argument("--split", help="the questions to show (default: the first test set)")
    parser.add_argument(
        "--attention",
        type=non_negative_int,
        default=40,
        metavar="COUNT",
        help="how many questions carry what the model looked at: half are the hardest (for several runs, those in which the runs "
        "differ most), the others are spread evenly (default: %(default)s)",
    )
    parser.add_argument("--question", nargs="+", default=[], metavar="ID", help="questions that always carry what the model looked at")
    parser.add_argument("--data", metavar="DIR", help="the data folder (default: that of the first run)")
    options = parser.parse_args(arguments)
    return print_lines(lambda: _write(options))


def _write(options: argparse.Namespace) -> list[Path]:
    from qaexp.explain.report.page import write_report  # needs torch
    from qaexp.explain.run_data import data_of

    data = data_of(options.runs[0], options.data)
    return write_report(options.runs, options.to, data, options.split, options.attention, options.question)
