"""`qaexp site`, and `make site`: the results as static pages."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from qaexp.cli.command import print_lines
from qaexp.runs.folder import RESULTS


def main(arguments: Sequence[str]) -> int:
    """The exit status: 0, or 2 where there are no results."""
    parser = argparse.ArgumentParser(
        prog="qaexp site",
        description="Write the results as static pages: every table and figure beside the paper's, claims, leaderboards, and a page for "
        "each run. They need no server. Reads the tables and the ledger alone; neither data nor runs are needed.",
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of tables and ledger (default: %(default)s)")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="where to write the pages (default: _site in the folder of results)")
    options = parser.parse_args(arguments)
    return print_lines(lambda: [_build(options)])


def _build(options: argparse.Namespace) -> Path:
    from qaexp.reproduction.site.build import build  # a second, which --help need not wait for

    return build(options.results, options.to or options.results / "_site")
