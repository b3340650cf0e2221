"""TF-IDF as a ranker: the cosine of two texts' weighted n-grams."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from qaexp.data.corpus import RankingCorpus
from qaexp.limits import PositiveInt
from qaexp.models.lexical.bag import NgramTable, bag, content_words, look_up, ngrams
from qaexp.models.scorer import Examples, LexicalScorer
from qaexp.models.types import Text


class TFIDF(LexicalScorer):
    """s(q, c) = Σ_t w(t, q) · w(t, c) / (‖w(q)‖ · ‖w(c)‖),  w(t, d) = f(t, d) · (1 + ln((1 + N) / (1 + n(t)))).

    t are the n-grams of up to `max_order` words, f(t, d) is how often t occurs in d, and n(t) is how many of the N texts of the collection
    have it. scikit-learn's TfidfVectorizer and cosine_similarity compute the same (a test compares them). Lei et al. 2016, §6: "TF-IDF, we
    ranked questions using cosine similarity"; "we tried n-gram feature order n ∈ {1, 2, 3} with and without stop words pruning".

    Reading: order n means n-grams of 1 to n words. Stop words are gensim's list and every token without a letter or digit. Title and body
    share one bag, but no n-gram crosses from one into the other.
    """

    def __init__(self, max_order: PositiveInt, stop_words: bool, vectors: Float[Tensor, "word dim"]) -> None:
        super().__init__()
        self._orders, self._stop_words, self._num_words = range(1, max_order + 1), stop_words, len(vectors)
        self.table = NgramTable()
        self.content: Tensor
        self.register_buffer("content", torch.ones(self._num_words, dtype=torch.bool))

    def fit(self, corpus: RankingCorpus, examples: Examples) -> None:
        if not self._stop_words:
            self.content.copy_(content_words(corpus.vocabulary))
        self.table.count(corpus, self._orders, self._num_words, self.content)

    def encode_question(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        keys, counts = bag(ngrams(tokens, self._orders, self._num_words, self.content))
        weights = counts * (1 + torch.log((1 + self.table.num_texts) / (1 + self.table(keys))))
        return {"keys": keys, "weights": F.normalize(weights, dim=1), "mask": keys < 0}

    encode_candidate = encode_question

    def score(self, question: Text, candidate: Text) -> Float[Tensor, " pair"]:
        return (question["weights"] * look_up(question["keys"], candidate["keys"], candidate["weights"])).sum(dim=1)
