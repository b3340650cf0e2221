"""A training step of TC-LSTMs over a grid: along its anti-diagonals against cell by cell, and what the grid keeps for the way back."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.row import Row
from benchmarks.timing import CPU, DEVICE, paired
from qaexp.models.ops.coupled_cells import TightCell
from qaexp.models.ops.coupled_grid import over_words

SIDE, BATCH, INPUT_DIM, HIDDEN_DIM = 30, 64, 100, 50
FASTER = 3.0 if DEVICE == CPU else 15.0


def rows() -> Iterator[Row]:
    torch.manual_seed(1)
    cell = TightCell(INPUT_DIM, HIDDEN_DIM, stacked=False).to(DEVICE)
    grid = f"training step of TC-LSTMs, {SIDE} × {SIDE} grid, batch {BATCH}"
    ours, other = step(cell, along_diagonals, SIDE), step(cell, cell_by_cell, SIDE)
    yield paired(ours, other, 3, DEVICE).at_least(f"{grid}: along anti-diagonals, cell by cell", FASTER)
    half, whole = (kept(cell, side) for side in (SIDE // 2, SIDE))
    growth = whole / half
    what = f"memory kept for the way back: {SIDE} × {SIDE} cells, {SIDE // 2} × {SIDE // 2} (4 times the cells)"
    yield Row(what, f"{whole / 1e6:.0f} MB", f"{half / 1e6:.0f} MB", (growth,), "ours ÷ other ≤ 4.2", growth <= 4.2)


Forward = Callable[[TightCell, Tensor, Tensor], Tensor]


def step(cell: TightCell, forward: Forward, side: int) -> Callable[[], None]:
    """Forward and backward through one direction."""
    x, y = (torch.randn(side, BATCH, INPUT_DIM, device=DEVICE) for _ in range(2))

    def training_step() -> None:
        cell.zero_grad()
        forward(cell, x, y).sum().backward()

    return training_step


def along_diagonals(cell: TightCell, x: Tensor, y: Tensor) -> Tensor:
    of_x, of_y = shares(cell, x, y)
    rows, columns = (torch.ones(words.shape[:2], dtype=torch.bool, device=DEVICE) for words in (x, y))
    return over_words(cell, of_x.permute(2, 0, 1), of_y.permute(2, 0, 1), rows, columns, num_directions=1)


def cell_by_cell(cell: TightCell, x: Tensor, y: Tensor) -> Tensor:
    of_x, of_y = shares(cell, x, y)
    zeros = x.new_zeros(x.shape[1], HIDDEN_DIM)
    states = dict[tuple[int, int], tuple[Tensor, Tensor]]()
    for i in range(len(x)):
        for j in range(len(y)):
            up, left = states.get((i - 1, j), (zeros, zeros)), states.get((i, j - 1), (zeros, zeros))
            gates = of_x[i] + of_y[j] + cell.recurrent(torch.cat([left[0], up[0]], dim=1))
            new, output, write, keep_left, keep_up = gates.chunk(5, dim=1)
            c = new.tanh() * write.sigmoid() + left[1] * keep_left.sigmoid() + up[1] * keep_up.sigmoid()
            states[i, j] = output.sigmoid() * c.tanh(), c
    return torch.stack([h for h, _ in states.values()])


def shares(cell: TightCell, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """The words' parts of the gates, once for each word."""
    assert cell.from_candidate is not None
    return cell.from_question(x), F.linear(y, cell.from_candidate.weight)


def kept(cell: TightCell, side: int) -> int:
    """Bytes that autograd keeps, each tensor's memory once."""
    storages = dict[int, int]()

    def note(tensor: Tensor) -> Tensor:
        storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    x, y = (torch.randn(side, BATCH, INPUT_DIM, device=DEVICE) for _ in range(2))
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        along_diagonals(cell, x, y)
    return sum(storages.values())
