"""Measures of what two texts share: words, n-grams, and word sequences. Each is a ranker by itself and a feature of the SVM."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from qaexp.data.batch import token_mask
from qaexp.data.vocabulary import UNKNOWN
from qaexp.limits import PositiveInt
from qaexp.models.lexical.bag import bag, look_up, ngrams
from qaexp.models.lexical.bm25 import BM25
from qaexp.models.scorer import LexicalScorer
from qaexp.models.types import Text


class Containment(LexicalScorer):
    """s(q, c) = |N(q) ∩ N(c)| / |N(q)|, where N(t) are the distinct n-grams of `order` words (Broder 1997); 0 if q has none."""

    def __init__(self, order: PositiveInt, vectors: Float[Tensor, "word dim"]) -> None:
        super().__init__()
        self._orders, self._num_words = range(order, order + 1), len(vectors)

    def encode_question(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        keys, _ = bag(ngrams(tokens, self._orders, self._num_words))
        return {"keys": keys, "mask": keys < 0}

    encode_candidate = encode_question

    def score(self, question: Text, candidate: Text) -> Float[Tensor, " pair"]:
        return is_shared(question, candidate).sum(dim=1) / (question["keys"] < 0).sum(dim=1).clamp(min=1)


class WordOverlap(Containment):
    """s = |W(q) ∩ W(a)|: how many distinct words of the question occur in the candidate (Yang et al. 2015, "Word Count").

    Every word counts, stop words included. The fields of a text are taken together. Unknown words match nothing. Ties are broken by the
    data set's convention.
    """

    def __init__(self, vectors: Float[Tensor, "word dim"]) -> None:
        super().__init__(order=1, vectors=vectors)

    def score(self, question: Text, candidate: Text) -> Float[Tensor, " pair"]:
        return is_shared(question, candidate).sum(dim=1)


class Jaccard(Containment):
    """s(q, c) = |N(q) ∩ N(c)| / |N(q) ∪ N(c)|, where N(t) are the distinct n-grams of `order` words (Jaccard 1901); 0 without any."""

    def score(self, question: Text, candidate: Text) -> Float[Tensor, " pair"]:
        shared = is_shared(question, candidate).sum(dim=1)
        union = (question["keys"] < 0).sum(dim=1) + (candidate["keys"] < 0).sum(dim=1) - shared
        return shared / union.clamp(min=1)


class IDFContainment(BM25):
    """s(q, c) = Σ_{t ∈ q ∩ c} idf(t) / Σ_{t ∈ q} idf(t) over distinct words, with the idf of BM25; k1 and b play no part."""

    def __init__(self, vectors: Float[Tensor, "word dim"]) -> None:
        super().__init__(k1=0.0, b=0.0, vectors=vectors)

    def score(self, question: Text, candidate: Text) -> Float[Tensor, " pair"]:
        idf = self.idf[-question["keys"]] * (question["keys"] < 0)
        return (idf * is_shared(question, candidate)).sum(dim=1) / idf.sum(dim=1).clamp(min=1e-9)


class CommonWords(LexicalScorer):
    """s(q, c) = L(|q|, |c|) / |q|: the length in words of the longest common subsequence, or substring if `gaps` is false.

        with gaps:     L(i, j) = max(L(i − 1, j), L(i, j − 1), [q_i = c_j] · (L(i − 1, j − 1) + 1))
        without gaps:  L(i, j) = [q_i = c_j] · (L(i − 1, j − 1) + 1), and the largest L counts

    Allison & Dix 1986; Gusfield 1997. Unknown words match nothing. A text's fields are joined end to end, but no substring crosses from
    one field into the next.
    """

    def __init__(self, gaps: bool, vectors: Float[Tensor, "word dim"]) -> None:
        super().__init__()
        self._gaps = gaps

    def encode_question(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        separated = F.pad(tokens, (0, 1)).flatten(1)  # padding between fields
        return {"tokens": separated, "mask": token_mask(separated)}

    encode_candidate = encode_question

    def score(self, question: Text, candidate: Text) -> Float[Tensor, " pair"]:
        q, c = question["tokens"], candidate["tokens"]
        row = torch.zeros(c.shape, device=c.device)  # L(i, ·)
        longest = row
        for word in q.unbind(dim=1):
            same = (word[:, None] == c) & (word > UNKNOWN)[:, None]  # (pair, candidate_length)
            diagonal = (F.pad(row, (1, 0))[:, :-1] + 1) * same
            row = torch.maximum(row, diagonal).cummax(dim=1).values if self._gaps else diagonal
            longest = torch.maximum(longest, row)
        return longest.amax(dim=1) / token_mask(q).sum(dim=1).clamp(min=1)


def is_shared(question: Text, candidate: Text) -> Float[Tensor, "pair some"]:
    """1 for each n-gram of the question that the candidate has too, else 0."""
    return look_up(question["keys"], candidate["keys"], (candidate["keys"] < 0).float())
