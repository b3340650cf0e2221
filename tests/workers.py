"""A command with two workers at work and one that waits: `python workers.py FOLDER`. The names of files in the folder tell of them."""

import os
import signal
import sys
import time
from pathlib import Path

from joblib import Parallel, delayed

from qaexp.processes import INTERRUPTED, Process, begin_worker, job_for, stop_on_signals

WORKERS, JOBS = 3, 2


def begin(command: Process, folder: Path) -> None:
    begin_worker(command)
    (folder / f"worker-{os.getpid()}").touch()


def work(command: Process, file: Path) -> None:
    with job_for(command):
        try:
            file.touch()
            while True:
                time.sleep(0.02)
        except KeyboardInterrupt:
            time.sleep(0.5 * int(file.name[-1]))  # the first job has ended long before the second has saved
            file.write_text("saved")
            raise


if __name__ == "__main__":
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests themselves may run under nohup
    stop_on_signals()
    place, us = Path(sys.argv[1]), Process.of(os.getpid())
    try:
        several = Parallel(WORKERS, initializer=begin, initargs=(us, place))
        several(delayed(work)(us, place / f"job-{number}") for number in range(JOBS))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
