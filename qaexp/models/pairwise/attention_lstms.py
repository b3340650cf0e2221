"""Attention LSTMs (Rocktäschel et al. 2016, §2.3), a row of Liu et al. 2016, Tables 2 and 4."""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from qaexp.models.intermediates import show
from qaexp.models.masking import last_real, masked_softmax
from qaexp.models.pairwise.conditional_lstm import ConditionalLSTMs
from qaexp.models.scorer import draw_uniformly


class AttentionLSTMs(ConditionalLSTMs):
    """The candidate's last state attends to the question's words.

        M = tanh(W^y·Y + W^h·h_N ⊗ e_L)                                         eq. 7
        α = softmax(wᵀ·M)                                                       eq. 8, over real tokens
        r = Y·αᵀ                                                                eq. 9
        h* = tanh(W^p·r + W^x·h_N)                                              eq. 10

    Shows `attention` (pair, question length): α.
    """

    def __init__(self, hidden_dim: int, initial_bound: float, **settings: Any) -> None:
        super().__init__(hidden_dim=hidden_dim, **settings)
        self.W_y, self.W_h, self.W_p, self.W_x = (nn.Linear(hidden_dim, hidden_dim, bias=False) for _ in range(4))
        self.w = nn.Linear(hidden_dim, 1, bias=False)
        draw_uniformly(self, initial_bound)

    def read(
        self,
        Y: Float[Tensor, "pair question_length dim"],
        question: Bool[Tensor, "pair question_length"],
        H: Float[Tensor, "pair candidate_length dim"],
        candidate: Bool[Tensor, "pair candidate_length"],
    ) -> Float[Tensor, "pair dim"]:
        h = last_real(H, candidate)
        M = torch.tanh(self.W_y(Y) + self.W_h(h).unsqueeze(1))  # (pair, question_length, dim)
        weights = masked_softmax(self.w(M).squeeze(2), question)
        show("attention", weights)
        r = (weights.unsqueeze(1) @ Y).squeeze(1)  # (pair, dim)
        return torch.tanh(self.W_p(r) + self.W_x(h))
