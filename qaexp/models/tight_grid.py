"""TC-LSTMs over a whole grid, gradients written out: some operations on each diagonal, and no node of a graph for any of them."""

from functools import cache
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from qaexp.models.diagonals import Diagonals


class _Shared(NamedTuple):
    """Cells of a diagonal that have a neighbour on the diagonal before: a slice of the one, and of the other."""

    here: slice
    before: slice


class _Diagonal(NamedTuple):
    cells: slice
    before: slice
    """The cells of the diagonal before."""
    rows: slice
    columns: slice
    """In ascending order, while the rows' go down them."""
    left: _Shared
    up: _Shared


def tight_grid(
    U: Float[Tensor, "gates two_states"], order: Diagonals, *shares: Float[Tensor, "_ pair gates"]
) -> Float[Tensor, "cell pair dim"]:
    """h of every cell, by `TightCell`'s equations. U reads [h_{i,j−1} ; h_{i−1,j}].

    `shares` are what the gates have besides: of the question's words by row and of the candidate's by column, or of each cell.
    """
    return _TightGrid.apply(U, order, *shares)  # pyright: ignore[reportReturnType]


class _TightGrid(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, U: Tensor, order: Diagonals, *shares: Tensor) -> Tensor:
        width, num_pairs = U.shape[0], shares[0].shape[1]
        dim = width // 5
        gates = U.new_empty(len(order.rows), num_pairs, width)
        c, h = U.new_empty(2, len(order.rows), num_pairs, dim)
        for diagonal in _layout(order):
            here, before = diagonal.cells, diagonal.before
            if len(shares) == 2:
                torch.add(shares[0][diagonal.rows], shares[1][diagonal.columns].flip(0), out=gates[here])
            else:
                gates[here] = shares[0][here]
            gates[here].flatten(0, 1).addmm_(_read(h, diagonal), U.T)
            gates[here][:, :, :dim].tanh_()
            gates[here][:, :, dim:].sigmoid_()
            new, output, write, keep_left, keep_up = gates[here].split(dim, dim=2)
            torch.mul(new, write, out=c[here])
            c[here][diagonal.left.here].addcmul_(c[before][diagonal.left.before], keep_left[diagonal.left.here])
            c[here][diagonal.up.here].addcmul_(c[before][diagonal.up.before], keep_up[diagonal.up.here])
            torch.tanh(c[here], out=h[here]).mul_(output)
        ctx.order, ctx.shapes = order, [share.shape for share in shares]
        ctx.save_for_backward(U, gates, c, h)
        return h

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        U, gates, c, h = ctx.saved_tensors
        dim = c.shape[2]
        of_U, of_h, of_c = torch.zeros_like(U), gradients[0].clone(), torch.zeros_like(c)
        of_shares = [U.new_zeros(shape) for shape in ctx.shapes]
        for diagonal in reversed(_layout(ctx.order)):
            here, before = diagonal.cells, diagonal.before
            of_gates = torch.zeros_like(gates[here])  # of one diagonal: it stays in the cache
            new, output, write, keep_left, keep_up = gates[here].split(dim, dim=2)
            of_new, of_output, of_write, of_left, of_up = of_gates.split(dim, dim=2)
            squashed, dh, dc = c[here].tanh(), of_h[here], of_c[here]
            torch.mul(dh, squashed, out=of_output)
            dc.addcmul_(dh * output, 1 - squashed.square_())
            torch.mul(dc, write, out=of_new)
            torch.mul(dc, new, out=of_write)
            for shared, keep, of_keep in ((diagonal.left, keep_left, of_left), (diagonal.up, keep_up, of_up)):
                torch.mul(dc[shared.here], c[before][shared.before], out=of_keep[shared.here])
                of_c[before][shared.before].addcmul_(dc[shared.here], keep[shared.here])
            torch.ops.aten.tanh_backward.grad_input(of_new, new, grad_input=of_new)
            sigmoids = of_gates[:, :, dim:]
            torch.ops.aten.sigmoid_backward.grad_input(sigmoids, gates[here][:, :, dim:], grad_input=sigmoids)
            of_U.addmm_(of_gates.flatten(0, 1).T, _read(h, diagonal))
            of_read = (of_gates.flatten(0, 1) @ U).unflatten(0, dh.shape[:2])
            of_h[before][diagonal.left.before] += of_read[diagonal.left.here, :, :dim]
            of_h[before][diagonal.up.before] += of_read[diagonal.up.here, :, dim:]
            if len(of_shares) == 2:
                of_shares[0][diagonal.rows] += of_gates
                of_shares[1][diagonal.columns] += of_gates.flip(0)
            else:
                of_shares[0][here] = of_gates
        return of_U, None, *of_shares


def _read(h: Float[Tensor, "cell pair dim"], diagonal: _Diagonal) -> Float[Tensor, "diagonal_pair two_states"]:
    """[h_{i,j−1} ; h_{i−1,j}] of a diagonal's cells, zeros beyond the grid."""
    dim = h.shape[2]
    read = h.new_zeros(diagonal.rows.stop - diagonal.rows.start, h.shape[1], 2 * dim)
    read[diagonal.left.here, :, :dim] = h[diagonal.before][diagonal.left.before]
    read[diagonal.up.here, :, dim:] = h[diagonal.before][diagonal.up.before]
    return read.flatten(0, 1)


@cache
def _laid_out(sizes: tuple[int, ...], first_rows: tuple[int, ...]) -> list[_Diagonal]:
    diagonals, start, earlier, num = list[_Diagonal](), 0, 0, 0
    for k, (first, size) in enumerate(zip(first_rows, sizes, strict=True)):
        shared = []
        for shift in (0, 1):  # the left neighbour has the same row, the one above the row before
            low, high = max(first, earlier + shift), min(first + size, earlier + num + shift)
            high = max(low, high)
            shared.append(_Shared(slice(low - first, high - first), slice(low - shift - earlier, high - shift - earlier)))
        rows, columns = slice(first, first + size), slice(k - first - size + 1, k - first + 1)
        diagonals.append(_Diagonal(slice(start, start + size), slice(start - num, start), rows, columns, *shared))
        start, earlier, num = start + size, first, size
    return diagonals


def _layout(order: Diagonals) -> list[_Diagonal]:
    """Where each diagonal's cells stand, and which of them have a neighbour to the left or above."""
    return _laid_out(tuple(order.sizes), tuple(order.first_rows))
