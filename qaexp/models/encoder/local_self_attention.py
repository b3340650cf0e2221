"""Local self-attention (Xu et al. 2019, §3.1.1 and Table 3): every word attends to the words in a window around it."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from qaexp.errors import ConfigError
from qaexp.limits import PositiveInt
from qaexp.models.encoder.self_attention import GatedSelfAttention
from qaexp.models.masking import masked_softmax


class LocalSelfAttention(GatedSelfAttention):
    """A window of `window_size` words, its own in the middle, in place of GGSA's groups; with `gate`, GGSA's global information gate.

    Xu et al. 2019, Figure 4(b): "a sliding window moves from left to right with a stepsize being one word ... the self-attention is only
    performed for the central word". Table 3 has it with and without the gate.

    Reading: the block is GGSA's, without a norm at its end, since "both group self-attention and local self-attention can be adopted in
    our GGSA model" (§4.3.1). At the ends of a text the window is shorter.

    Shows `attention` (text, head, length, length), zero beyond the window, and `gate` (text, length, dim).

    Raises:
        ConfigError: the window has no middle.
    """

    def __init__(
        self,
        input_dim: int,
        num_heads: PositiveInt,
        feed_forward_factor: PositiveInt,
        scale_by: str,
        input_scale: float,
        window_size: PositiveInt,
        gate: bool,
    ) -> None:
        super().__init__(input_dim, num_heads, feed_forward_factor, scale_by, input_scale, gate)
        if window_size % 2 == 0:
            raise ConfigError(f"model.encoder.window_size={window_size}: a window has a middle word, so it is odd")
        self.window_size = window_size

    def attend(
        self, QKV: Float[Tensor, "text length 3 head head_dim"], mask: Bool[Tensor, "text length"]
    ) -> Float[Tensor, "text length head head_dim"]:
        """Attention of each word over its window."""
        Q, K, V = QKV.unbind(dim=2)  # each (text, length, head, head_dim)
        side = self.window_size // 2
        keys, values = (F.pad(each, (0, 0, 0, 0, side, side)).unfold(1, self.window_size, 1) for each in (K, V))  # (..., head_dim, window)
        near = F.pad(mask, (side, side)).unfold(1, self.window_size, 1)  # (text, length, window)
        weights = masked_softmax(self.scale * torch.einsum("tlhd,tlhdw->tlhw", Q, keys), near.unsqueeze(2))
        return torch.einsum("tlhw,tlhdw->tlhd", weights, values)

    def reach(self, length: int, like: Bool[Tensor, "text length"]) -> Bool[Tensor, "#head length length"]:
        """Words within the window around each word."""
        places = torch.arange(length, device=like.device)
        return ((places[:, None] - places).abs() <= self.window_size // 2).unsqueeze(0)
