"""Attention of the pooled question over the answer's states (Tan et al. 2016): the pooling of "QA-LSTM with attention"."""

from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from qaexp.errors import ConfigError
from qaexp.models.intermediates import show
from qaexp.models.masking import masked_max, masked_mean, masked_softmax
from qaexp.models.stage import Stage
from qaexp.models.types import Text


class QuestionAttention(Stage):
    """The pooled question attends to the answer's states; then the answer is pooled as the question was.

        o_q = pool_t h_q(t)
        m_{a,q}(t) = W_am·h_a(t) + W_qm·o_q                                     eq. 9
        s_{a,q}(t) ∝ exp(w_msᵀ·tanh(m_{a,q}(t)))                                eq. 10, over real tokens
        h̃_a(t) = L·h_a(t)·s_{a,q}(t),  o_a = pool_t h̃_a(t)                      eq. 11

    Tan et al. 2016, "LSTM-based deep learning models for non-factoid answer selection", §3.4. `pool` is max or mean; with mean, o_a is the
    attention's weighted sum of states.

    Departs: L, the length of the answer, is not in the paper. The paper's cosine does not depend on it. With it, uniform attention is plain
    pooling, and longer answers do not have shorter vectors under other similarities.

    Reading: Xu et al. 2019 name no `pool` for their rows "with attention"; conf/ has mean, the weighted sum.

    Shows `attention` (pair, length): s of each word of the candidate.

    Raises:
        ConfigError: `pool` is neither max nor mean.
    """

    pairwise: ClassVar[bool] = True

    def __init__(self, input_dim: int, pool: str) -> None:
        super().__init__()
        if pool not in ("max", "mean"):
            raise ConfigError(f"model.pooling.pool={pool}: choose max or mean")
        self.pool = pool
        self.W_am = nn.Linear(input_dim, input_dim, bias=False)
        self.W_qm = nn.Linear(input_dim, input_dim, bias=False)
        self.w_ms = nn.Linear(input_dim, 1, bias=False)
        self.output_dim = input_dim

    def once_per_text(self, side: str, text: Text) -> Text:
        """o_q of a question; W_am·h_a of a candidate."""
        if side == "question":
            return {"mask": text["mask"], "vector": self._over_time(text["states"], text["mask"])}
        return {"mask": text["mask"], "states": text["states"], "keys": self.W_am(text["states"])}

    def forward(self, question: Text, candidate: Text) -> tuple[Text, Text]:
        o_q, mask = question["vector"], candidate["mask"]
        m = candidate["keys"] + self.W_qm(o_q).unsqueeze(1)  # (pair, length, dim)
        s = masked_softmax(self.w_ms(m.tanh()).squeeze(-1), mask)  # (pair, length)
        show("attention", s)
        if self.pool == "mean":  # mean_t L·s(t)·h(t) = Σ_t s(t)·h(t), without a copy of the states
            return {"vector": o_q}, {"vector": torch.einsum("pt,ptd->pd", s * mask, candidate["states"])}
        weights = s * mask.sum(dim=1, keepdim=True)  # L·s
        return {"vector": o_q}, {"vector": masked_max(candidate["states"] * weights.unsqueeze(-1), mask)}

    def _over_time(self, states: Float[Tensor, "text length dim"], mask: Bool[Tensor, "text length"]) -> Float[Tensor, "text dim"]:
        return (masked_max if self.pool == "max" else masked_mean)(states, mask)
