"""`qaexp sync`: upload every W&B run that is still only on this machine.

qaexp sync
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from qaexp.cli.command import print_lines
from qaexp.runs.folder import RUNS
from qaexp.tracking.sync import pending, sync


def main(arguments: Sequence[str]) -> int:
    """The exit status: 0, or 2 where there is no key or W&B refuses."""
    parser = argparse.ArgumentParser(prog="qaexp sync", description="Upload every W&B run that is still only on this machine.")
    parser.add_argument("folder", type=Path, nargs="?", default=RUNS, help="where runs are (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="upload nothing; print the folders of the runs that wait")
    options = parser.parse_args(arguments)
    return print_lines(lambda: pending(options.folder) if options.list else [sync(options.folder)])
