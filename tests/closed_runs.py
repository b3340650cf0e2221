"""Offline W&B runs, read back by tests."""

import time
from pathlib import Path

from qaexp.tracking.offline import OfflineRun, offline_runs, read_offline


def closed_runs(folder: Path) -> list[OfflineRun]:
    """The runs below a folder, once W&B's process has written their ends, a moment after `finish`."""
    for _ in range(100):
        runs = [read_offline(run) for run in offline_runs(folder)]
        if all(run.exit_code is not None for run in runs):
            return runs
        time.sleep(0.1)
    raise AssertionError("a run has no end after ten seconds")
