"""Training steps on a CPU whose tensors lie in pages of 2 MB against those of 4 KB: `python -m benchmarks.pages MODEL` is one."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial

from benchmarks.attention import training_step
from benchmarks.made_up import MAX_LENGTH
from benchmarks.row import Row
from benchmarks.timing import CPU, DEVICE, alternated, one_thread

MODELS = {"ggsa": "GGSA", "qa_cnn": "QA-CNN of 4,000 filters"}
NUM_PAIRS, STEPS = 5, 4


def rows() -> Iterator[Row]:
    if DEVICE != CPU:
        yield Row("pages of 2 MB: a GPU is there, whose memory PyTorch keeps")
        return
    for model, name in MODELS.items():
        pairs = alternated(partial(_seconds, model, "1"), partial(_seconds, model, "0"), NUM_PAIRS)
        yield pairs.told(f"training step of {name}, texts of {MAX_LENGTH}: memory in pages of 2 MB, of 4 KB")


def _seconds(model: str, huge: str) -> float:
    """Of a step, in a process of its own."""
    environment = os.environ | {"THP_MEM_ALLOC_ENABLE": huge}
    command = [sys.executable, "-m", "benchmarks.pages", model]
    return float(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main(model: str) -> None:
    """Take some steps, and print the seconds of one."""
    step = training_step(model, MAX_LENGTH)
    with one_thread(DEVICE):
        step()
        start = time.process_time()
        for _ in range(STEPS):
            step()
        sys.stdout.write(str((time.process_time() - start) / STEPS))


if __name__ == "__main__":
    main(sys.argv[1])
