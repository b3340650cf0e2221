"""Masked pooling over grids of word pairs: the words of a question along one axis, those of a candidate along the other.

A grid of a text that is all padding pools to zeros.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from qaexp.models.masking import masked_amax


def grid_mask(
    question: Bool[Tensor, "pair question_length"], candidate: Bool[Tensor, "pair candidate_length"]
) -> Bool[Tensor, "pair 1 question_length candidate_length"]:
    """True where two real words meet.

    >>> grid_mask(torch.tensor([[True, True]]), torch.tensor([[True, False]]))[0, 0].tolist()
    [[True, False], [True, False]]
    """
    return (question[:, :, None] & candidate[:, None, :]).unsqueeze(1)


def k_largest(
    grid: Float[Tensor, "pair slice question_length candidate_length"],
    mask: Bool[Tensor, "pair 1 question_length candidate_length"],
    k: int,
) -> Float[Tensor, "pair slice k"]:
    """The k largest values of each slice in descending order, filled up with zeros if the real grid has fewer.

    >>> k_largest(torch.tensor([[[[-3.0, 1.0, 9.0]]]]), torch.tensor([[[[True, True, False]]]]), k=3).tolist()
    [[[1.0, -3.0, 0.0]]]
    """
    lowest = torch.finfo(grid.dtype).min
    values = grid.masked_fill(~mask, lowest).flatten(2)  # (pair, slice, cell)
    values = F.pad(values, (0, max(0, k - values.shape[2])), value=lowest).topk(k, dim=2).values
    there = mask.flatten(2).sum(dim=2, keepdim=True) > torch.arange(k, device=mask.device)  # (pair, 1, k)
    return values.masked_fill(~there, 0.0)


def max_of_neighbours(z: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """The maximum of every two neighbours along an axis. Units are at least 0, so an odd length is padded with 0.

    Torch's own max-pooling is avoided because its gradients depend on the order of threads on a GPU.

    >>> max_of_neighbours(Tensor([1.0, 4.0, 2.0]), dim=0).tolist()
    [4.0, 2.0]
    """
    after = z.ndim - 1 - dim
    even = F.pad(z, [0, 0] * after + [0, z.shape[dim] % 2])
    return even.unflatten(dim, (-1, 2)).amax(dim=dim + 1)


def max_of_blocks(grid: Float[Tensor, "pair slice question_length candidate_length"]) -> Float[Tensor, "pair slice row column"]:
    """The maximum of each 2 × 2 block. Units are at least 0, and there are zeros beyond the ends of an odd length.

    On a GPU the gradients of torch's own max-pooling depend on the order of threads; on a CPU it is twice as fast.

    >>> max_of_blocks(torch.tensor([[[[1.0, 5.0, 2.0], [3.0, 0.0, 4.0]]]])).tolist()
    [[[[5.0, 4.0]]]]
    """
    if grid.is_cpu:
        return F.max_pool2d(grid, 2, ceil_mode=True)
    return max_of_neighbours(max_of_neighbours(grid, dim=2), dim=3)


def max_by_cell(
    grid: Float[Tensor, "pair slice question_length candidate_length"],
    question: Bool[Tensor, "pair question_length"],
    candidate: Bool[Tensor, "pair candidate_length"],
    rows: int,
    columns: int,
) -> Float[Tensor, "pair slice rows columns"]:
    """Dynamic pooling: the real grid is cut into `rows` × `columns` cells, and the maximum of each is kept (Socher et al. 2011, §3.2).

    Of L words, word i (from 0) belongs to cell ⌊i·cells / L⌋. A cell without words, of a text shorter than its cells, gives 0.

    >>> grid = torch.tensor([[[[1.0, 5.0, 2.0], [3.0, 0.0, 4.0]]]])
    >>> max_by_cell(grid, torch.ones(1, 2).bool(), torch.ones(1, 3).bool(), rows=1, columns=2).tolist()
    [[[[5.0, 4.0]]]]
    """
    by_row = torch.stack([masked_amax(grid, member[:, None, :, None], dim=2) for member in _cells(question, rows)], dim=2)
    return torch.stack([masked_amax(by_row, member[:, None, None, :], dim=3) for member in _cells(candidate, columns)], dim=3)


def _cells(mask: Bool[Tensor, "pair length"], num: int) -> list[Tensor]:
    """The words of each cell, (pair, length) each."""
    lengths = mask.sum(dim=1, keepdim=True).clamp(min=1)
    cell = torch.arange(mask.shape[1], device=mask.device) * num // lengths  # (pair, length)
    return [(cell == number) & mask for number in range(num)]
