"""BM25 as a ranker."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from qaexp.data.corpus import RankingCorpus
from qaexp.limits import NonNegativeFloat, Share
from qaexp.models.lexical.bag import bag, collection, look_up, ngrams, padded_chunks
from qaexp.models.scorer import Examples, LexicalScorer
from qaexp.models.types import Text


class BM25(LexicalScorer):
    """BM25 as Lucene has computed it since version 8 (Robertson & Zaragoza 2009; Kamphuis et al. 2020, "Lucene (accurate)").

        s(q, c) = Σ_{t ∈ q} idf(t) · f(t, c) / (f(t, c) + k1 · (1 − b + b · |c| / mean |c|))
        idf(t) = ln(1 + (N − n(t) + 0.5) / (n(t) + 0.5))

    f(t, c) is how often t occurs in c, and n(t) how many of the N texts of the collection have it. A word that the question has twice
    counts twice; unknown words do not count. Before fitting, every idf and the mean length are 1.

    `qaexp.data.bm25` computes the same formula with bm25s, to find the best texts of a fixed collection; this class scores any pair.

    Reading: title and body are one text, end to end.
    """

    def __init__(self, k1: NonNegativeFloat, b: Share, vectors: Float[Tensor, "word dim"]) -> None:
        super().__init__()
        self._k1, self._b, self._num_words = k1, b, len(vectors)
        self.idf: Tensor
        self.mean_length: Tensor
        self.register_buffer("idf", torch.ones(self._num_words))
        self.register_buffer("mean_length", torch.ones(()))

    def fit(self, corpus: RankingCorpus, examples: Examples) -> None:
        texts = collection(corpus)
        frequency, words = torch.zeros(self._num_words), 0.0
        for tokens in padded_chunks(corpus, texts):
            keys, counts = bag(ngrams(tokens, range(1, 2), self._num_words))
            frequency += torch.bincount(-keys[keys < 0], minlength=self._num_words)
            words += counts.sum(dtype=torch.float64).item()
        self.idf.copy_(torch.log1p((len(texts) - frequency + 0.5) / (frequency + 0.5)))
        self.mean_length.fill_(max(words / max(1, len(texts)), math.ulp(1.0)))

    def encode_question(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        keys, counts = bag(ngrams(tokens, range(1, 2), self._num_words))
        return {"keys": keys, "counts": counts, "mask": keys < 0}

    def encode_candidate(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        keys, counts = bag(ngrams(tokens, range(1, 2), self._num_words))
        length = counts.sum(dim=1, keepdim=True)
        saturated = counts / (counts + self._k1 * (1 - self._b + self._b * length / self.mean_length)).clamp(min=1e-9)
        return {"keys": keys, "weights": saturated * self.idf[-keys], "mask": keys < 0}

    def score(self, question: Text, candidate: Text) -> Float[Tensor, " pair"]:
        return (question["counts"] * look_up(question["keys"], candidate["keys"], candidate["weights"])).sum(dim=1)
