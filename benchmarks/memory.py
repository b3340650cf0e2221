"""Peak memory of a process of its own that scores at InsuranceQA's full size: `python -m benchmarks.memory MODEL` is that process."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from benchmarks.made_up import MAX_LENGTH, blocks, ranking, scorer
from benchmarks.row import Row
from benchmarks.timing import DEVICE
from qaexp.training.scoring import score_blocks

SIZES = {"ggsa": (24_981, 1_800, 500), "iggsa": (500, 1_800, 1)}  # answers, questions, candidates of each
LIMIT_GB = 6


def rows() -> Iterator[Row]:
    for model, (answers, questions, candidates) in SIZES.items():
        report = subprocess.run([sys.executable, "-m", "benchmarks.memory", model], check=True, stdout=subprocess.PIPE, text=True)
        peaks = json.loads(report.stdout)
        full = model == "ggsa"
        what = (
            f"peak memory, {answers:,} answers of {MAX_LENGTH} words, {questions:,} × {candidates} pairs, {model}"
            f"{'' if full else ' (a fraction: most is done once per pair)'}; took {peaks['seconds']:.0f} s"
        )
        used = f"{peaks['resident']:.2f} GB" + (f", GPU {peaks['gpu']:.2f} GB" if peaks["gpu"] else "")
        held = max(peaks["resident"], peaks["gpu"]) < LIMIT_GB
        yield Row(what, used, target=f"< {LIMIT_GB} GB" if full else "", held=held if full else None)


def main(model: str) -> None:
    """Score everything, and print the seconds of scoring and the peaks of the whole process in GB."""
    answers, questions, candidates = SIZES[model]
    table, split = ranking(questions, candidates, np.full(answers, MAX_LENGTH), np.random.default_rng(0))
    start = time.perf_counter()
    scores = score_blocks(scorer(model).to(DEVICE).eval(), blocks(table, split), split.num_pairs)
    seconds = time.perf_counter() - start
    if scores.isnan().any():
        raise AssertionError("some pairs were left without a score")
    gpu = torch.cuda.max_memory_allocated() / 1e9 if DEVICE.type == "cuda" else 0.0
    sys.stdout.write(json.dumps({"resident": peak_resident_bytes() / 1e9, "gpu": gpu, "seconds": seconds}))


def peak_resident_bytes() -> int:
    """The peak memory of this process. On Linux getrusage would include that of the process that started it."""
    status = Path("/proc/self/status")
    if status.is_file():
        return next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on a Mac


if __name__ == "__main__":
    main(sys.argv[1])
