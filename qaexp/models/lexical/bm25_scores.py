"""The scores that a data set's files give its pairs, as a model: what the search engine behind them ranks."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from qaexp.data.corpus import RankingCorpus
from qaexp.errors import ConfigError
from qaexp.models.lexical.bag import NgramTable
from qaexp.models.lexical.hashing import CANDIDATE_FACTOR, PRIME, QUESTION_FACTOR, hash_of
from qaexp.models.scorer import AnswerScorer, Examples
from qaexp.models.types import Text

LOOKED_AT = 20
"""Words of each field that tell a text from others; all of it where texts are cut shorter."""


class BM25Scores(AnswerScorer):
    """s(q, c) = the score that the files publish with candidate c in the pool of q; 0 for a pair that they do not score.

    Lei et al. 2016, §6: "BM25, we used the BM25 similarity measure provided by Apache Lucene", whose scores are in dev.txt and test.txt.

    Reading: a model is given words and no ids, so a pair is known by the first 20 words of each field of both its texts.

    Raises, when fitted:
        ConfigError: the data set publishes no scores.
    """

    reads_fields = True
    reads_vectors = False

    def __init__(self, max_question_length: int, max_candidate_length: int, vectors: Float[Tensor, "word dim"]) -> None:
        super().__init__()
        self._of_question, self._of_candidate = min(LOOKED_AT, max_question_length), min(LOOKED_AT, max_candidate_length)
        self.table = NgramTable()  # from a pair's number, below 0, to its score

    def fit(self, corpus: RankingCorpus, examples: Examples) -> None:
        keys, scores = [], []
        for split in corpus.splits.values():
            if not len(split.retrieval_scores):
                continue
            texts = ((split.questions[split.pair_question], self._of_question), (split.candidates, self._of_candidate))
            question, candidate = (torch.from_numpy(corpus.texts.padded(*side)) for side in texts)
            keys.append(_pairs(self.encode_question(question), self.encode_candidate(candidate)))
            scores.append(torch.from_numpy(split.retrieval_scores.astype("float32")))
        if not keys:
            raise ConfigError("model=bm25_scores ranks by scores that the files publish, and these publish none; choose model=bm25")
        order = torch.cat(keys).argsort(stable=True)
        self.table.keys, self.table.frequency = torch.cat(keys)[order], torch.cat(scores)[order]

    def encode_question(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        return {"hash": hash_of(tokens[..., : self._of_question].flatten(1), QUESTION_FACTOR)}

    def encode_candidate(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        return {"hash": hash_of(tokens[..., : self._of_candidate].flatten(1), CANDIDATE_FACTOR)}

    def score(self, question: Text, candidate: Text) -> Float[Tensor, " pair"]:
        return self.table(_pairs(question, candidate).unsqueeze(1)).squeeze(1)


def _pairs(question: Text, candidate: Text) -> Int[Tensor, " pair"]:
    """A number below 0 for each pair."""
    return -(question["hash"] * (PRIME + 1) + candidate["hash"]) - 1
