"""BM25 as a model of its own."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from qaexp.data.corpus import RankingCorpus
from qaexp.models.lexical.bag import bag, collection, found, ngrams, padded_chunks
from qaexp.models.scorer import AnswerScorer, Examples
from qaexp.models.types import Text


class BM25(AnswerScorer):
    """The score of a candidate as Lucene has it since version 8 (Robertson & Zaragoza 2009; Kamphuis et al. 2020, "Lucene (accurate)").

        s(q, c) = Σ_{t ∈ q} idf(t) · f(t, c) / (f(t, c) + k1 · (1 − b + b · |c| / mean |c|))
        idf(t) = ln(1 + (N − n(t) + 0.5) / (n(t) + 0.5))

    with f(t, c) the occurrences of t in c, and n(t) the number of the N texts of the collection that hold it. A word that the question
    holds twice counts twice; unknown words count nothing.

    Reading: title and body are one text, end to end. Until words are counted, every idf is 1 and the mean length too.

    It is the formula of `qaexp.data.bm25`, which finds the best of a fixed collection by means of bm25s; here it scores any pair.
    """

    reads_fields = True
    reads_vectors = False

    def __init__(self, k1: float, b: float, vectors: Float[Tensor, "word dim"]) -> None:
        super().__init__()
        self._k1, self._b, self._num_words = k1, b, len(vectors)
        self.idf: Tensor
        self.mean_length: Tensor
        self.register_buffer("idf", torch.ones(self._num_words))
        self.register_buffer("mean_length", torch.ones(()))

    def fit(self, corpus: RankingCorpus, examples: Examples) -> None:
        texts = collection(corpus)
        holding, words = torch.zeros(self._num_words), 0.0
        for tokens in padded_chunks(corpus, texts):
            keys, counts = bag(ngrams(tokens, range(1, 2), self._num_words))
            holding += torch.bincount(-keys[keys < 0], minlength=self._num_words)
            words += counts.sum(dtype=torch.float64).item()
        self.idf.copy_(torch.log1p((len(texts) - holding + 0.5) / (holding + 0.5)))
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
        return (question["counts"] * found(question["keys"], candidate["keys"], candidate["weights"])).sum(dim=1)
