"""Baselines that every model must beat: a random guess, the candidate without the question, and the scores that a data set publishes."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from qaexp.data.batch import token_mask
from qaexp.data.corpus import RankingCorpus
from qaexp.errors import ConfigError
from qaexp.limits import PositiveFloat, PositiveInt, Seed
from qaexp.models.lexical.bag import NgramTable, bag, ngrams
from qaexp.models.scorer import Examples, LexicalScorer, first_batches
from qaexp.models.types import Text

PRIME = 2_147_483_647
"""2³¹ − 1: the product of two residues fits in 64 bits."""

QUESTION_FACTOR, CANDIDATE_FACTOR = 48_271, 69_621
"""Hash multipliers, one for each side, so that a text has a different hash as a question and as a candidate. Both are multipliers of the
"minimal standard" random number generator modulo 2³¹ − 1; the first is the one that Park & Miller later recommended.
"""

SEED_FACTOR, MIX_FACTOR = 69_069, 1_103_515_245
"""Multipliers of old linear congruential generators (the VAX's MTH$RANDOM; rand() of BSD and ANSI C): the first separates seeds, the second
mixes the hash of a pair.
"""

HASHED_WORDS = 20
"""A text is recognised by this many first words of each field."""


def hash_of(tokens: Int[Tensor, "text length"], factor: int) -> Int[Tensor, " text"]:
    """A polynomial of the real tokens modulo a prime, the same in every batch and process; padding adds nothing.

    >>> hash_of(torch.tensor([[2, 3, 0]]), factor=10).tolist()  # (1·10 + 2)·10 + 3
    [123]
    """
    value = torch.ones(len(tokens), dtype=torch.int64, device=tokens.device)
    mask = token_mask(tokens)
    for position in range(tokens.shape[1]):
        value = torch.where(mask[:, position], (value * factor + tokens[:, position]) % PRIME, value)
    return value


class RandomGuess(LexicalScorer):
    """s in [0, 1], a hash of the pair's words and the seed: it has no state, and a pair gets the same score in every batch."""

    def __init__(self, vectors: Float[Tensor, "word dim"], seed: Seed) -> None:
        super().__init__()
        self.seed = seed

    def encode_question(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        return {"hash": hash_of(tokens.flatten(1), QUESTION_FACTOR)}

    def encode_candidate(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        return {"hash": hash_of(tokens.flatten(1), CANDIDATE_FACTOR)}

    def score(self, question: Text, candidate: Text) -> Float[Tensor, " pair"]:
        mixed = (question["hash"] + candidate["hash"] + SEED_FACTOR * (self.seed - 1)) % PRIME
        for _ in range(3):
            mixed = (mixed ^ (mixed >> 13)) * MIX_FACTOR % PRIME
        return (mixed.double() / PRIME).float()


class CandidateOnly(LexicalScorer):
    """s(q, c) = Σ_{t ∈ c} w_t over the distinct words of a candidate, whatever the question; w from scikit-learn's LogisticRegression.

        min_{w,b}  ½‖w‖² + C Σ_pairs ln(1 + exp(−y (Σ_{t ∈ c} w_t + b))),  y = ±1

    The hypothesis-only baseline of SNLI (Gururangan et al. 2018; Poliak et al. 2018), used for ranking. None of the five papers has it. A
    model that does not beat it may have learned nothing about how questions and answers fit together. Where it ranks well, candidates alone
    reveal their labels, for instance because comments differ in quality or splits share wrong answers.

    The pairs are those of the first training batches of an epoch, in whole batches, until there are at least `num_pairs`. Words that occur
    in no training candidate have weight 0.

    Raises, when fitted:
        ConfigError: the pairs are all right or all wrong.
    """

    def __init__(self, C: PositiveFloat, num_pairs: PositiveInt, vectors: Float[Tensor, "word dim"]) -> None:
        super().__init__()
        self._C, self._num_pairs = C, num_pairs
        self.weight: Tensor
        self.register_buffer("weight", torch.zeros(len(vectors)))

    def fit(self, corpus: RankingCorpus, examples: Examples) -> None:
        from sklearn.linear_model import LogisticRegression  # isort: skip  # most of a second; first, as its extra has scipy, too
        from scipy.sparse import csr_array

        rows, words, labels = list[Tensor](), list[Tensor](), list[Tensor]()
        count = 0
        for batch in first_batches(examples, self._num_pairs):
            in_pair = self._words(batch.candidates)[batch.pair_candidate]
            row, place = (in_pair > 0).nonzero(as_tuple=True)
            rows.append(row + count)
            words.append(in_pair[row, place])
            labels.append(batch.labels)
            count += len(batch.labels)
        right = torch.cat(labels) == 1
        if len(right.unique()) < 2:
            raise ConfigError(
                "model=candidate_only learns to tell right from wrong candidates, and the training examples have only one kind"
            )
        places = torch.cat(rows).numpy(), torch.cat(words).numpy()
        has_word = csr_array((torch.ones(len(places[0])).double().numpy(), places), shape=(count, len(self.weight)))
        machine = LogisticRegression(C=self._C, max_iter=1000).fit(has_word, right.numpy())
        self.weight.copy_(torch.from_numpy(machine.coef_[0]))

    def encode_question(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        return {"vector": torch.zeros(len(tokens), 1, device=tokens.device)}

    def encode_candidate(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        return {"vector": self.weight[self._words(tokens)].sum(dim=1, keepdim=True)}

    def score(self, question: Text, candidate: Text) -> Float[Tensor, " pair"]:
        return candidate["vector"].squeeze(1)

    def _words(self, tokens: Int[Tensor, "text *field length"]) -> Int[Tensor, "text word"]:
        """The distinct words of each text; 0, which weighs nothing, after the last."""
        keys, _ = bag(ngrams(tokens, range(1, 2), len(self.weight)))
        return -keys


class BM25Scores(LexicalScorer):
    """s(q, c) = the score that the data set's files publish for candidate c in the pool of q; 0 for a pair that they do not score.

    Lei et al. 2016, §6: "BM25, we used the BM25 similarity measure provided by Apache Lucene"; the scores are in dev.txt and test.txt.

    Reading: a model sees words and no ids, so a pair is recognised by the first 20 words of each field of both texts.

    Raises, when fitted:
        ConfigError: the data set publishes no scores.
    """

    def __init__(self, max_question_length: PositiveInt, max_candidate_length: PositiveInt, vectors: Float[Tensor, "word dim"]) -> None:
        super().__init__()
        self._question_words, self._candidate_words = min(HASHED_WORDS, max_question_length), min(HASHED_WORDS, max_candidate_length)
        self.table = NgramTable()  # from a pair's number, below 0, to its score

    def fit(self, corpus: RankingCorpus, examples: Examples) -> None:
        keys, scores = [], []
        for split in corpus.splits.values():
            if not len(split.retrieval_scores):
                continue
            texts = ((split.questions[split.pair_question], self._question_words), (split.candidates, self._candidate_words))
            question, candidate = (torch.from_numpy(corpus.texts.padded(*side)) for side in texts)
            keys.append(self._pairs(self.encode_question(question), self.encode_candidate(candidate)))
            scores.append(torch.from_numpy(split.retrieval_scores.astype("float32")))
        if not keys:
            raise ConfigError("model=bm25_scores ranks by scores from the data set's files, and these publish none; choose model=bm25")
        order = torch.cat(keys).argsort(stable=True)
        self.table.keys, self.table.frequency = torch.cat(keys)[order], torch.cat(scores)[order]

    def encode_question(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        return {"hash": hash_of(tokens[..., : self._question_words].flatten(1), QUESTION_FACTOR)}

    def encode_candidate(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        return {"hash": hash_of(tokens[..., : self._candidate_words].flatten(1), CANDIDATE_FACTOR)}

    def score(self, question: Text, candidate: Text) -> Float[Tensor, " pair"]:
        return self.table(self._pairs(question, candidate).unsqueeze(1)).squeeze(1)

    @staticmethod
    def _pairs(question: Text, candidate: Text) -> Int[Tensor, " pair"]:
        """A number below 0 for each pair."""
        return -(question["hash"] * (PRIME + 1) + candidate["hash"]) - 1
