"""Self-attention behind a gate that brings in the whole text (Xu et al. 2019, §3.1): what GGSA's groups and windows share."""

from typing import ClassVar

from jaxtyping import Bool, Float
from torch import Tensor, nn

from qaexp.models.encoder.self_attention import SelfAttention
from qaexp.models.masking import masked_mean
from qaexp.models.shown import show


class GatedSelfAttention(SelfAttention):
    """The block of GGSA; how far a word attends is a subclass's affair, its `attend` and `reach`.

        x̄ = Σ_i x_i / L                                                         eq. 1, over real tokens
        g_i = σ(W·(x_i ⊙ x̄) + b)
        C = MultiHeadAttention(X ⊙ G)
        Y = LayerNorm(X + C)                                                    eq. 2, the joint
        R = FeedForwardLayer(Y),  H = Y + R                                     eq. 3–4, no norm at the end

    Xu et al. 2019, §3.1. `gate: false` leaves X ungated.

    Shows `gate` (text, length, dim) besides the attention.
    """

    final_norm: ClassVar[bool] = False

    def __init__(self, input_dim: int, num_heads: int, feed_forward_factor: int, scale_by: str, input_scale: float, gate: bool) -> None:
        super().__init__(input_dim, num_heads, feed_forward_factor, scale_by, input_scale)
        self.gate = nn.Linear(input_dim, input_dim) if gate else None

    def context(self, X: Float[Tensor, "text length dim"], mask: Bool[Tensor, "text length"]) -> Float[Tensor, "text length dim"]:
        if self.gate is not None:
            mean = masked_mean(X, mask)  # x̄: (text, dim)
            G = self.gate(X * mean.unsqueeze(1)).sigmoid()
            show("gate", G)
            X = X * G
        return super().context(X, mask)
