"""`make learn`: trains every named model briefly on real data, and says which learn more than the baselines know.

qaexp learn [MODEL ...] [--csv results/learn.csv]
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from qaexp.cli.command import exit_code
from qaexp.logs import silence_libraries
from qaexp.reproduction.learning import Plan, compare
from qaexp.runs.folder import RESULTS, RUNS


def main(arguments: Sequence[str]) -> int:
    """The exit status: 0, 1 where a model failed or is not above a baseline, 2 for a mistake of the user, 130 after Ctrl-C."""
    plan = Plan.load()
    parser = argparse.ArgumentParser(
        prog="qaexp learn",
        description=f"Train named models for {plan.max_epochs} epochs on {' and '.join(plan.datasets)}, and compare them with "
        f"{', '.join(plan.baselines)}. Finished runs are kept: the same command resumes after an interruption.",
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help="choices of model= (default: all)")
    parser.add_argument(
        "--csv",
        type=Path,
        default=RESULTS / "learn.csv",
        help="dev metrics by epoch; what it has of other models stays (default: %(default)s)",
    )
    parser.add_argument("--runs", type=Path, default=RUNS / "learn", help="where the runs are kept (default: %(default)s)")
    options = parser.parse_args(arguments)
    silence_libraries()
    return exit_code(lambda: _compare(plan, options), "the same command resumes")


def _compare(plan: Plan, options: argparse.Namespace) -> int:
    """Print the verdicts; 1 where a model failed or is not above a baseline."""
    table, failed = compare(plan, options.models, options.csv, options.runs)
    sys.stdout.write(table.to_string(index=False) + "\n")
    return int(bool(failed) or bool((table["not above"] != "").any()))
