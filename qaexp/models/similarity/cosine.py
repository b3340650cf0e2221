"""Similarities in closed form: cosine and GESD, whose scores stay within a range, and the dot product."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from qaexp.errors import ConfigError
from qaexp.models.stage import Similarity


class Cosine(Similarity):
    """cos(v^q, v^a) = v^q·v^a / (‖v^q‖ ‖v^a‖), in [-1, 1]; 0 where a vector is zero."""

    bounded = True

    def __init__(self, input_dim: int) -> None:
        super().__init__()

    def forward(self, question: Float[Tensor, "pair dim"], candidate: Float[Tensor, "pair dim"]) -> Float[Tensor, " pair"]:
        return F.cosine_similarity(question, candidate, dim=-1)


class Dot(Similarity):
    """v^q·v^a."""

    def __init__(self, input_dim: int) -> None:
        super().__init__()

    def forward(self, question: Float[Tensor, "pair dim"], candidate: Float[Tensor, "pair dim"]) -> Float[Tensor, " pair"]:
        return (question * candidate).sum(dim=-1)


class GESD(Similarity):
    """1 / (1 + ‖x − y‖) · 1 / (1 + exp(−γ(x·y + c))), between 0 and 1; Feng et al. 2015, Table 4, have γ = 1 and c = 1.

    "Geometric mean of Euclidean and Sigmoid Dot": the paper prints the product without a root; a root would not change the ranking.

    Raises:
        ConfigError: γ is not positive.
    """

    bounded = True

    def __init__(self, input_dim: int, gamma: float, c: float) -> None:
        super().__init__()
        if gamma <= 0:
            raise ConfigError(f"model.similarity.gamma={gamma} must be above 0")
        self.gamma, self.c = gamma, c

    def forward(self, question: Float[Tensor, "pair dim"], candidate: Float[Tensor, "pair dim"]) -> Float[Tensor, " pair"]:
        distance = torch.linalg.vector_norm(question - candidate, dim=1)
        dot = (question * candidate).sum(dim=1)
        return torch.sigmoid(self.gamma * (dot + self.c)) / (1 + distance)
