"""How much of what the question's words weigh the candidate contains."""

from jaxtyping import Float
from torch import Tensor

from qaexp.models.lexical.bag import found
from qaexp.models.lexical.bm25 import BM25
from qaexp.models.types import Text


class IDFContainment(BM25):
    """s(q, c) = Σ_{t ∈ q ∩ c} idf(t) / Σ_{t ∈ q} idf(t), each different word once; idf as in BM25, whose k1 and b do not matter here."""

    def __init__(self, vectors: Float[Tensor, "word dim"]) -> None:
        super().__init__(k1=0.0, b=0.0, vectors=vectors)

    def score(self, question: Text, candidate: Text) -> Float[Tensor, " pair"]:
        idf = self.idf[-question["keys"]] * (question["keys"] < 0)
        shared = found(question["keys"], candidate["keys"], (candidate["keys"] < 0).float())
        return (idf * shared).sum(dim=1) / idf.sum(dim=1).clamp(min=1e-9)
