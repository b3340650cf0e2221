"""Training steps on a CPU: oneDNN's float32 products against MKL's, and products in bfloat16 against those."""

from collections.abc import Callable, Iterator
from functools import partial

import torch

from benchmarks import grid
from benchmarks.attention import training_step
from benchmarks.made_up import MAX_LENGTH
from benchmarks.row import Row
from benchmarks.timing import DEVICE, after, paired
from qaexp.models.ops.coupled_cells import TightCell
from qaexp.training.matmul import onednn_is_exact, use_onednn

NUM_PAIRS = 7


def rows() -> Iterator[Row]:
    if not onednn_is_exact():
        yield Row("float32 products of oneDNN against MKL's: a GPU is there, or oneDNN does not multiply in full float32 here")
        return
    torch.manual_seed(1)
    cell = TightCell(grid.INPUT_DIM, grid.HIDDEN_DIM, stacked=False).to(DEVICE)
    steps = {
        f"GGSA, texts of {MAX_LENGTH}": training_step("ggsa", MAX_LENGTH),
        f"global attention, texts of {MAX_LENGTH}": training_step("self_attention", MAX_LENGTH),
        f"TC-LSTMs, {grid.SIDE} × {grid.SIDE}": grid.step(cell, grid.along_diagonals, grid.SIDE),
    }
    for name, step in steps.items():
        pairs = paired(after(partial(use_onednn, True), step), after(partial(use_onednn, False), step), NUM_PAIRS, DEVICE)
        yield pairs.told(f"training step of {name}: oneDNN, MKL")
    use_onednn(True)
    for model, name in {"ggsa": "GGSA", "iggsa": "iGGSA", "qa_cnn": "QA-CNN of 4,000 filters"}.items():
        step = training_step(model, MAX_LENGTH)
        pairs = paired(mixed(step), step, NUM_PAIRS, DEVICE)
        yield pairs.told(f"training step of {name}, texts of {MAX_LENGTH}: trainer.precision=bf16-mixed, 32-true")
    use_onednn(False)


def mixed(step: Callable[[], None]) -> Callable[[], None]:
    """The same step as Lightning runs it under `trainer.precision=bf16-mixed`."""

    def run() -> None:
        with torch.autocast(DEVICE.type, torch.bfloat16):
            step()

    return run
