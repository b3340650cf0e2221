"""Training steps under deterministic algorithms: new tensors left as they are, as runs have it, and filled, torch's default."""

from collections.abc import Callable, Iterator

import torch

from benchmarks.attention import training_step
from benchmarks.made_up import MAX_LENGTH
from benchmarks.row import Row
from benchmarks.timing import DEVICE, paired

NUM_PAIRS = 7


def rows() -> Iterator[Row]:
    torch.use_deterministic_algorithms(True)
    try:
        for model, name in {"ggsa": "GGSA", "qa_lstm": "QA-LSTM", "multihop_sequential_lstm": "Multihop-Sequential-LSTM"}.items():
            step = training_step(model, MAX_LENGTH)
            pairs = paired(with_filling(False, step), with_filling(True, step), NUM_PAIRS, DEVICE)
            yield pairs.told(f"training step of {name}, texts of {MAX_LENGTH}: new tensors left as they are, filled")
    finally:
        torch.use_deterministic_algorithms(False)
        torch.utils.deterministic.fill_uninitialized_memory = True  # type: ignore[attr-defined]


def with_filling(yes: bool, step: Callable[[], None]) -> Callable[[], None]:
    def run() -> None:
        torch.utils.deterministic.fill_uninitialized_memory = yes  # type: ignore[attr-defined]
        step()

    return run
