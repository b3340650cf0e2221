"""Convolutions over words, each device's fast way in float32."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F


def convolved(
    words: Float[Tensor, "text length dim"],
    W: Float[Tensor, "filter dim window"],
    b: Float[Tensor, " filter"] | None,
    before: int = 0,
    after: int = 0,
) -> Float[Tensor, "text outputs filter"]:
    """W·[x_i ; … ; x_{i+window−1}] + b, with so many zeros before the first word and after the last.

    On a CPU torch hands convolutions to oneDNN, which is twice as fast as its matrix products wherever MKL holds back (processors that
    are not Intel's). A GPU's library is fast at them in rounded float32 alone: there they are a product with words laid end to end.

    >>> convolved(torch.tensor([[[1.0], [2.0], [4.0]]]), torch.tensor([[[1.0, 10.0]]]), None, before=1).flatten().tolist()
    [10.0, 21.0, 42.0]
    """
    words = F.pad(words, (0, 0, before, after))
    return as_convolution(words, W, b) if words.is_cpu else as_product(words, W, b)


def as_convolution(
    words: Float[Tensor, "text length dim"], W: Float[Tensor, "filter dim window"], b: Float[Tensor, " filter"] | None
) -> Float[Tensor, "text outputs filter"]:
    """Channels last, as words lie in memory: so nothing is turned around, and each state comes out in one piece."""
    image = words.transpose(1, 2).unsqueeze(2).contiguous(memory_format=torch.channels_last)  # (text, dim, 1, length)
    return F.conv2d(image, W.unsqueeze(2), b).squeeze(2).transpose(1, 2)


def as_product(
    words: Float[Tensor, "text length dim"], W: Float[Tensor, "filter dim window"], b: Float[Tensor, " filter"] | None
) -> Float[Tensor, "text outputs filter"]:
    window, outputs = W.shape[2], words.shape[1] - W.shape[2] + 1
    windows = torch.cat([words[:, place : place + outputs] for place in range(window)], dim=2) if window > 1 else words
    return F.linear(windows, W.transpose(1, 2).flatten(1), b)
