"""Training steps under deterministic algorithms: new tensors left as they are, as runs have it, and filled, torch's default."""

from collections.abc import Iterator
from functools import partial

import torch

from benchmarks.attention import training_step
from benchmarks.made_up import MAX_LENGTH
from benchmarks.row import Row
from benchmarks.timing import DEVICE, after, paired

NUM_PAIRS = 7


def rows() -> Iterator[Row]:
    torch.use_deterministic_algorithms(True)
    try:
        for model, name in {"ggsa": "GGSA", "qa_lstm": "QA-LSTM", "multihop_sequential_lstm": "Multihop-Sequential-LSTM"}.items():
            step = training_step(model, MAX_LENGTH)
            pairs = paired(after(leave, step), after(fill, step), NUM_PAIRS, DEVICE)
            yield pairs.told(f"training step of {name}, texts of {MAX_LENGTH}: new tensors left as they are, filled")
    finally:
        torch.use_deterministic_algorithms(False)
        fill()


def fill(yes: bool = True) -> None:
    torch.utils.deterministic.fill_uninitialized_memory = yes  # type: ignore[attr-defined]


leave = partial(fill, False)
