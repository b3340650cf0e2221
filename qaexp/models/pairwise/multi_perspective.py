"""A text from many perspectives: filters over whole words and over single dimensions, in several widths, pooled in several ways."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from qaexp.models.masking import zero_padding
from qaexp.models.ops.convolution import apply_convolution


class MultiPerspectiveCNN(nn.Module):
    """The sentence model of He et al. 2015.

        block A: group_A(ws, p) = p_i(tanh(w_F·[x_i ; … ; x_{i+ws−1}] + b_F)), each holistic filter F, p ∈ {max, min, mean}
        block B: group_B(ws, p) = p_i(tanh(w_F^[k]·[x_i^[k] ; … ; x_{i+ws−1}^[k]] + b_F^[k])), each filter F and dimension k, p ∈ {max, min}

    for widths ws = 1 … `num_widths`; block A also for ws = ∞, where p pools the word vectors themselves.

    Reading: the horizontal comparison sets ws = ∞ beside the other widths, so block A has as many filters as words have dimensions (300
    of both in the paper). A text shorter than a filter is filled up with zeros to one window.
    """

    def __init__(self, input_dim: int, num_widths: int, num_dimension_filters: int) -> None:
        super().__init__()
        widths = range(1, num_widths + 1)
        self.holistic = nn.ModuleList(nn.Conv1d(input_dim, input_dim, ws) for ws in widths)
        self.by_dimension = nn.ModuleList(nn.Conv1d(input_dim, input_dim * num_dimension_filters, ws, groups=input_dim) for ws in widths)
        self.num_dimension_filters = num_dimension_filters

    def forward(
        self, states: Float[Tensor, "text length dim"], mask: Bool[Tensor, "text length"]
    ) -> tuple[Float[Tensor, "text 3 width dim"], Float[Tensor, "text 2 filter dim"]]:
        """Block A by pooling and width, ∞ last; block B by pooling and by filter, the narrow ones first."""
        words = zero_padding(states, mask).transpose(1, 2)  # (text, dim, length)
        lengths = mask.sum(dim=1)
        block_a, block_b = [], []
        for ws, (holistic, by_dimension) in enumerate(zip(self.holistic, self.by_dimension, strict=True), start=1):
            padded = F.pad(words, (0, ws - 1))
            block_a.append(pooled(apply_convolution(holistic, padded).tanh(), lengths - ws + 1))
            filtered = pooled(by_dimension(padded).tanh(), lengths - ws + 1)[:, :2]
            block_b.append(filtered.unflatten(2, (-1, self.num_dimension_filters)).transpose(2, 3))  # (text, 2, filter, dim)
        block_a.append(pooled(words, lengths))
        return torch.stack(block_a, dim=2), torch.cat(block_b, dim=2)


def pooled(outputs: Float[Tensor, "text dim length"], lengths: Int[Tensor, " text"]) -> Float[Tensor, "text 3 dim"]:
    """Maximum, minimum and mean over the first `lengths` outputs of each text, at least one."""
    lengths = lengths.clamp(min=1)
    there = (torch.arange(outputs.shape[2], device=lengths.device) < lengths[:, None]).unsqueeze(1)  # (text, 1, length)
    limits = torch.finfo(outputs.dtype)
    highest = outputs.masked_fill(~there, limits.min).amax(dim=2)
    lowest = outputs.masked_fill(~there, limits.max).amin(dim=2)
    mean = outputs.masked_fill(~there, 0.0).sum(dim=2) / lengths[:, None]
    return torch.stack([highest, lowest, mean], dim=1)
