"""Convolution and pooling by turns, the encoder of ARC-I (Hu et al. 2014, §2)."""

from collections.abc import Sequence
from itertools import pairwise

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from qaexp.models.ops.convolution import convolved_by
from qaexp.models.stage import Encoder
from qaexp.models.types import Text


class StackedCNN(Encoder):
    """As many turns as `num_filters` names, each of a convolution over `window` units and a maximum over pairs of them.

        z_i^(l) = g(ẑ_i) · ReLU(W^(l)·ẑ_i + b^(l)),  ẑ_i = [z_i ; … ; z_{i+k−1}]^(l−1)
        z_i^(l+1) = max(z_{2i−1}^(l), z_{2i}^(l))

    Hu et al. 2014, §2. The gate g is 0 where all of ẑ is padding, else 1; what comes out is half as long at each turn.

    Reading: a unit looks at itself and what follows, with zeros beyond the end, so that each unit of a text has a window that the gate
    leaves open. The paper pads all texts to one length and hands the last units to the MLP end to end; here a pooling over time makes
    a vector of them, whatever the length.
    """

    def __init__(self, input_dim: int, num_filters: Sequence[int], window: int) -> None:
        super().__init__()
        widths = [input_dim, *num_filters]
        self.convolutions = nn.ModuleList(nn.Conv1d(width, wider, window) for width, wider in pairwise(widths))
        self.after = window - 1
        self.output_dim = widths[-1]

    def finish(self, text: Text) -> Text:
        mask = text["mask"]
        z = text["states"].transpose(1, 2).masked_fill(~mask.unsqueeze(1), 0.0)  # (text, dim, length)
        for convolution in self.convolutions:
            z = convolved_by(convolution, F.pad(z, (0, self.after))).relu().masked_fill(~mask.unsqueeze(1), 0.0)
            z, mask = halved(z, dim=2), mask[:, ::2]
        return {"mask": mask, "states": z.transpose(1, 2)}


def halved(z: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """The maximum of each two neighbours along an axis; no unit is below 0, which padding is.

    Not torch's own max-pooling, whose gradients depend on the order of threads on a GPU.

    >>> halved(Tensor([1.0, 4.0, 2.0]), dim=0).tolist()
    [4.0, 2.0]
    """
    after = z.ndim - 1 - dim
    even = F.pad(z, [0, 0] * after + [0, z.shape[dim] % 2])
    return even.unflatten(dim, (-1, 2)).amax(dim=dim + 1)
