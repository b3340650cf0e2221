"""`qaexp measure` on a thousand run files of a thousand lines each, the start of the process among its seconds."""

import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.row import Row

NUM_RUNS, NUM_QUESTIONS, NUM_CANDIDATES = 1000, 100, 10
LIMIT = 20
"""Seconds of processor time."""


def rows() -> Iterator[Row]:
    """The command in a process of its own, as a user runs it."""
    with tempfile.TemporaryDirectory() as folder:
        qrels, runs = _made_up(Path(folder))
        before = _seconds_of_children()
        command = [sys.executable, "-m", "qaexp", "measure", str(qrels), *map(str, runs)]
        printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        seconds = _seconds_of_children() - before
    if len(printed.splitlines()) != NUM_RUNS + 2:  # headings, and the convention
        raise AssertionError(f"{len(printed.splitlines())} lines for {NUM_RUNS} runs")
    lines = NUM_QUESTIONS * NUM_CANDIDATES
    what = f"`qaexp measure`: {NUM_RUNS:,} run files of {lines:,} lines, five measures, with the start of the process"
    yield Row(what, f"{seconds:.1f} s", target=f"< {LIMIT} s", held=seconds < LIMIT)


def _made_up(folder: Path) -> tuple[Path, list[Path]]:
    """Judgements, and runs that rank the same pools at random."""
    drawn, names = random.Random(0), [f"d{number}" for number in range(2000)]
    pools = {f"q{number}": drawn.sample(names, NUM_CANDIDATES) for number in range(NUM_QUESTIONS)}
    qrels = folder / "qrels"
    qrels.write_text("".join(f"{question} 0 {name} {int(name == pool[0])}\n" for question, pool in pools.items() for name in pool))
    runs = [folder / f"{number}.run" for number in range(NUM_RUNS)]
    for path in runs:
        path.write_text("".join(f"{question} Q0 {name} 1 {drawn.random()} tag\n" for question, pool in pools.items() for name in pool))
    return qrels, runs


def _seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
