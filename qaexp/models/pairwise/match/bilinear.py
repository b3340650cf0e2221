"""Words matched by a bilinear form."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from qaexp.models.pairwise.match.base import Match
from qaexp.models.types import Text


class BilinearMatch(Match):
    """s(u, v) = uᵀ·M·v + b, one slice (Wan et al. 2016, "Interactions between two sentences").

    Reading: the paper does not say how M begins; its entries are drawn uniformly within ±√(3 / dim) (Glorot & Bengio 2010).
    """

    num_slices = 1

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.M = nn.Parameter(torch.empty(input_dim, input_dim))
        nn.init.xavier_uniform_(self.M)
        self.b = nn.Parameter(torch.zeros(1))

    def begin_question(self, text: Text) -> Text:
        return {"mask": text["mask"], "states": text["states"] @ self.M}

    def forward(self, question: Text, candidate: Text) -> Float[Tensor, "pair slice question_length candidate_length"]:
        return (question["states"] @ candidate["states"].transpose(1, 2)).unsqueeze(1) + self.b
