"""Convolutions over words and over grids of them, in the way that is fastest on each device in float32.

On a CPU torch computes convolutions with oneDNN, which on processors other than Intel's is twice as fast as MKL's matrix products. On a
GPU cuDNN is fast only with rounded factors (TF32), so a convolution is a matrix product with the concatenated windows.
"""

from itertools import product

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.grad import conv2d_weight


def convolve_words(
    words: Float[Tensor, "text length dim"],
    W: Float[Tensor, "filter dim window"],
    b: Float[Tensor, " filter"] | None,
    before: int = 0,
    after: int = 0,
) -> Float[Tensor, "text outputs filter"]:
    """W·[x_i ; … ; x_{i+window−1}] + b, with `before` zeros before the first word and `after` zeros after the last.

    >>> convolve_words(torch.tensor([[[1.0], [2.0], [4.0]]]), torch.tensor([[[1.0, 10.0]]]), None, before=1).flatten().tolist()
    [10.0, 21.0, 42.0]
    """
    words = F.pad(words, (0, 0, before, after))
    return as_convolution(words, W, b) if words.is_cpu else as_product(words, W, b)


def apply_convolution(layer: nn.Module, units: Float[Tensor, "text channel *places"]) -> Float[Tensor, "text filter *outputs"]:
    """The output of torch's Conv1d or Conv2d, of stride 1 and without padding."""
    assert isinstance(layer, nn.Conv1d | nn.Conv2d)
    if units.is_cpu:
        return layer(units)
    return as_product(units.movedim(1, -1), layer.weight, layer.bias).movedim(-1, 1)


def as_convolution(
    words: Float[Tensor, "text length dim"], W: Float[Tensor, "filter dim window"], b: Float[Tensor, " filter"] | None
) -> Float[Tensor, "text outputs filter"]:
    """By torch's convolution with channels last, as words lie in memory, so that nothing is transposed."""
    return F.conv2d(_image(words), W.unsqueeze(2), b).squeeze(2).transpose(1, 2)


def as_product(
    units: Float[Tensor, "text *places dim"], W: Float[Tensor, "filter dim *window"], b: Float[Tensor, " filter"] | None
) -> Float[Tensor, "text *outputs filter"]:
    """By a matrix product, of units along a line or in a grid."""
    outputs = [length - width + 1 for length, width in zip(units.shape[1:-1], W.shape[2:], strict=True)]
    seen = [
        units[:, *(slice(first, first + number) for first, number in zip(corner, outputs, strict=True))]
        for corner in product(*map(range, W.shape[2:]))
    ]
    windows = torch.cat(seen, dim=-1) if len(seen) > 1 else units
    return F.linear(windows, W.flatten(2).transpose(1, 2).flatten(1), b)


def sum_of_products(outer: Float[Tensor, "length text gate"], inner: Float[Tensor, "length text dim"]) -> Float[Tensor, "gate dim"]:
    """Σ outer·innerᵀ over all words: the gradient of a convolution of width 1 for its weights."""
    if outer.is_cpu:
        return conv2d_weight(_image(inner), (outer.shape[2], inner.shape[2], 1, 1), _image(outer))[:, :, 0, 0]
    return outer.flatten(0, 1).T @ inner.flatten(0, 1)


def _image(rows: Float[Tensor, "text length dim"]) -> Float[Tensor, "text dim 1 length"]:
    """Each text as an image of one row of words, with channels last in memory."""
    return rows.transpose(1, 2).unsqueeze(2).contiguous(memory_format=torch.channels_last)
