"""A job's process: its number of threads, and what the screen shows while it runs."""

import io
import logging
import os
import subprocess
import sys

import pytest

from qaexp.sweep.job import _quiet_screen, keep_number_of_threads

IN_WORKERS = """
import os
os.cpu_count = lambda: 8
os.sched_getaffinity = lambda process: set(range(8))
import torch
from joblib import Parallel, delayed
from qaexp.sweep.job import keep_number_of_threads

keep_number_of_threads()
print(*Parallel(2)(delayed(torch.get_num_threads)() for _ in range(4)))
"""


def test_workers_use_omp_num_threads_on_eight_cores() -> None:
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    environment = {**kept, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", IN_WORKERS], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1"] * 4


@pytest.mark.parametrize(("omp", "mkl", "after"), [("2", None, "2"), ("2", "3", "3"), (None, "3", "3"), (None, None, None)])
def test_a_set_mkl_num_threads_is_kept(omp: str | None, mkl: str | None, after: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    said = {name: value for name, value in {"OMP_NUM_THREADS": omp, "MKL_NUM_THREADS": mkl}.items() if value is not None}
    monkeypatch.setattr(os, "environ", said)
    keep_number_of_threads()
    assert said.get("MKL_NUM_THREADS") == after


def test_the_screen_shows_the_sweeps_progress_but_not_a_jobs_epochs() -> None:
    shown = io.StringIO()
    screen = logging.StreamHandler(shown)
    logging.getLogger().addHandler(screen)
    before = logging.getLogger().level
    logging.getLogger().setLevel(logging.INFO)
    try:
        with _quiet_screen():
            logging.getLogger("qaexp.sweep.progress").info("[1/3] seed=1: ran")
            logging.getLogger("qaexp.some.module").info("epoch 1/2")
            logging.getLogger("qaexp.some.module").error("the disk is full")
        logging.getLogger("qaexp.some.module").info("after it")
    finally:
        logging.getLogger().removeHandler(screen)
        logging.getLogger().setLevel(before)
    assert shown.getvalue().splitlines() == ["[1/3] seed=1: ran", "the disk is full", "after it"]
