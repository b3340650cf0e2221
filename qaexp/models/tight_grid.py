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
    """Counted from the last one, so that they ascend as the rows do."""
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
    """Features come first and pairs last, so that each gate of a diagonal is one stretch of memory."""

    @staticmethod
    def forward(ctx: Any, U: Tensor, order: Diagonals, *shares: Tensor) -> Tensor:
        dim, layout = U.shape[0] // 5, _layout(order)
        by_feature = [share.permute(2, 0, 1).contiguous() for share in shares]  # (gates, ·, pair)
        if len(by_feature) == 2:
            by_feature[1] = by_feature[1].flip(1)
        c = h = U.new_zeros(dim, 0, shares[0].shape[1])
        kept, states = list[Tensor](), list[Tensor]()
        for diagonal in layout:
            gates = _share(by_feature, diagonal).contiguous()
            gates.flatten(1).addmm_(U, _read(h, diagonal))
            gates[:dim].tanh_()
            gates[dim:].sigmoid_()
            new, output, write, keep_left, keep_up = gates.split(dim)
            before, c = c, new * write
            c[:, diagonal.left.here].addcmul_(before[:, diagonal.left.before], keep_left[:, diagonal.left.here])
            c[:, diagonal.up.here].addcmul_(before[:, diagonal.up.before], keep_up[:, diagonal.up.here])
            squashed = c.tanh()
            h = squashed * output
            kept += [gates, c, squashed]
            states.append(h)
        ctx.order, ctx.shapes = order, [share.shape for share in by_feature]
        ctx.save_for_backward(U, *kept)
        return torch.cat(states, dim=1).permute(1, 2, 0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        U, *kept = ctx.saved_tensors
        dim, layout = U.shape[0] // 5, _layout(ctx.order)
        of_states = gradients[0].permute(2, 0, 1).contiguous()  # (dim, cell, pair)
        of_U, of_shares = torch.zeros_like(U), [U.new_zeros(shape) for shape in ctx.shapes]
        none = U.new_zeros(dim, 0, of_states.shape[2])
        of_h, of_c = of_states[:, layout[-1].cells].clone(), torch.zeros_like(of_states[:, layout[-1].cells])
        for place in range(len(layout) - 1, -1, -1):
            diagonal, (gates, _, squashed) = layout[place], kept[3 * place : 3 * place + 3]
            before_gates, before_c, before_squashed = kept[3 * place - 3 : 3 * place] if place else (none, none, none)
            new, output, write, keep_left, keep_up = gates.split(dim)
            of_gates = torch.empty_like(gates)
            of_new, of_output, of_write, of_left, of_up = of_gates.split(dim)
            torch.mul(of_h, squashed, out=of_output)
            of_c.add_(torch.ops.aten.tanh_backward(of_h.mul_(output), squashed))
            torch.mul(of_c, write, out=of_new)
            torch.mul(of_c, new, out=of_write)
            of_before = torch.zeros_like(before_c)
            for shared, keep, of_keep in ((diagonal.left, keep_left, of_left), (diagonal.up, keep_up, of_up)):
                of_keep[:, : shared.here.start] = 0
                of_keep[:, shared.here.stop :] = 0
                torch.mul(of_c[:, shared.here], before_c[:, shared.before], out=of_keep[:, shared.here])
                of_before[:, shared.before].addcmul_(of_c[:, shared.here], keep[:, shared.here])
            torch.ops.aten.tanh_backward.grad_input(of_new, new, grad_input=of_new)
            torch.ops.aten.sigmoid_backward.grad_input(of_gates[dim:], gates[dim:], grad_input=of_gates[dim:])
            before_h = before_gates[dim : 2 * dim] * before_squashed if place else none
            of_U.addmm_(of_gates.flatten(1), _read(before_h, diagonal).T)
            if place:
                of_read = (U.T @ of_gates.flatten(1)).unflatten(1, gates.shape[1:])
                of_h = of_states[:, diagonal.before].clone()
                of_h[:, diagonal.left.before] += of_read[:dim, diagonal.left.here]
                of_h[:, diagonal.up.before] += of_read[dim:, diagonal.up.here]
            of_c = of_before
            _add_share(of_shares, diagonal, of_gates)
        if len(of_shares) == 2:
            of_shares[1] = of_shares[1].flip(1)
        return of_U, None, *(share.permute(1, 2, 0) for share in of_shares)


def _share(shares: list[Tensor], diagonal: _Diagonal) -> Float[Tensor, "gates diagonal pair"]:
    """What a diagonal's gates have besides the states read."""
    if len(shares) == 2:
        return shares[0][:, diagonal.rows] + shares[1][:, diagonal.columns]
    return shares[0][:, diagonal.cells]


def _add_share(of_shares: list[Tensor], diagonal: _Diagonal, of_gates: Float[Tensor, "gates diagonal pair"]) -> None:
    if len(of_shares) == 2:
        of_shares[0][:, diagonal.rows] += of_gates
        of_shares[1][:, diagonal.columns] += of_gates
    else:
        of_shares[0][:, diagonal.cells] = of_gates


def _read(h: Float[Tensor, "dim before pair"], diagonal: _Diagonal) -> Float[Tensor, "two_states diagonal_pair"]:
    """[h_{i,j−1} ; h_{i−1,j}] of a diagonal's cells, zeros beyond the grid."""
    dim = len(h)
    read = h.new_zeros(2 * dim, diagonal.rows.stop - diagonal.rows.start, h.shape[2])
    read[:dim, diagonal.left.here] = h[:, diagonal.left.before]
    read[dim:, diagonal.up.here] = h[:, diagonal.up.before]
    return read.flatten(1)


@cache
def _laid_out(sizes: tuple[int, ...], first_rows: tuple[int, ...], num_columns: int) -> list[_Diagonal]:
    diagonals, start, earlier, num = list[_Diagonal](), 0, 0, 0
    for k, (first, size) in enumerate(zip(first_rows, sizes, strict=True)):
        shared = []
        for shift in (0, 1):  # the left neighbour has the same row, the one above the row before
            low, high = max(first, earlier + shift), min(first + size, earlier + num + shift)
            high = max(low, high)
            shared.append(_Shared(slice(low - first, high - first), slice(low - shift - earlier, high - shift - earlier)))
        column = num_columns - 1 - k + first
        rows, columns = slice(first, first + size), slice(column, column + size)
        diagonals.append(_Diagonal(slice(start, start + size), slice(start - num, start), rows, columns, *shared))
        start, earlier, num = start + size, first, size
    return diagonals


def _layout(order: Diagonals) -> list[_Diagonal]:
    """Where each diagonal's cells stand, and which of them have a neighbour to the left or above."""
    return _laid_out(tuple(order.sizes), tuple(order.first_rows), int(order.columns.max()) + 1)
