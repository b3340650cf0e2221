"""How alike two sets of n-grams are."""

from jaxtyping import Float
from torch import Tensor

from qaexp.models.lexical.bag import found
from qaexp.models.lexical.containment import Containment
from qaexp.models.types import Text


class Jaccard(Containment):
    """s(q, c) = |N(q) ∩ N(c)| / |N(q) ∪ N(c)|,  N(t) the different n-grams of exactly `order` words (Jaccard 1901); 0 without any."""

    def score(self, question: Text, candidate: Text) -> Float[Tensor, " pair"]:
        shared = found(question["keys"], candidate["keys"], (candidate["keys"] < 0).float()).sum(dim=1)
        union = (question["keys"] < 0).sum(dim=1) + (candidate["keys"] < 0).sum(dim=1) - shared
        return shared / union.clamp(min=1)
