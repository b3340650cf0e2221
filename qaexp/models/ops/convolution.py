"""Convolutions over words and over grids of them, each device's fast way in float32.

On a CPU torch hands convolutions to oneDNN, which is twice as fast as its matrix products wherever MKL holds back (processors that are
not Intel's). A GPU's library is fast at convolutions with rounded factors alone: there they are a product with windows laid end to end.
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
    """W·[x_i ; … ; x_{i+window−1}] + b, with so many zeros before the first word and after the last.

    >>> convolve_words(torch.tensor([[[1.0], [2.0], [4.0]]]), torch.tensor([[[1.0, 10.0]]]), None, before=1).flatten().tolist()
    [10.0, 21.0, 42.0]
    """
    words = F.pad(words, (0, 0, before, after))
    return as_convolution(words, W, b) if words.is_cpu else as_product(words, W, b)


def apply_convolution(layer: nn.Module, units: Float[Tensor, "text channel *places"]) -> Float[Tensor, "text filter *outputs"]:
    """What torch's Conv1d or Conv2d, of stride 1 and without padding, makes of units that are laid out as it has them."""
    assert isinstance(layer, nn.Conv1d | nn.Conv2d)
    if units.is_cpu:
        return layer(units)
    return as_product(units.movedim(1, -1), layer.weight, layer.bias).movedim(-1, 1)


def as_convolution(
    words: Float[Tensor, "text length dim"], W: Float[Tensor, "filter dim window"], b: Float[Tensor, " filter"] | None
) -> Float[Tensor, "text outputs filter"]:
    """Channels last, as words lie in memory: so nothing is turned around, and each state comes out in one piece."""
    return F.conv2d(_image(words), W.unsqueeze(2), b).squeeze(2).transpose(1, 2)


def as_product(
    units: Float[Tensor, "text *places dim"], W: Float[Tensor, "filter dim *window"], b: Float[Tensor, " filter"] | None
) -> Float[Tensor, "text *outputs filter"]:
    """Of units along a line, or in a grid."""
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
    """Each text as a picture of one line of words, with channels last in memory."""
    return rows.transpose(1, 2).unsqueeze(2).contiguous(memory_format=torch.channels_last)
