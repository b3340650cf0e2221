"""Running a cell over the grid of two texts along its anti-diagonals, whose cells do not depend on each other.

Cells are numbered diagonal by diagonal, and within one by row; their tensors have the cells as first axis, so that a diagonal is a slice.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

State = tuple[Tensor, Tensor]
"""Hidden state and memory of some cells of a diagonal: (cell, pair, width) each."""

Step = Callable[[Tensor, State, State], State]
"""One diagonal: inputs (cell, pair, gates), the states above (row − 1) and to the left (column − 1)."""


class Diagonals(NamedTuple):
    """The order of a grid's cells, for grids of one size."""

    rows: Int[Tensor, " cell"]
    columns: Int[Tensor, " cell"]
    sizes: list[int]
    """Cells of each diagonal."""
    first_rows: list[int]
    """Row of the first cell of each diagonal."""


@cache
def diagonals(num_rows: int, num_columns: int) -> Diagonals:
    """
    >>> order = diagonals(2, 3)
    >>> list(zip(order.rows.tolist(), order.columns.tolist())), order.sizes
    ([(0, 0), (0, 1), (1, 0), (0, 2), (1, 1), (1, 2)], [1, 2, 2, 1])
    """
    first_rows = [max(0, k - num_columns + 1) for k in range(num_rows + num_columns - 1)]
    sizes = [min(num_rows - 1, k) - first + 1 for k, first in enumerate(first_rows)]
    rows = torch.cat([torch.arange(first, first + size) for first, size in zip(first_rows, sizes, strict=True)])
    diagonal = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    return Diagonals(rows, diagonal - rows, sizes, first_rows)


def run(step: Step, inputs: Float[Tensor, "cell pair gates"], order: Diagonals, dim: int) -> Float[Tensor, "cell pair hidden"]:
    """The hidden states of all cells, `dim` wide as their memories are. Beyond the first row and column there are zeros."""
    outside = inputs.new_zeros(1, inputs.shape[1], dim)
    before: State = (outside, outside)
    before_row, hidden = 0, []
    for part, first in zip(inputs.split(order.sizes), order.first_rows, strict=True):
        size = len(part)
        around = [F.pad(each, (0, 0, 0, 0, 1, 1)) for each in before]  # row r of the diagonal before is at r − before_row + 1
        above = first - before_row
        up = around[0][above : above + size], around[1][above : above + size]
        left = around[0][above + 1 : above + 1 + size], around[1][above + 1 : above + 1 + size]
        before, before_row = step(part, up, left), first
        hidden.append(before[0])
    return torch.cat(hidden)


def to_cells(grid: Float[Tensor, "pair row column dim"], order: Diagonals) -> Float[Tensor, "cell pair dim"]:
    """A grid's vectors in the order of the cells."""
    cells = grid.flatten(1, 2).transpose(0, 1)  # (row · column, pair, dim)
    return cells[(order.rows * grid.shape[2] + order.columns).to(grid.device)]


def to_grid(cells: Float[Tensor, "cell pair dim"], num_rows: int, num_columns: int) -> Float[Tensor, "pair row column dim"]:
    """The other way round."""
    order = diagonals(num_rows, num_columns)
    place = (order.rows * num_columns + order.columns).argsort().to(cells.device)
    return cells[place].transpose(0, 1).unflatten(1, (num_rows, num_columns))
