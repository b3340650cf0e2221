"""How much of the question's n-grams the candidate contains."""

from jaxtyping import Float, Int
from torch import Tensor

from qaexp.models.lexical.bag import bag, found, ngrams
from qaexp.models.scorer import AnswerScorer
from qaexp.models.types import Text


class Containment(AnswerScorer):
    """s(q, c) = |N(q) ∩ N(c)| / |N(q)|,  N(t) the different n-grams of exactly `order` words (Broder 1997); 0 without any."""

    reads_fields = True
    reads_vectors = False

    def __init__(self, order: int, vectors: Float[Tensor, "word dim"]) -> None:
        super().__init__()
        self._orders, self._num_words = range(order, order + 1), len(vectors)

    def encode_question(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        return self._encode(tokens)

    def encode_candidate(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        return self._encode(tokens)

    def score(self, question: Text, candidate: Text) -> Float[Tensor, " pair"]:
        shared = found(question["keys"], candidate["keys"], (candidate["keys"] < 0).float()).sum(dim=1)
        return shared / (question["keys"] < 0).sum(dim=1).clamp(min=1)

    def _encode(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        keys, _ = bag(ngrams(tokens, self._orders, self._num_words))
        return {"keys": keys, "mask": keys < 0}
