"""`qaexp reproduce`, and `make reproduce-table4`: makes the runs of the papers' tables and figures, and writes our numbers beside theirs.

qaexp reproduce --table 4 --paper ctrn
qaexp reproduce --figure 8 --paper ggsa
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from qaexp.cli.command import exit_code, int_list, positive_int
from qaexp.runs.folder import RESULTS, RUNS


def main(arguments: Sequence[str]) -> int:
    """The exit status: 0, 1 if a run failed, 2 for a mistake of the user, 130 after Ctrl-C."""
    options = _parser().parse_args(arguments)
    return exit_code(lambda: _reproduce(options), "finished runs are kept; the same command resumes")


LOGGERS = ("csv", "mlflow", "none", "tensorboard", "wandb")
"""Those of conf/logger, named here since Hydra takes a tenth of a second to import, which --help need not wait for."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="qaexp reproduce",
        description="Make the runs that the papers' tables and figures still need, then write the tables and figures, with our numbers "
        "beside the printed ones. Finished runs are kept, an interrupted run is resumed, and several processes may work on the same "
        "tables.",
    )
    parser.add_argument(
        "--table",
        help="number of a table, of every paper unless --paper is given; `tuning`: what a paper tuned on dev; `tuning_trecqa`: the same "
        "on one data set (default: all, unless --figure is given)",
    )
    parser.add_argument("--figure", help="number of a figure (default: all, unless --table is given)")
    parser.add_argument("--paper", help="ap, clstm, ctrn, field, ggsa or rcnn, or a folder of your own in experiments/ (default: all)")
    parser.add_argument("--rows", nargs="+", default=[], metavar="LABEL", help="only these rows, named as in the paper")
    parser.add_argument("--settings", nargs="+", default=[], metavar="NAME", help="only these of the table's settings, such as TRAIN")
    parser.add_argument("--seeds", type=int_list, default=[], help="only these of the table's seeds, such as 1,2")
    parser.add_argument("--quick", action="store_true", help="small runs of one seed, in minutes; written to results/quick/")
    parser.add_argument("--plan", action="store_true", help="only list which runs are done, to do (row by row) and impossible")
    parser.add_argument(
        "--no-run", action="store_true", help="only write tables and figures from the ledger, without training or reading data"
    )
    parser.add_argument(
        "--prune", action="store_true", help="delete ledger entries that no table shows, as their configuration has changed"
    )
    parser.add_argument("--latex", action="store_true", help="also write table<N>.tex (booktabs)")
    parser.add_argument(
        "--jobs",
        type=positive_int,
        default=1,
        metavar="N",
        help="number of runs at a time, each in a process of its own (default: %(default)s)",
    )
    parser.add_argument("--logger", default="none", choices=LOGGERS, help="logger of the runs (default: %(default)s)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of tables and ledger (default: %(default)s)")
    parser.add_argument("--runs", type=Path, default=RUNS / "tables", help="folder of runs (default: %(default)s)")
    return parser


def _reproduce(options: argparse.Namespace) -> int:
    from qaexp.reproduction.reproduction import reproduce  # takes seconds, which --help and mistyped options need not wait for

    return reproduce(options)
