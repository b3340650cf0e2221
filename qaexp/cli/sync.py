"""`make sync`: upload every W&B run that is still only on this machine.

python -m qaexp.sync results/runs
"""

import argparse
import logging
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from qaexp.cli.command import print_lines
from qaexp.config import CONF
from qaexp.errors import ConfigError, QaexpError
from qaexp.tracking.offline import offline_runs, read_offline
from qaexp.tracking.wandb_key import has_key

QUIET_SECONDS = 600
"""A run without an end whose log has not grown for so long was killed: W&B writes the machine's load down every few seconds."""


def pending(folder: Path) -> list[Path]:
    """The offline runs anywhere below a folder that have not been uploaded, oldest first, but for those that still go on.

    A resumed run is two of them, with one id; W&B puts the second behind the first.

    Raises:
        ConfigError: there is no such folder.
    """
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {folder}; name the one that holds the runs")
    return [run for run in offline_runs(folder) if not list(run.glob("*.wandb.synced")) and not _goes_on(run)]


def _goes_on(run: Path) -> bool:
    [path] = run.glob("run-*.wandb")
    return time.time() - path.stat().st_mtime < QUIET_SECONDS and read_offline(run).exit_code is None


def sync(folder: Path) -> str:
    """Upload what is pending; returns a sentence on what was done.

    Raises:
        ConfigError: there is no such folder, or no key to upload with.
        QaexpError: W&B did not take everything.
    """
    waiting = pending(folder)
    if not waiting:
        return f"{folder}: no W&B run is waiting to be uploaded"
    if not has_key():
        raise ConfigError(
            f"{_count(waiting)} in {folder} can be uploaded once W&B has a key: set WANDB_API_KEY or run `wandb login`, then try again"
        )
    environment = {name: value for name, value in os.environ.items() if name != "WANDB_MODE"}  # which may say offline
    environment["WANDB_DIR"] = str(folder)  # for its log
    done = subprocess.run([sys.executable, "-m", "wandb", "sync", *map(str, waiting)], env=environment, check=False)
    left = pending(folder)
    if done.returncode or left:
        raise QaexpError(
            f"W&B took {len(waiting) - len(left)} of {_count(waiting)}; its messages above say why, and `make sync` tries the rest again"
        )
    return f"{_count(waiting)} uploaded"


def _count(runs: Sequence[Path]) -> str:
    return f"{len(runs)} W&B run{'s' if len(runs) != 1 else ''}"


def main(arguments: Sequence[str]) -> int:
    """The exit status: 0, or 2 where there is no key or W&B refuses."""
    parser = argparse.ArgumentParser(prog="python -m qaexp.sync", description="Upload every W&B run that is still only on this machine.")
    parser.add_argument(
        "folder", type=Path, nargs="?", default=CONF.parent / "results" / "runs", help="where runs are (default: %(default)s)"
    )
    parser.add_argument("--list", action="store_true", help="upload nothing; print the folders of the runs that wait")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    return print_lines(lambda: pending(options.folder) if options.list else [sync(options.folder)])
