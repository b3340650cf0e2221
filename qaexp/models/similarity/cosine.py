"""Cosine of two vectors."""

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from qaexp.models.scorer import Similarity


class Cosine(Similarity):
    """cos(v^q, v^a) = v^q·v^a / (‖v^q‖ ‖v^a‖), in [-1, 1]; 0 where a vector is zero."""

    bounded = True

    def __init__(self, input_dim: int) -> None:
        super().__init__()

    def forward(self, question: Float[Tensor, "pair dim"], candidate: Float[Tensor, "pair dim"]) -> Float[Tensor, " pair"]:
        return F.cosine_similarity(question, candidate, dim=-1)
