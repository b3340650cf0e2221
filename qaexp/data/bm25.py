"""BM25 over tokenised texts, and training negatives retrieved with it."""

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int, Int8

from qaexp.data.corpus import RankingCorpus, RankingSplit
from qaexp.data.files import progress
from qaexp.data.negatives import Groups, Keys, NegativeSampling, no_negatives
from qaexp.data.prepare import cached
from qaexp.data.vocabulary import UNKNOWN
from qaexp.errors import ConfigError
from qaexp.limits import NonNegativeFloat, PositiveInt, Share

log = logging.getLogger(__name__)

VERSION = 3
"""Increase it when the same questions retrieve other answers or the format changes; older cache entries are then not read."""


class BM25Index:
    """Texts given as token ids, scored against a query as Lucene does since version 8 (Kamphuis et al. 2020, "Lucene (accurate)").

        s(q, d) = Σ_{t ∈ q} idf(t) · f(t, d) / (f(t, d) + k1 · (1 − b + b · |d| / mean |d|))
        idf(t) = ln(1 + (N − n(t) + 0.5) / (n(t) + 0.5))

    with f(t, d) the occurrences of t in d and n(t) the number of the N texts that contain it. A word that occurs twice in the query counts
    twice; a word that occurs in no text does not count.

    >>> index = BM25Index([[2, 3], [3, 4, 5], [5], [3, 2]], num_words=6, k1=1.2, b=0.75)
    >>> index.best([2, 3], 3).tolist()    # not text 2, which shares no word
    [0, 3, 1]
    """

    def __init__(self, texts: Sequence[Sequence[int]], num_words: int, k1: float, b: float) -> None:
        from bm25s import BM25  # takes a quarter of a second to import, needed once per data set

        logging.getLogger("bm25s").setLevel(logging.WARNING)  # it sets itself to DEBUG on import
        self._index = BM25(k1=k1, b=b, method="lucene")
        word_ids = {word: word for word in range(num_words)}
        self._index.index(([list(text) for text in texts], word_ids), create_empty_token=False, show_progress=False)

    def scores(self, query: Sequence[int]) -> Float[np.ndarray, " text"]:
        return self._index.get_scores_from_ids(list(query))

    def best(self, query: Sequence[int], num: int) -> Int[np.ndarray, " hit"]:
        """The up to `num` texts that share a word with the query, best first; of equal scores the earlier text."""
        scores = self.scores(query)
        if num < len(scores):
            least = np.partition(scores, len(scores) - num)[len(scores) - num]
            offered = np.flatnonzero(scores >= max(least, np.finfo(scores.dtype).tiny))
        else:
            offered = np.flatnonzero(scores > 0)
        return offered[np.argsort(-scores[offered], kind="stable")][:num]


@dataclass(frozen=True)
class Retrieved:
    """The texts that each distinct question retrieves; `questions` is sorted."""

    questions: Int[np.ndarray, " question"]
    offsets: Int[np.ndarray, " question_and_end"]
    answers: Int[np.ndarray, " hit"]
    """Texts, best first, concatenated: those of `questions[i]` are `answers[offsets[i]:offsets[i + 1]]`."""

    def save(self, folder: Path) -> None:
        folder.mkdir()
        for name in self.__dataclass_fields__:
            np.save(folder / f"{name}.npy", getattr(self, name))

    @classmethod
    def load(cls, folder: Path) -> "Retrieved":
        return cls(**{name: np.load(folder / f"{name}.npy") for name in cls.__dataclass_fields__})


@dataclass(frozen=True)
class BM25Negatives(NegativeSampling):
    """A group for each (question, right candidate), with up to `num` different negatives from the texts that its question retrieves.

    A question retrieves the `hits` texts of the answer set with the highest BM25 scores, except its own text and its right candidates,
    under any id and in any pool of that question. Each text is equally likely to be drawn. A text that shares no word with the question is
    not retrieved, so a question may have fewer negatives; a question without any is left out. Retrieval is done once and cached.

    Raises, when drawing:
        ConfigError: no question retrieves a negative.
    """

    num: PositiveInt
    hits: PositiveInt
    k1: NonNegativeFloat
    b: Share
    cache_dir: str
    _known: dict[str, Retrieved] = field(default_factory=dict, init=False, repr=False, compare=False)

    def draw(self, split: RankingSplit, corpus: RankingCorpus, rng: np.random.Generator) -> Groups:
        retrieved = self.retrieved(split, corpus)
        of_pair = split.questions[split.pair_question]
        row = np.searchsorted(retrieved.questions, of_pair)
        choices = np.diff(retrieved.offsets)[row]  # (pair)
        right = np.flatnonzero((split.labels == 1) & (choices > 0))
        if not len(right):
            raise ConfigError("no training question retrieves a wrong answer that shares a word with it. Use dataset/negatives=random")
        sizes = np.minimum(choices[right], self.num)
        places = _different_places(choices[right], self.num, rng)  # (group, num)
        drawn = retrieved.answers[retrieved.offsets[row[right]][:, None] + places]
        candidates = np.concatenate([split.candidates[right][:, None], drawn], axis=1)
        used = np.arange(1 + self.num) <= sizes[:, None]
        labels = np.zeros(candidates.shape, dtype=np.int8)
        labels[:, 0] = 1
        return Groups(of_pair[right], np.concatenate([[0], np.cumsum(1 + sizes)]), candidates[used], labels[used])

    def retrieved(self, split: RankingSplit, corpus: RankingCorpus) -> Retrieved:
        """The texts that the split's questions retrieve, from the cache if they were retrieved before."""
        pairs = (split.questions, split.offsets, split.candidates, split.labels)
        settings = f"{VERSION} {self.hits} {self.k1} {self.b}"
        facts = f"{settings} {len(corpus.texts)} {corpus.fingerprint or corpus.compute_fingerprint()} {[_digest(each) for each in pairs]}"
        key = hashlib.sha256(facts.encode()).hexdigest()[:16]
        if key not in self._known:
            folder = Path(self.cache_dir).expanduser() / "retrieved" / key

            def retrieve() -> Retrieved:
                log.info("retrieving negatives by BM25 (once; kept in %s)", folder)
                return self._retrieve(split, corpus)

            self._known[key] = cached(folder, Retrieved.load, retrieve, Retrieved.save)
        return self._known[key]

    def _retrieve(self, split: RankingSplit, corpus: RankingCorpus) -> Retrieved:
        answer_set = np.unique(corpus.answer_set)
        if not len(answer_set):
            raise ConfigError("the answer set is empty, so nothing can be retrieved from it. Use dataset/negatives=pool")
        index = BM25Index([_words(corpus, text) for text in answer_set.tolist()], len(corpus.vocabulary), self.k1, self.b)
        questions = np.unique(split.questions)
        keys = Keys(len(corpus.texts))
        excluded = no_negatives(split, keys)
        num_excluded = np.bincount(np.searchsorted(questions, excluded // len(corpus.texts)), minlength=len(questions))
        found: list[np.ndarray] = []
        with progress() as bar:
            for question, also in zip(bar.track(questions.tolist(), description="BM25"), num_excluded.tolist(), strict=True):
                hits = answer_set[index.best(_words(corpus, question), self.hits + also)]
                found.append(hits[~np.isin(keys(np.array(question), hits), excluded)][: self.hits])
        offsets = np.concatenate([[0], np.cumsum([len(hits) for hits in found], dtype=np.int64)])
        return Retrieved(questions, offsets.astype(np.int64), np.concatenate(found).astype(np.int32))


def _words(corpus: RankingCorpus, text: int) -> list[int]:
    """A text's word ids without unknown words, as these may be different words."""
    ids = corpus.texts.words(text)
    return ids[ids > UNKNOWN].tolist()


def _different_places(choices: Int[np.ndarray, " group"], num: int, rng: np.random.Generator) -> Int[np.ndarray, "group num"]:
    """`num` different numbers below each of `choices`, every set equally likely. If there are fewer choices: all of them, then zeros.

    Floyd's algorithm (Bentley & Floyd 1987): for j = n − num, …, n − 1, draw t ≤ j; add t, or j if t is there already.
    """
    places = np.full((len(choices), num), -1, dtype=np.int64)
    for step in range(num):
        j = choices - np.minimum(choices, num) + step
        drawn = rng.integers(0, j + 1)
        taken = (places == drawn[:, None]).any(axis=1)
        places[:, step] = np.where(step < choices, np.where(taken, j, drawn), -1)
    return np.maximum(places, 0)


def _digest(array: Int[np.ndarray, " any"] | Int8[np.ndarray, " any"]) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
