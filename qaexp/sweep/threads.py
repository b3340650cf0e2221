"""Threads on a CPU: a worker process has as many as its environment asks for, and so the same sums as a process alone."""

import os


def keep_number_of_threads() -> None:
    """What OMP_NUM_THREADS says holds in joblib's workers, too. Without it they share the processor's cores.

    Joblib gives each worker MKL_NUM_THREADS, the cores divided by the workers, unless it is set, and torch heeds it before
    OMP_NUM_THREADS. On more threads sums are added up in another order, and training takes another path.
    """
    if threads := os.environ.get("OMP_NUM_THREADS"):
        os.environ.setdefault("MKL_NUM_THREADS", threads)
