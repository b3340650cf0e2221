"""A block of coupled LSTMs over a batch of padded grids: its written-out gradients, its padding, and what it keeps."""

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck
from torch.autograd.graph import saved_tensors_hooks

from qaexp.models.ops.coupled_cells import CoupledCell, LooseCell, TightCell
from qaexp.models.ops.coupled_grid import CORNERS, over_cells, over_words

CELLS = [TightCell, LooseCell]
SHAPES = [([3, 2, 1], [4, 1, 2]), ([1, 1, 1], [3, 2, 1]), ([3, 1, 2], [1, 1, 1])]
WIDTH, DIM = 3, 2


def mask(lengths: list[int]) -> Tensor:
    """(length, pair), as a block takes it."""
    return (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).T


def block(kind: type[CoupledCell], stacked: bool) -> CoupledCell:
    torch.manual_seed(1)
    return kind(WIDTH, DIM, stacked).double()


@pytest.mark.parametrize("num_directions", [1, 4])
@pytest.mark.parametrize("lengths", SHAPES, ids=str)
@pytest.mark.parametrize("kind", CELLS)
def test_gradients_are_those_of_finite_differences(
    kind: type[CoupledCell], lengths: tuple[list[int], list[int]], num_directions: int
) -> None:
    rows, columns = map(mask, lengths)
    gates = kind.num_gates * DIM
    for stacked in (False, True):
        cell = block(kind, stacked)
        U = cell.recurrent.weight
        if stacked:
            below = (gates, kind.num_parts, len(rows) * len(columns), 3)
            shares = [torch.randn(below, dtype=torch.float64, requires_grad=True)]
            assert gradcheck(lambda below, U: over_cells(cell, below, rows, columns, num_directions), [*shares, U])  # noqa: B023
        else:
            shares = [torch.randn(gates, len(side), 3, dtype=torch.float64, requires_grad=True) for side in (rows, columns)]
            assert gradcheck(lambda x, y, U: over_words(cell, x, y, rows, columns, num_directions), [*shares, U])  # noqa: B023


@pytest.mark.parametrize("kind", CELLS)
def test_no_direction_reads_padding(kind: type[CoupledCell]) -> None:
    """What stands beyond a pair's own words changes none of its cells, and gets no gradient from them."""
    lengths = SHAPES[0]
    rows, columns = map(mask, lengths)
    real = (rows[:, None] & columns[None]).flatten(0, 1)  # (row · column, pair)
    for stacked in (False, True):
        cell, gates = block(kind, stacked), kind.num_gates * DIM
        shapes = [(gates, kind.num_parts, len(real), 3)] if stacked else [(gates, len(rows), 3), (gates, len(columns), 3)]
        there = [real] if stacked else [rows, columns]
        shares = [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
        noisy = [share.detach() + 100 * ~mask for share, mask in zip(shares, there, strict=True)]
        over = over_cells if stacked else over_words
        H, again = (over(cell, *given, rows, columns, num_directions=4) for given in (shares, noisy))
        torch.testing.assert_close(again[..., real], H[..., real], rtol=0, atol=0)
        for gradient, mask_of_share in zip(torch.autograd.grad(H[..., real].square().sum(), shares), there, strict=True):
            assert not gradient[..., ~mask_of_share].any()
            assert gradient[..., mask_of_share].any(dim=0).all()


@pytest.mark.parametrize("kind", CELLS)
def test_four_directions_of_one_grid_are_the_one_direction_of_its_four_mirror_images(kind: type[CoupledCell]) -> None:
    cell, gates = block(kind, stacked=False), kind.num_gates * DIM
    x, y = torch.randn(gates, 4, 2, dtype=torch.float64), torch.randn(gates, 3, 2, dtype=torch.float64)
    rows, columns = mask([4, 4]), mask([3, 3])
    expected = torch.zeros(DIM, kind.num_parts, 4, 3, 2, dtype=torch.float64)
    for from_last_row, from_last_column in CORNERS:
        turned_x, turned_y = x.flip(1) if from_last_row else x, y.flip(1) if from_last_column else y
        turned = over_words(cell, turned_x, turned_y, rows, columns, num_directions=1).unflatten(2, (4, 3))
        expected += turned.flip([axis for axis, is_turned in ((2, from_last_row), (3, from_last_column)) if is_turned])
    H = over_words(cell, x, y, rows, columns, num_directions=4)
    torch.testing.assert_close(H.unflatten(2, (4, 3)), expected)


@pytest.mark.parametrize("kind", CELLS)
def test_memory_grows_with_the_cells_and_scoring_keeps_none(kind: type[CoupledCell]) -> None:
    cell = kind(WIDTH, DIM, stacked=False)

    def kept(side: int) -> int:
        storages = dict[int, int]()

        def note(tensor: Tensor) -> Tensor:
            storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        words = [torch.randn(kind.num_gates * DIM, side, 5) for _ in range(2)]
        with saved_tensors_hooks(note, lambda tensor: tensor):
            H = over_words(cell, *words, mask([side] * 5), mask([side] * 5), num_directions=4)
        assert H.requires_grad == torch.is_grad_enabled()
        return sum(storages.values())

    assert 3.5 < kept(40) / kept(20) < 4.0
    with torch.no_grad():
        assert kept(20) == 0
