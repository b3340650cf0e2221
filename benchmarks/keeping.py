"""Training steps on a CPU: freed memory kept, as runs have it, and given back, glibc's way."""

import ctypes
from collections.abc import Iterator

from benchmarks.attention import training_step
from benchmarks.made_up import MAX_LENGTH
from benchmarks.row import Row
from benchmarks.timing import DEVICE, after, paired
from qaexp.training.memory import M_MMAP_MAX, M_TRIM_THRESHOLD, keep_freed_memory

NUM_PAIRS = 7
STEPS = 4
"""Of a contestant's turn: in the first one memory is as the other contestant left it."""
M_MMAP_THRESHOLD = -3
USUAL = {M_MMAP_MAX: 2**16, M_MMAP_THRESHOLD: 2**25, M_TRIM_THRESHOLD: 2**26}
"""Where glibc's own rule, which follows the largest tensor that was freed, ends."""


def rows() -> Iterator[Row]:
    if not keep_freed_memory():
        yield Row("freed memory kept against given back: the C library is not glibc")
        return
    for model, name in {"ggsa": "GGSA", "iggsa": "iGGSA", "qa_lstm": "QA-LSTM", "ap_cnn": "AP-CNN"}.items():
        step = training_step(model, MAX_LENGTH)
        pairs = paired(after(keep_freed_memory, step, STEPS), after(give_back, step, STEPS), NUM_PAIRS, DEVICE)
        yield pairs.told(f"{STEPS} training steps of {name}, texts of {MAX_LENGTH}: freed memory kept, given back")


def give_back() -> None:
    for parameter, value in USUAL.items():
        ctypes.CDLL(None).mallopt(parameter, value)
