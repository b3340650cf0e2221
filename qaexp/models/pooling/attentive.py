"""Attentive pooling (dos Santos et al. 2016, §3): each text attends to the words of the other."""

from typing import ClassVar

import torch
from torch import nn

from qaexp.models.intermediates import show
from qaexp.models.masking import masked_amax, masked_softmax
from qaexp.models.stage import Stage
from qaexp.models.types import Text


class AttentivePooling(Stage):
    """Two-way attention from one alignment.

        G = tanh(Qᵀ·U·A)                                                        eq. 13
        g^q_j = max_l G_jl,  g^a_l = max_j G_jl                                 eq. 14–15, over real tokens
        σ^q = softmax(g^q),  σ^a = softmax(g^a)                                 eq. 16
        r^q = Q·σ^q,  r^a = A·σ^a                                               eq. 17–18

    Shows `alignment` (pair, M, L), `question_attention` (pair, M) and `attention` (pair, L): G, σ^q and σ^a.

    A text without words has r = 0, and the weights of its partner are uniform.

    Reading: the paper does not say how U is initialised; its entries are drawn uniformly within ±√(3 / c) (Glorot & Bengio 2010).
    """

    pairwise: ClassVar[bool] = True

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.U = nn.Parameter(torch.empty(input_dim, input_dim))
        nn.init.xavier_uniform_(self.U)
        self.output_dim = input_dim

    def once_per_text(self, side: str, text: Text) -> Text:
        """Adds Qᵀ·U to a question."""
        text = {"mask": text["mask"], "states": text["states"]}
        return {**text, "keys": text["states"] @ self.U} if side == "question" else text

    def forward(self, question: Text, candidate: Text) -> tuple[Text, Text]:
        Q, A = question["states"], candidate["states"]  # (pair, M, c), (pair, L, c)
        G = torch.tanh(question["keys"] @ A.transpose(1, 2))  # (pair, M, L)
        g_question = masked_amax(G, candidate["mask"].unsqueeze(1), dim=2)  # (pair, M)
        g_candidate = masked_amax(G, question["mask"].unsqueeze(2), dim=1)  # (pair, L)
        weights_question = masked_softmax(g_question, question["mask"]) * question["mask"]
        weights_candidate = masked_softmax(g_candidate, candidate["mask"]) * candidate["mask"]
        show("alignment", G)
        show("question_attention", weights_question)
        show("attention", weights_candidate)
        return {"vector": (weights_question.unsqueeze(1) @ Q).squeeze(1)}, {"vector": (weights_candidate.unsqueeze(1) @ A).squeeze(1)}
