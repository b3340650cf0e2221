"""Offline W&B runs that wait to be uploaded, and their upload."""

import netrc
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlparse

from filelock import FileLock, Timeout

from qaexp.errors import ConfigError, QaexpError, plural

OPEN_LOCK = "open.lock"
"""In the folder of a W&B run: locked by the process that logs to it."""


def has_key() -> bool:
    """Whether W&B can log in without asking: there is a key in the environment or in ~/.netrc."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    host = urlparse(os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai")).hostname or ""
    try:
        return netrc.netrc(os.environ.get("NETRC")).authenticators(host) is not None
    except (OSError, netrc.NetrcParseError):
        return False


def offline_runs(folder: Path) -> list[Path]:
    """The folders of all offline W&B runs below a folder, oldest first."""
    return sorted((path.parent for path in folder.rglob("offline-run-*/run-*.wandb")), key=lambda path: path.name)


def pending(folder: Path) -> list[Path]:
    """The offline runs that are not uploaded yet, oldest first. Runs that are still being logged to are left out.

    A resumed run is two of them with the same id; W&B appends the second to the first.

    Raises:
        ConfigError: there is no such folder.
    """
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {folder}; name the one that holds the runs")
    return [run for run in offline_runs(folder) if not list(run.glob("*.wandb.synced")) and not _is_open(run)]


def _is_open(run: Path) -> bool:
    """Whether a process logs to the run. The lock of a killed process is free."""
    if not (run / OPEN_LOCK).exists():
        return False
    try:
        with FileLock(run / OPEN_LOCK, blocking=False):
            return False
    except Timeout:
        return True


def sync(folder: Path) -> str:
    """Upload all pending runs; returns a sentence that says what was done.

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
    environment = {name: value for name, value in os.environ.items() if name != "WANDB_MODE"}  # it may be `offline`
    environment["WANDB_DIR"] = str(folder)  # W&B writes its log there
    done = subprocess.run([sys.executable, "-m", "wandb", "sync", *map(str, waiting)], env=environment, check=False)
    left = [run for run in pending(folder) if run in waiting]
    if done.returncode or left:
        raise QaexpError(
            f"W&B took {len(waiting) - len(left)} of {_count(waiting)}; its messages above say why, and `qaexp sync` tries the rest again"
        )
    return f"{_count(waiting)} uploaded"


def _count(runs: Sequence[Path]) -> str:
    return plural(len(runs), "W&B run")
