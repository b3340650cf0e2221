"""A block of coupled LSTMs over grids of cells: along the anti-diagonals, all directions at once, with a written-out backward pass.

A cell reads the cells above it and to its left. So the cells of an anti-diagonal are independent of one another and are computed at once.
For the backward pass a diagonal keeps its gates, tanh(c) and c; without gradients it keeps nothing.

A diagonal is a strided slice of a grid whose rows are concatenated, whichever corner the direction starts from, so a grid is never copied
into another order. The tensor of a diagonal begins and ends with a cell outside the grid. Features come first, then rows, columns or
cells, then pairs, so that every product and every gate is one stretch of memory.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor
from torch.autograd.function import once_differentiable

from qaexp.models.ops.coupled_cells import CoupledCell


class Diagonal(NamedTuple):
    """Cells (row, place − row) of a grid, for `size` rows from `first` on."""

    place: int
    first: int
    size: int
    num_rows: int
    num_columns: int

    def rows_of(self, words: Shaped[Tensor, "*features row pair"]) -> Shaped[Tensor, "*features cell pair"]:
        """The rows of its cells."""
        return words[..., self.first : self.first + self.size, :]

    def columns_of(self, words: Shaped[Tensor, "*features column pair"]) -> Shaped[Tensor, "*features cell pair"]:
        """The columns of its cells; `words` are in reverse order, the last column first."""
        start = self.num_columns - 1 - self.place + self.first
        return words[..., start : start + self.size, :]

    def cells_of(
        self, grid: Shaped[Tensor, "*features cells pair"], from_last_row: bool, from_last_column: bool
    ) -> Shaped[Tensor, "*features cell pair"]:
        """A view of its cells in a grid with concatenated rows, for a direction that starts at the given corner. If it starts at the last
        row, the view begins with the last cell.

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
        """The cells above its cells and the cells to their left, taken from the diagonal before."""
        start = int(self.place >= self.num_columns)
        return before[..., start : start + self.size, :], before[..., start + 1 : start + 1 + self.size, :]


def diagonals(num_rows: int, num_columns: int) -> list[Diagonal]:
    """The anti-diagonals of a grid, in the order in which they are computed.

    >>> [(diagonal.first, diagonal.size) for diagonal in diagonals(2, 3)]
    [(0, 1), (0, 2), (0, 2), (1, 1)]
    """
    firsts = [max(0, place - num_columns + 1) for place in range(num_rows + num_columns - 1)]
    sizes = [min(num_rows - 1, place) - first + 1 for place, first in enumerate(firsts)]
    return [Diagonal(place, first, size, num_rows, num_columns) for place, (first, size) in enumerate(zip(firsts, sizes, strict=True))]


CORNERS = ((False, False), (False, True), (True, True), (True, False))
"""Where each direction starts: at the last row?, at the last column? (Liu et al. 2016, §4.2.1)."""


class _Plan(NamedTuple):
    """The settings of a block."""

    cell: CoupledCell
    num_rows: int
    num_columns: int
    num_directions: int
    keep: bool

    def views(self, diagonal: Diagonal, grid: Tensor, of_cells: Tensor) -> Iterator[tuple[Tensor, Tensor, bool]]:
        """For each direction: the diagonal as a view of the grid, the direction's part of (..., cell, direction · pair), and whether the
        two are in opposite orders.
        """
        for corner, ours in zip(CORNERS, of_cells.chunk(self.num_directions, dim=-1), strict=False):
            yield diagonal.cells_of(grid, *corner), ours, corner[0]


def over_words(
    cell: CoupledCell,
    question: Float[Tensor, "gates row pair"],
    candidate: Float[Tensor, "gates column pair"],
    rows: Bool[Tensor, "row pair"],
    columns: Bool[Tensor, "column pair"],
    num_directions: int,
) -> Float[Tensor, "dim part row_column pair"]:
    """h_{i,j} of a cell's parts, summed over the directions, from the words' shares of the gates. Masks are True on real words.

    With several directions, cells of padding are zero, so a direction that starts among them starts, in effect, with the pair's last word.
    """
    return _run(cell, rows, columns, num_directions, _by_row(question, num_directions), _by_column(candidate, num_directions))


def over_cells(
    cell: CoupledCell,
    below: Float[Tensor, "gates part row_column pair"],
    rows: Bool[Tensor, "row pair"],
    columns: Bool[Tensor, "column pair"],
    num_directions: int,
) -> Float[Tensor, "dim part row_column pair"]:
    """As `over_words`, for a stacked block: the gates' shares come from the cells of the block below, and each part reads its own."""
    return _run(cell, rows, columns, num_directions, below)


def _by_row(words: Tensor, num_directions: int) -> Tensor:
    """(..., row, direction · pair), the words of each direction in its order."""
    return torch.cat([words.flip(-2) if from_last_row else words for from_last_row, _ in CORNERS[:num_directions]], dim=-1)


def _by_column(words: Tensor, num_directions: int) -> Tensor:
    """The same for columns, in reverse order, as `Diagonal.columns_of` expects."""
    return torch.cat([words if from_last_column else words.flip(-2) for _, from_last_column in CORNERS[:num_directions]], dim=-1)


def _run(cell: CoupledCell, rows: Tensor, columns: Tensor, num_directions: int, *shares: Tensor) -> Tensor:
    U = cell.recurrent.weight
    keep = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (U, *shares))
    plan = _Plan(cell, len(rows), len(columns), num_directions, keep)
    real = _by_row(rows.to(U.dtype), num_directions), _by_column(columns.to(U.dtype), num_directions)
    return _CoupledGrid.apply(plan, U, *real, *shares)  # pyright: ignore[reportReturnType]


class _CoupledGrid(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, plan: _Plan, U: Tensor, rows: Tensor, columns: Tensor, *shares: Tensor) -> Tensor:
        cell, dim, num_pairs = plan.cell, U.shape[1] // 2, rows.shape[1]
        h = c = U.new_zeros(dim, cell.num_parts, 2, num_pairs)
        grid = U.new_zeros(dim, cell.num_parts, plan.num_rows * plan.num_columns, num_pairs // plan.num_directions)
        kept = list[Tensor]()
        for diagonal in diagonals(plan.num_rows, plan.num_columns):
            gates = U.new_empty(len(U), cell.num_parts, diagonal.size, num_pairs)
            if len(shares) == 2:
                cell.begin(gates, diagonal.rows_of(shares[0]), diagonal.columns_of(shares[1]))
            else:
                for below, ours, opposite in plan.views(diagonal, shares[0], gates):
                    ours.copy_(below.flip(2) if opposite else below)
            gates.flatten(1).addmm_(U, cell.read(*diagonal.neighbours(h)).flatten(1))
            gates[dim:].sigmoid_()
            _tanh(gates[:dim])
            new, output, write, forget = _split(gates, dim)
            around = diagonal.neighbours(c)
            h, c = (_room(diagonal, like=h) for _ in range(2))
            memory = torch.mul(new, write, out=c[:, :, 1:-1])
            cell.remember(memory, forget, *around)
            if plan.num_directions > 1:
                memory *= _mask(diagonal, rows, columns)
            squashed = _tanh(memory.clone(memory_format=torch.contiguous_format))
            state = torch.mul(output, squashed, out=h[:, :, 1:-1])
            for cells, ours, opposite in plan.views(diagonal, grid, state):
                cells += ours.flip(2) if opposite else ours
            if plan.keep:
                kept += [gates, squashed, c]
        ctx.plan, ctx.shapes = plan, [share.shape for share in shares]
        ctx.save_for_backward(U, rows, columns, *kept)
        return grid

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        plan: _Plan = ctx.plan
        U, rows, columns, *kept = ctx.saved_tensors
        cell, dim = plan.cell, U.shape[1] // 2
        of_U, of_shares = torch.zeros_like(U), [U.new_zeros(shape) for shape in ctx.shapes]
        order = diagonals(plan.num_rows, plan.num_columns)
        of_h, of_c = (torch.zeros_like(kept[-1]) for _ in range(2))
        outside = torch.zeros_like(kept[2][:, :, :2])
        for place in range(len(order) - 1, -1, -1):
            diagonal = order[place]
            gates, squashed = kept[3 * place : 3 * place + 2]
            h_before, c_before = _before(kept[3 * place - 3 : 3 * place], dim) if place else (outside, outside)
            new, output, write, forget = _split(gates, dim)
            of_gates = torch.empty_like(gates)
            of_new, of_output, of_write, of_forget = _split(of_gates, dim)
            of_state, of_memory = of_h[:, :, 1:-1], of_c[:, :, 1:-1]
            for cells, ours, opposite in plan.views(diagonal, gradients[0], of_state):
                ours += cells.flip(2) if opposite else cells
            torch.mul(of_state, squashed, out=of_output)
            of_memory += torch.ops.aten.tanh_backward(of_state.mul_(output), squashed)
            if plan.num_directions > 1:
                of_memory *= _mask(diagonal, rows, columns)
            torch.mul(of_memory, write, out=of_new)
            torch.mul(of_memory, new, out=of_write)
            of_c_around = cell.of_remember(of_forget, of_memory, forget, *diagonal.neighbours(c_before))
            torch.ops.aten.tanh_backward.grad_input(of_new, new, grad_input=of_new)
            torch.ops.aten.sigmoid_backward.grad_input(of_gates[dim:], gates[dim:], grad_input=of_gates[dim:])
            of_U.addmm_(of_gates.flatten(1), cell.read(*diagonal.neighbours(h_before)).flatten(1).T)
            of_h_around = cell.of_read((U.T @ of_gates.flatten(1)).unflatten(1, gates.shape[1:]))
            if len(of_shares) == 2:
                of_row, of_column = cell.of_begin(of_gates)
                diagonal.rows_of(of_shares[0]).add_(of_row)
                diagonal.columns_of(of_shares[1]).add_(of_column)
            else:
                for below, ours, opposite in plan.views(diagonal, of_shares[0], of_gates):
                    below += ours.flip(2) if opposite else ours
            of_h, of_c = (_gathered(diagonal, around, like=h_before) for around in (of_h_around, of_c_around))
        return None, of_U, None, None, *of_shares


def _split(gates: Tensor, dim: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """c̃, o, i and what is left, f."""
    return gates[:dim], gates[dim : 2 * dim], gates[2 * dim : 3 * dim], gates[3 * dim :]


def _room(diagonal: Diagonal, like: Tensor) -> Tensor:
    """A tensor for the states of a diagonal's cells, with a zero cell outside the grid at both ends."""
    room = like.new_empty(*like.shape[:2], diagonal.size + 2, like.shape[3])
    room[:, :, :: diagonal.size + 1] = 0
    return room


def _before(kept: list[Tensor], dim: int) -> tuple[Tensor, Tensor]:
    """h and c of a diagonal, from the tensors kept for the backward pass."""
    gates, squashed, c = kept
    h = torch.empty_like(c)
    h[:, :, :: c.shape[2] - 1] = 0
    torch.mul(_split(gates, dim)[1], squashed, out=h[:, :, 1:-1])
    return h, c


def _tanh(x: Tensor) -> Tensor:
    """In place. On a CPU it is 2σ(2x) − 1: torch's σ takes an eighth of the time of its tanh there."""
    return x.mul_(2).sigmoid_().mul_(2).sub_(1) if x.is_cpu else x.tanh_()


def _mask(diagonal: Diagonal, rows: Tensor, columns: Tensor) -> Tensor:
    """1 for real cells, 0 for padding."""
    return diagonal.rows_of(rows) * diagonal.columns_of(columns)


def _gathered(diagonal: Diagonal, around: tuple[Tensor, Tensor], like: Tensor) -> Tensor:
    """The gradients that the cells of a diagonal give to the cells above and to the left, summed for each cell of the diagonal before."""
    total = torch.empty_like(like)
    up, left = diagonal.neighbours(total)
    left[:, :, -1] = 0
    up.copy_(around[0])
    left += around[1]
    return total
