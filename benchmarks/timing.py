"""Paired timing that survives a busy machine.

On a CPU a run gets one thread and is charged the processor time of this process, so that other processes do not enter;
on a GPU the clock is the wall's and waits for the device. Two contestants alternate, and a ratio is formed within each
pair of neighbouring runs: what slows the machine for a while slows both.
"""

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from benchmarks.row import Row
from qaexp.training.matmul import choose_matmul

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
CPU = torch.device("cpu")


@dataclass(frozen=True)
class Pairs:
    """Seconds of two contestants in neighbouring runs."""

    ours: list[float]
    other: list[float]

    def at_most(self, what: str, limit: float) -> Row:
        """A row that holds if ours takes at most `limit` times the seconds of the other."""
        ratios = [ours / other for ours, other in zip(self.ours, self.other, strict=True)]
        held = statistics.median(ratios) <= limit
        return Row(what, readable(self.ours), readable(self.other), ratios, f"ours ÷ other ≤ {limit:g}", held)

    def told(self, what: str) -> Row:
        """A row without a target: how many times the seconds of ours the other takes."""
        ratios = [other / ours for ours, other in zip(self.ours, self.other, strict=True)]
        return Row(what, readable(self.ours), readable(self.other), ratios, "other ÷ ours", None)

    def at_least(self, what: str, limit: float) -> Row:
        """A row that holds if the other takes at least `limit` times the seconds of ours."""
        ratios = [other / ours for ours, other in zip(self.ours, self.other, strict=True)]
        held = statistics.median(ratios) >= limit
        return Row(what, readable(self.ours), readable(self.other), ratios, f"other ÷ ours ≥ {limit:g}", held)


def paired(ours: Callable[[], object], other: Callable[[], object], num_pairs: int, device: torch.device, warm_up: bool = True) -> Pairs:
    """Runs both in turn, swapping which goes first, after one warm-up run of each."""
    pairs = Pairs([], [])
    with one_thread(device):
        if warm_up:
            ours()
            other()
        for number in range(num_pairs):
            turns = [(ours, pairs.ours), (other, pairs.other)]
            for run, seconds in turns if number % 2 == 0 else reversed(turns):
                seconds.append(timed(run, device))
    return pairs


def after(setting: Callable[[], object], step: Callable[[], object], times: int = 1) -> Callable[[], None]:
    """A function that applies `setting`, and then calls `step` `times` times."""

    def run() -> None:
        setting()
        for _ in range(times):
            step()

    return run


def timed(run: Callable[[], object], device: torch.device) -> float:
    """Seconds that `run` takes: of the processor on a CPU, of the wall on a GPU."""
    gc.collect()
    if device.type == "cpu":
        start = time.process_time()
        run()
        return time.process_time() - start
    torch.cuda.synchronize(device)
    start = time.perf_counter()
    run()
    torch.cuda.synchronize(device)
    return time.perf_counter() - start


@contextmanager
def one_thread(device: torch.device) -> Iterator[None]:
    """One thread while the CPU is what is timed: processor time of several would count waiting for one another. As in runs otherwise."""
    choose_matmul("auto")
    before = torch.get_num_threads()
    torch.set_num_threads(1 if device.type == "cpu" else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def readable(seconds: Sequence[float]) -> str:
    """The median.

    >>> readable([0.0123, 0.5, 0.01]), readable([75.2])
    ('12.3 ms', '75.2 s')
    """
    median = statistics.median(seconds)
    return f"{median * 1000:.1f} ms" if median < 1 else f"{median:,.1f} s"
