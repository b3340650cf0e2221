"""Word-by-word attention LSTMs (Rocktäschel et al. 2016, §2.4), a row of Liu et al. 2016, Tables 2 and 4."""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from qaexp.models.intermediates import show
from qaexp.models.masking import last_real, masked_softmax
from qaexp.models.pairwise.conditional_lstm import ConditionalLSTMs
from qaexp.models.scorer import draw_uniformly


class WordAttentionLSTMs(ConditionalLSTMs):
    """Each word of the candidate attends to the question's words, and to what was attended to before.

        M_t = tanh(W^y·Y + (W^h·h_t + W^r·r_{t−1}) ⊗ e_L)                       eq. 11
        α_t = softmax(wᵀ·M_t)                                                   eq. 12, over real tokens
        r_t = Y·α_tᵀ + tanh(W^t·r_{t−1}),  r_0 = 0                              eq. 13
        h* = tanh(W^p·r_L + W^x·h_N)                                            eq. 14

    Shows `attention` (pair, candidate length, question length): α.
    """

    def __init__(self, hidden_dim: int, initial_bound: float, **settings: Any) -> None:
        super().__init__(hidden_dim=hidden_dim, **settings)
        self.W_y, self.W_h, self.W_r, self.W_t, self.W_p, self.W_x = (nn.Linear(hidden_dim, hidden_dim, bias=False) for _ in range(6))
        self.w = nn.Linear(hidden_dim, 1, bias=False)
        draw_uniformly(self, initial_bound)

    def read(
        self,
        Y: Float[Tensor, "pair question_length dim"],
        question: Bool[Tensor, "pair question_length"],
        H: Float[Tensor, "pair candidate_length dim"],
        candidate: Bool[Tensor, "pair candidate_length"],
    ) -> Float[Tensor, "pair dim"]:
        keys, queries = self.W_y(Y), self.W_h(H)  # what does not wait for the loop
        r, attention = torch.zeros_like(Y[:, 0]), []
        for t in range(H.shape[1]):
            M = torch.tanh(keys + (queries[:, t] + self.W_r(r)).unsqueeze(1))  # (pair, question_length, dim)
            weights = masked_softmax(self.w(M).squeeze(2), question)
            after = (weights.unsqueeze(1) @ Y).squeeze(1) + torch.tanh(self.W_t(r))
            r = torch.where(candidate[:, t : t + 1], after, r)  # padding leaves it as it is
            attention.append(weights)
        show("attention", torch.stack(attention, dim=1))
        return torch.tanh(self.W_p(r) + self.W_x(last_real(H, candidate)))
