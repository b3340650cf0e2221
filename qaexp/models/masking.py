"""Functions of masked texts: maximum, mean and softmax over real tokens, the last real state, states with zeros on padding.

Masks are True on real tokens; states are finite on padding, too. Every function gives finite values and gradients for a text that is all
padding (zeros for the poolings), so that rows of padding never turn into NaN.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from qaexp.models.ops.exported import is_exporting

NUMBERS_PER_SLICE = {"cpu": 2**17}
"""How many numbers are masked at once on a CPU: copies of a few texts stay in its cache, so they are cheaper than one copy of all."""


def zero_padding(states: Float[Tensor, "text length dim"], mask: Bool[Tensor, "text length"]) -> Float[Tensor, "text length dim"]:
    """The states, with zeros on padding.

    >>> zero_padding(torch.tensor([[[2.0], [9.0]]]), torch.tensor([[True, False]])).tolist()
    [[[2.0], [0.0]]]
    """
    return states.masked_fill(~mask.unsqueeze(2), 0.0)


def masked_amax(values: Float[Tensor, "*shape"], mask: Bool[Tensor, "*#shape"], dim: int) -> Float[Tensor, "..."]:
    """Maximum over the real entries along one axis, such as the words of one text in a grid; 0 where there is none.

    >>> masked_amax(torch.tensor([[-2.0, -1.0, 9.0]]), torch.tensor([[True, True, False]]), dim=1).item()
    -1.0
    """
    lowest = torch.finfo(values.dtype).min
    return values.masked_fill(~mask, lowest).amax(dim=dim).masked_fill(~mask.any(dim=dim), 0.0)


def masked_max(states: Float[Tensor, "text length dim"], mask: Bool[Tensor, "text length"]) -> Float[Tensor, "text dim"]:
    """Maximum over real tokens, per dimension: `masked_amax` of states, with fewer copies of them.

    >>> masked_max(torch.tensor([[[-2.0], [-1.0], [9.0]]]), torch.tensor([[True, True, False]])).item()
    -1.0
    """
    bias = torch.zeros_like(mask, dtype=states.dtype).masked_fill(~mask, torch.finfo(states.dtype).min).unsqueeze(-1)
    if is_exporting():  # the export would fix the sizes of the slices
        return (states + bias).amax(dim=1).masked_fill(~mask.any(dim=1, keepdim=True), 0.0)
    size = max(1, NUMBERS_PER_SLICE.get(states.device.type, states.numel()) // max(1, states.shape[1] * states.shape[2]))
    highest = torch.cat([(some + low).amax(dim=1) for some, low in zip(states.split(size), bias.split(size), strict=True)])
    return highest.masked_fill(~mask.any(dim=1, keepdim=True), 0.0)


def masked_mean(states: Float[Tensor, "text length dim"], mask: Bool[Tensor, "text length"]) -> Float[Tensor, "text dim"]:
    """Mean over real tokens, per dimension.

    >>> masked_mean(torch.tensor([[[2.0], [4.0], [9.0]]]), torch.tensor([[True, True, False]])).item()
    3.0
    """
    total = torch.einsum("tl,tld->td", mask.to(states.dtype), states)
    return total / mask.sum(dim=1, keepdim=True).clamp(min=1)


def masked_softmax(scores: Float[Tensor, "*rows length"], mask: Bool[Tensor, "*#rows length"]) -> Float[Tensor, "*rows length"]:
    """Softmax over real tokens; padding gets 0. In a row without real tokens all weights are equal; they must not be used.

    >>> masked_softmax(torch.tensor([1.0, 1.0, 7.0]), torch.tensor([True, True, False])).tolist()
    [0.5, 0.5, 0.0]
    """
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim=-1)


def last_real(H: Float[Tensor, "text length dim"], mask: Bool[Tensor, "text length"]) -> Float[Tensor, "text dim"]:
    """The state of the last real token; the state at position 0 if a text has no real token.

    >>> H = torch.tensor([[[2.0], [4.0], [9.0]], [[2.0], [4.0], [9.0]]])
    >>> last_real(H, torch.tensor([[True, True, False], [False, False, False]])).flatten().tolist()
    [4.0, 2.0]
    """
    return H[torch.arange(H.shape[0], device=H.device), (mask.sum(dim=1) - 1).clamp(min=0)]
