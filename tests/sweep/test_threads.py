"""As many threads in a worker as the environment asks for, however many cores there are."""

import os
import subprocess
import sys

import pytest

from qaexp.sweep.job import keep_number_of_threads

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


def test_workers_among_eight_cores_have_the_one_thread_that_is_asked_for() -> None:
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    environment = {**kept, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", IN_WORKERS], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1"] * 4


@pytest.mark.parametrize(("omp", "mkl", "after"), [("2", None, "2"), ("2", "3", "3"), (None, "3", "3"), (None, None, None)])
def test_what_is_said_of_mkl_alone_stays(omp: str | None, mkl: str | None, after: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    said = {name: value for name, value in {"OMP_NUM_THREADS": omp, "MKL_NUM_THREADS": mkl}.items() if value is not None}
    monkeypatch.setattr(os, "environ", said)
    keep_number_of_threads()
    assert said.get("MKL_NUM_THREADS") == after
