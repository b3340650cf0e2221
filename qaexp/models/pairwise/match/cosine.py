"""Words matched by cosine."""

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from qaexp.models.pairwise.match.base import Match
from qaexp.models.types import Text


class CosineMatch(Match):
    """s(u, v) = uᵀ·v / (‖u‖ ‖v‖), one slice; 0 where a vector is zero (Wan et al. 2016, "Interactions between two sentences")."""

    num_slices = 1

    def __init__(self, input_dim: int) -> None:
        super().__init__()

    def begin_question(self, text: Text) -> Text:
        return {"mask": text["mask"], "states": F.normalize(text["states"], dim=2)}

    def begin_candidate(self, text: Text) -> Text:
        return self.begin_question(text)

    def forward(self, question: Text, candidate: Text) -> Float[Tensor, "pair slice question_length candidate_length"]:
        return (question["states"] @ candidate["states"].transpose(1, 2)).unsqueeze(1)
