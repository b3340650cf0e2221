"""Pooling over grids of word pairs against loops over their real cells."""

import pytest
import torch

from qaexp.models.ops.grid import grid_mask, k_largest, max_by_cell

QUESTION, CANDIDATE = [3, 1, 2, 0], [4, 2, 5, 3]


@pytest.fixture
def grid() -> torch.Tensor:
    return torch.randn(4, 2, 3, 5, generator=torch.Generator().manual_seed(1))


def masks() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.arange(3) < torch.tensor(QUESTION)[:, None], torch.arange(5) < torch.tensor(CANDIDATE)[:, None]


@pytest.mark.parametrize("k", [1, 3, 20])
def test_the_largest_of_the_real_grid(grid: torch.Tensor, k: int) -> None:
    values = k_largest(grid, grid_mask(*masks()), k)
    for pair, (rows, columns) in enumerate(zip(QUESTION, CANDIDATE, strict=True)):
        for piece in range(2):
            real = sorted(grid[pair, piece, :rows, :columns].flatten().tolist(), reverse=True)[:k]
            assert values[pair, piece].tolist() == real + [0.0] * (k - len(real))


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 2), (2, 3)])
def test_the_maximum_of_each_cell(grid: torch.Tensor, rows: int, columns: int) -> None:
    pooled = max_by_cell(grid, *masks(), rows, columns)
    assert pooled.shape == (4, 2, rows, columns)
    for pair, (height, width) in enumerate(zip(QUESTION, CANDIDATE, strict=True)):
        for piece in range(2):
            cells: dict[tuple[int, int], list[float]] = {}
            for i in range(height):
                for j in range(width):
                    cells.setdefault((i * rows // height, j * columns // width), []).append(grid[pair, piece, i, j].item())
            for row in range(rows):
                for column in range(columns):
                    assert pooled[pair, piece, row, column].item() == max(cells.get((row, column), [0.0]))
