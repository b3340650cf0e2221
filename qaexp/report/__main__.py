"""Pictures and pages of what was measured, made locally.

python -m qaexp.report sweep results/runs/sweeps/ctrn.grid
"""

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from qaexp.terminal.exit_status import exit_status


def main(arguments: Sequence[str]) -> int:
    """The exit status: 0, or 2 for a mistake of the user."""
    parser = argparse.ArgumentParser(prog="python -m qaexp.report", description=(__doc__ or "").partition("\n")[0])
    kinds = parser.add_subparsers(dest="kind", required=True)
    sweep = kinds.add_parser("sweep", help="parallel coordinates and the effect of each hyper-parameter on the dev score")
    sweep.add_argument("folder", type=Path, help="a sweep's folder, as the sweep has named it")
    sweep.add_argument("--to", type=Path, help="where the pictures go (default: the folder itself)")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    from qaexp.report.sweep import draw_sweep

    return exit_status(lambda: draw_sweep(options.folder, options.to or options.folder))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
