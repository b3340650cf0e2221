"""Where the cells of an anti-diagonal lie. None waits for another; each reads the cells above it and to its left, of the diagonal before.

A diagonal is a strided slice of a grid whose rows lie end to end, also when the grid is run through from another corner, so that no grid
is ever copied into another order. What the cells of one diagonal hold lies in a tensor that begins and ends with a cell outside the grid.
Features come first, then rows, columns or cells, then pairs: every product and every gate is one stretch of memory.
"""

from typing import NamedTuple

from jaxtyping import Shaped
from torch import Tensor


class Diagonal(NamedTuple):
    """Cells (row, place − row) of a grid, for `size` rows from `first` on."""

    place: int
    first: int
    size: int
    num_rows: int
    num_columns: int

    def rows_of(self, words: Shaped[Tensor, "*features row pair"]) -> Shaped[Tensor, "*features cell pair"]:
        """What belongs to its cells' rows."""
        return words[..., self.first : self.first + self.size, :]

    def columns_of(self, words: Shaped[Tensor, "*features column pair"]) -> Shaped[Tensor, "*features cell pair"]:
        """What belongs to its cells' columns; `words` stand in the opposite order, the last column's first."""
        start = self.num_columns - 1 - self.place + self.first
        return words[..., start : start + self.size, :]

    def cells_of(
        self, grid: Shaped[Tensor, "*features cells pair"], from_last_row: bool, from_last_column: bool
    ) -> Shaped[Tensor, "*features cell pair"]:
        """A view of its cells in a grid, whose rows lie end to end, run through from one of its corners. From the last row on, the view
        begins with the last cell.

        >>> import torch
        >>> grid = torch.arange(6)[:, None]  # 0 1 2 / 3 4 5
        >>> [diagonal.cells_of(grid, False, False).flatten().tolist() for diagonal in diagonals(2, 3)]
        [[0], [1, 3], [2, 4], [5]]
        >>> [diagonal.cells_of(grid, True, False).flatten().tolist() for diagonal in diagonals(2, 3)]
        [[3], [0, 4], [1, 5], [2]]
        """
        last = self.first + self.size - 1
        row, column = (self.num_rows - 1 - last, self.place - last) if from_last_row else (self.first, self.place - self.first)
        start = row * self.num_columns + (self.num_columns - 1 - column if from_last_column else column)
        step = self.num_columns + (1 if from_last_row != from_last_column else -1)
        return grid[..., start : start + (self.size - 1) * step + 1 : max(step, 1), :]

    def neighbours(
        self, before: Shaped[Tensor, "*features padded_cell pair"]
    ) -> tuple[Shaped[Tensor, "*features cell pair"], Shaped[Tensor, "*features cell pair"]]:
        """Of what the diagonal before holds, the part above its cells and the part to their left."""
        start = int(self.place >= self.num_columns)
        return before[..., start : start + self.size, :], before[..., start + 1 : start + 1 + self.size, :]


def diagonals(num_rows: int, num_columns: int) -> list[Diagonal]:
    """
    >>> [(diagonal.first, diagonal.size) for diagonal in diagonals(2, 3)]
    [(0, 1), (0, 2), (0, 2), (1, 1)]
    """
    firsts = [max(0, place - num_columns + 1) for place in range(num_rows + num_columns - 1)]
    sizes = [min(num_rows - 1, place) - first + 1 for place, first in enumerate(firsts)]
    return [Diagonal(place, first, size, num_rows, num_columns) for place, (first, size) in enumerate(zip(firsts, sizes, strict=True))]
