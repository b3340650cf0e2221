"""Gated group self-attention (Xu et al. 2019, §3.1): words attend within groups; a gate brings in the whole text."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from qaexp.errors import ConfigError
from qaexp.limits import PositiveInt
from qaexp.models.encoder.self_attention import GatedSelfAttention, attention


class GatedGroupSelfAttention(GatedSelfAttention):
    """One GGSA block: that of `GatedSelfAttention`, with C = GroupMultiHeadAttention(X ⊙ G), where a word attends to its group.

    `gate: false` leaves X ungated and `offset: 0` puts every head's borders in the same places, which together make the
    "group self-attention" of Table 4.

    Reading: the first half of the heads cuts the text at 0, l, 2l, ...; the other half at o, o + l, ..., so its first group is `offset`
    words long (§3.1.2 and Figure 5). The end of a text is never joined to its beginning. With an odd number of heads the extra one has
    offset 0, and so has a single head.

    Shows `gate` (text, length, dim) besides the attention, which is zero between groups.

    Raises:
        ConfigError: the offset is not smaller than the group.
    """

    def __init__(
        self,
        input_dim: int,
        num_heads: PositiveInt,
        feed_forward_factor: PositiveInt,
        scale_by: str,
        input_scale: float,
        group_size: PositiveInt,
        offset: int,
        gate: bool,
    ) -> None:
        super().__init__(input_dim, num_heads, feed_forward_factor, scale_by, input_scale, gate)
        if not 0 <= offset < group_size:
            raise ConfigError(f"model.encoder.offset={offset} must be at least 0 and smaller than model.encoder.group_size={group_size}")
        self.group_size, self.offset = group_size, offset

    def attend(
        self, QKV: Float[Tensor, "text length 3 head head_dim"], mask: Bool[Tensor, "text length"]
    ) -> Float[Tensor, "text length head head_dim"]:
        """Attention of each head within its groups."""
        aligned = (self.num_heads + 1) // 2
        if self.offset == 0 or aligned == self.num_heads:
            return self._in_groups(QKV, mask, offset=0)
        straight, shifted = QKV.split([aligned, self.num_heads - aligned], dim=3)
        return torch.cat([self._in_groups(straight, mask, offset=0), self._in_groups(shifted, mask, offset=self.offset)], dim=2)

    def reach(self, length: int, like: Bool[Tensor, "text length"]) -> Bool[Tensor, "#head length length"]:
        """Words of the same group."""
        heads = torch.arange(self.num_heads, device=like.device)
        offsets = torch.where(heads < (self.num_heads + 1) // 2, 0, self.offset)
        groups = (torch.arange(length, device=like.device) - offsets[:, None]).div(self.group_size, rounding_mode="floor")  # (head, length)
        return groups[:, :, None] == groups[:, None, :]

    def _in_groups(
        self, QKV: Float[Tensor, "text length 3 head head_dim"], mask: Bool[Tensor, "text length"], offset: int
    ) -> Float[Tensor, "text length head head_dim"]:
        """Attention within groups whose borders are shifted by `offset`: padding in front moves them, and fills the last group."""
        num_texts, length = mask.shape
        front = -offset % self.group_size
        back = -(front + length) % self.group_size
        QKV = F.pad(QKV, (0, 0, 0, 0, 0, 0, front, back)).unflatten(1, (-1, self.group_size)).flatten(0, 1)  # (text · group, l, 3, head, d)
        grouped = F.pad(mask, (front, back)).unflatten(1, (-1, self.group_size)).flatten(0, 1)  # (text · group, l)
        S = attention(QKV, grouped, self.scale)
        return S.reshape(num_texts, front + length + back, *S.shape[2:])[:, front : front + length]
