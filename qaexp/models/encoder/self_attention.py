"""Global self-attention (Vaswani et al. 2017, as Xu et al. 2019, §2, put it), and the gated block (§3.1) that GGSA builds on."""

import math
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from qaexp.errors import ConfigError
from qaexp.limits import PositiveInt
from qaexp.models.intermediates import is_watched, show
from qaexp.models.masking import masked_mean, masked_softmax
from qaexp.models.stage import Encoder
from qaexp.models.types import Text


def sinusoids(length: int, dim: int, like: Tensor) -> Float[Tensor, "length dim"]:
    """PE(i, j) = sin(i / 10000^(j/D)) for even j, cos(i / 10000^((j-1)/D)) for odd j; positions i count from 0.

    Reading: Xu et al. 2019, §2.2, prints the exponent as 2j/D and takes the encoding from Vaswani et al. 2017, where j
    numbers the (sine, cosine) couples; so do we, and dimension j belongs to couple ⌊j/2⌋.

    >>> sinusoids(2, 4, like=torch.zeros(0))  # sin and cos of i, then of i / 100
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    couple = torch.arange(0, dim, 2, dtype=torch.float32, device=like.device)
    rates = torch.exp(couple * (-math.log(10000.0) / dim))  # (⌈dim/2⌉)
    angles = torch.arange(length, dtype=torch.float32, device=like.device)[:, None] * rates  # (length, ⌈dim/2⌉)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :dim].to(like.dtype)


class FeedForward(nn.Sequential):
    """FeedForwardLayer(x) = W2·ReLU(W1·x + b1) + b2, `factor` times as wide inside (4 in Vaswani et al. 2017)."""

    def __init__(self, dim: int, factor: int) -> None:
        super().__init__(nn.Linear(dim, factor * dim), nn.ReLU(), nn.Linear(factor * dim, dim))


class SelfAttention(Encoder):
    """One block of global self-attention.

        X = α · embeddings + positions
        C = W^o · Concat_i Attention(Q_i, K_i, V_i),  Attention = V · Softmax(QᵀK / √s),  s = D/n or D
        Y = LayerNorm(X + C)                                                    the joint
        R = FeedForwardLayer(Y),  H = LayerNorm(Y + R)

    Xu et al. 2019, §2.1. X is (text, length, D) here, the transpose of the paper's D × L.

    Reading: scores are printed with √D although a head is D/n wide. `scale_by: head` divides by √(D/n), as Vaswani et
    al. 2017 do; `scale_by: model` divides by the printed √D.

    Departs: §2.2 "adds positional encoding to the input embeddings" as they are. Here they are multiplied by α, `input_scale`, as Vaswani
    et al. 2017, §3.4, multiply them by √D. Positions have norm √(D/2) (12 for D = 300), and much shorter word vectors would have little
    weight beside them: α = 5 brings vectors of norm 3, as in `dataset/vectors=own_text`, to 15.

    Shows `attention` (text, head, length, length), from word to word.

    Reading: where the heads do not divide D, as 6 do not divide the 50 of `glove50`, a head is ⌈D/n⌉ wide, and W^o leads back to D.

    Raises:
        ConfigError: `scale_by` is something else.
    """

    final_norm: ClassVar[bool] = True

    def __init__(self, input_dim: int, num_heads: PositiveInt, feed_forward_factor: PositiveInt, scale_by: str, input_scale: float) -> None:
        super().__init__()
        if scale_by not in ("head", "model"):
            raise ConfigError(f"model.encoder.scale_by={scale_by}: choose head or model")
        self.num_heads, self.input_scale = num_heads, input_scale
        head_dim = math.ceil(input_dim / num_heads)
        self.scale = (head_dim if scale_by == "head" else input_dim) ** -0.5
        self.query_key_value = nn.Linear(input_dim, 3 * num_heads * head_dim, bias=False)
        self.output = nn.Linear(num_heads * head_dim, input_dim, bias=False)
        self.attention_norm = nn.LayerNorm(input_dim)
        self.feed_forward = FeedForward(input_dim, feed_forward_factor)
        self.feed_forward_norm = nn.LayerNorm(input_dim) if self.final_norm else nn.Identity()
        self.output_dim = input_dim

    def begin(self, text: Text) -> Text:
        """Up to Y, the layer-normalised sum of words and attention (eq. 2), as `residual`."""
        states = text["states"]
        X = self.input_scale * states + sinusoids(states.shape[1], states.shape[2], like=states)
        Y = self.attention_norm(X + self.context(X, text["mask"]))
        return {"mask": text["mask"], "residual": Y}

    def finish(self, text: Text) -> Text:
        """From Y to H (eq. 3–4)."""
        Y = text["residual"]
        return {"mask": text["mask"], "states": self.feed_forward_norm(Y + self.feed_forward(Y))}

    def context(self, X: Float[Tensor, "text length dim"], mask: Bool[Tensor, "text length"]) -> Float[Tensor, "text length dim"]:
        """C, the output of the attention."""
        QKV = self.query_key_value(X).unflatten(-1, (3, self.num_heads, -1))
        if is_watched():
            show("attention", self.weights(QKV, mask))
        return self.output(self.attend(QKV, mask).flatten(2))

    def attend(
        self, QKV: Float[Tensor, "text length 3 head head_dim"], mask: Bool[Tensor, "text length"]
    ) -> Float[Tensor, "text length head head_dim"]:
        """Attention of each head over all real tokens."""
        return attention(QKV, mask, self.scale)

    def weights(
        self, QKV: Float[Tensor, "text length 3 head head_dim"], mask: Bool[Tensor, "text length"]
    ) -> Float[Tensor, "text head length length"]:
        """The attention weights of `attend` from word (row) to word (column), computed explicitly."""
        Q, K, _ = QKV.permute(2, 0, 3, 1, 4)  # each (text, head, length, head_dim)
        return masked_softmax(self.scale * Q @ K.transpose(2, 3), self.reach(mask.shape[1], like=mask) & mask[:, None, None, :])

    def reach(self, length: int, like: Bool[Tensor, "text length"]) -> Bool[Tensor, "#head length length"]:
        """Which words (columns) each word (row) may attend to."""
        return like.new_ones(1, length, length)


def attention(
    QKV: Float[Tensor, "row length 3 head head_dim"], mask: Bool[Tensor, "row length"], scale: float
) -> Float[Tensor, "row length head head_dim"]:
    """Softmax(scale · Q·Kᵀ)·V over the real tokens of each row. A row that is all padding gives finite numbers, which are not used."""
    Q, K, V = (each.transpose(1, 2) for each in QKV.unbind(2))  # each (row, head, length, head_dim)
    far = torch.finfo(Q.dtype).min / 2  # half of the range, so that a kernel can add a score to it without overflow
    bias = torch.zeros_like(mask, dtype=Q.dtype).masked_fill(~mask, far)
    return F.scaled_dot_product_attention(Q, K, V, attn_mask=bias[:, None, None, :], scale=scale).transpose(1, 2)


class GatedSelfAttention(SelfAttention):
    """The block of GGSA. Subclasses define which words a word attends to, in `attend` and `reach`.

        x̄ = Σ_i x_i / L                                                         eq. 1, over real tokens
        g_i = σ(W·(x_i ⊙ x̄) + b)
        C = MultiHeadAttention(X ⊙ G)
        Y = LayerNorm(X + C)                                                    eq. 2, the joint
        R = FeedForwardLayer(Y),  H = Y + R                                     eq. 3–4, no norm at the end

    Xu et al. 2019, §3.1. `gate: false` leaves X ungated.

    Shows `gate` (text, length, dim) besides the attention.
    """

    final_norm: ClassVar[bool] = False

    def __init__(
        self, input_dim: int, num_heads: PositiveInt, feed_forward_factor: PositiveInt, scale_by: str, input_scale: float, gate: bool
    ) -> None:
        super().__init__(input_dim, num_heads, feed_forward_factor, scale_by, input_scale)
        self.gate = nn.Linear(input_dim, input_dim) if gate else None

    def context(self, X: Float[Tensor, "text length dim"], mask: Bool[Tensor, "text length"]) -> Float[Tensor, "text length dim"]:
        if self.gate is not None:
            mean = masked_mean(X, mask)  # x̄: (text, dim)
            G = self.gate(X * mean.unsqueeze(1)).sigmoid()
            show("gate", G)
            X = X * G
        return super().context(X, mask)
