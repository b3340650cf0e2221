"""Chooses the pairs of a training epoch: one group for each training example, drawn again each epoch from a seed."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int, Int8

from qaexp.data.corpus import RankingCorpus, RankingSplit, ranges
from qaexp.errors import ConfigError
from qaexp.limits import PositiveInt


@dataclass(frozen=True)
class Groups:
    """Training examples, concatenated: group g is `offsets[g]:offsets[g + 1]` of the arrays over pairs."""

    questions: Int[np.ndarray, " group"]
    """Text of the question."""
    offsets: Int[np.ndarray, " group_and_end"]
    candidates: Int[np.ndarray, " pair"]
    """Text of each candidate."""
    labels: Int8[np.ndarray, " pair"]

    def __len__(self) -> int:
        return len(self.questions)


class NegativeSampling(ABC):
    """Defines what a training example is; chosen in YAML (`dataset/negatives=...`)."""

    @abstractmethod
    def draw(self, split: RankingSplit, corpus: RankingCorpus, rng: np.random.Generator) -> Groups:
        """The examples of an epoch."""

    def texts(self, split: RankingSplit, corpus: RankingCorpus) -> Int[np.ndarray, " text"]:
        """Every text that `draw` may return in any epoch, possibly repeated. By default the texts of the split and of the answer set."""
        return np.concatenate([_pool_texts(split), corpus.answer_set])


def _pool_texts(split: RankingSplit) -> Int[np.ndarray, " text"]:
    return np.concatenate([split.questions, split.candidates])


class _FromPools(NegativeSampling):
    """Negatives that come from the questions' own pools."""

    def texts(self, split: RankingSplit, corpus: RankingCorpus) -> Int[np.ndarray, " text"]:
        return _pool_texts(split)


class Keys:
    """Encodes a question and one of `num_texts` texts as one number.

    >>> Keys(10)(np.array([1, 2]), np.array([3, 0])).tolist()
    [13, 20]
    """

    def __init__(self, num_texts: int) -> None:
        self._texts = max(1, num_texts)

    def __call__(self, question: Int[np.ndarray, "*shape"], text: Int[np.ndarray, "*other"]) -> Int[np.ndarray, "*whole"]:
        return question * self._texts + text

    def most_in(self, keys: Int[np.ndarray, " key"], texts: Int[np.ndarray, " text"]) -> int:
        """The largest number of keys that pair one question with a text of `texts`."""
        counts = np.unique(keys[np.isin(keys % self._texts, texts)] // self._texts, return_counts=True)[1]
        return int(counts.max(initial=0))


def no_negatives(split: RankingSplit, keys: Keys) -> Int[np.ndarray, " key"]:
    """Sorted keys that are never drawn: a question's own text and its right candidates in any of its pools."""
    question, right = split.questions[split.pair_question], split.labels == 1
    return np.unique(np.concatenate([keys(question[right], split.candidates[right]), keys(split.questions, split.questions)]))


def wrong_pairs(split: RankingSplit, corpus: RankingCorpus) -> Int[np.ndarray, " negative"]:
    """The pairs labelled wrong, except those whose text is also labelled right in the same pool."""
    keys = Keys(len(corpus.texts))(split.pair_question, split.candidates)
    return np.flatnonzero((split.labels == 0) & ~np.isin(keys, keys[split.labels == 1]))


def some_of_each(
    items: Int[np.ndarray, " item"], choices: Int[np.ndarray, " group"], sizes: Int[np.ndarray, " group"], rng: np.random.Generator
) -> Int[np.ndarray, " chosen"]:
    """Draws `sizes[g]` of the `choices[g]` items of each group g, in random order. `items` has the items of all groups, concatenated."""
    group = np.repeat(np.arange(len(choices)), choices)
    shuffled = items[np.lexsort((rng.random(len(items)), group))]
    return shuffled[ranges(np.cumsum(choices) - choices, sizes)]


@dataclass(frozen=True)
class RandomNegatives(NegativeSampling):
    """A group for each (question, right candidate), with `num` negatives drawn from the whole answer set.

    The question's own text and its right candidates, under any id and in any pool of that question, are never drawn.
    """

    num: PositiveInt

    def draw(self, split: RankingSplit, corpus: RankingCorpus, rng: np.random.Generator) -> Groups:
        right, answer_set = np.flatnonzero(split.labels), corpus.answer_set
        question, answer = split.questions[split.pair_question[right]], split.candidates[right]
        keys = Keys(len(corpus.texts))
        excluded = no_negatives(split, keys)
        if not len(answer_set):
            raise ConfigError("the data set gives no answer set to draw negatives from. Use dataset/negatives=pool")
        if keys.most_in(excluded, answer_set) >= len(np.unique(answer_set)):
            raise ConfigError(
                f"all {len(answer_set)} texts of the answer set are right answers of one question: none is left to draw as a negative. "
                "Use dataset/negatives=pool"
            )
        drawn = answer_set[rng.integers(len(answer_set), size=(len(right), self.num))]  # (group, num)
        while (clash := np.isin(keys(question[:, None], drawn), excluded)).any():
            drawn[clash] = answer_set[rng.integers(len(answer_set), size=int(clash.sum()))]
        candidates = np.concatenate([answer[:, None], drawn], axis=1)  # (group, 1 + num)
        labels = np.zeros(candidates.shape, dtype=np.int8)
        labels[:, 0] = 1
        offsets = np.arange(len(right) + 1) * (1 + self.num)
        return Groups(question, offsets, candidates.reshape(-1), labels.reshape(-1))


@dataclass(frozen=True)
class PoolNegatives(_FromPools):
    """A group for each (question, right candidate), with up to `num` wrong candidates from the question's own pool.

    A candidate labelled wrong whose text is labelled right in the same pool is not a negative. Questions whose pool has no
    negative teach a pairwise loss nothing and are left out.
    """

    num: PositiveInt

    def draw(self, split: RankingSplit, corpus: RankingCorpus, rng: np.random.Generator) -> Groups:
        of_pair, negatives = split.pair_question, wrong_pairs(split, corpus)
        num_negatives = np.bincount(of_pair[negatives], minlength=split.num_questions)
        right = np.flatnonzero((split.labels == 1) & (num_negatives[of_pair] > 0))
        if not len(right):
            raise ConfigError("no training question has both a right and a wrong candidate in its pool. Use dataset/negatives=random")
        question = of_pair[right]  # (group)
        choices = num_negatives[question]
        offered = negatives[ranges((np.cumsum(num_negatives) - num_negatives)[question], choices)]  # (choice), the groups concatenated
        sizes = np.minimum(choices, self.num)
        chosen = some_of_each(offered, choices, sizes, rng)
        offsets = np.concatenate([[0], np.cumsum(1 + sizes)])
        pairs = np.empty(offsets[-1], dtype=np.int64)
        pairs[offsets[:-1]] = right
        pairs[ranges(offsets[:-1] + 1, sizes)] = chosen
        return Groups(split.questions[question], offsets, split.candidates[pairs], split.labels[pairs])


@dataclass(frozen=True)
class PoolPairs(_FromPools):
    """One group for each labelled pair, for pointwise losses."""

    def draw(self, split: RankingSplit, corpus: RankingCorpus, rng: np.random.Generator) -> Groups:
        offsets = np.arange(split.num_pairs + 1)
        return Groups(split.questions[split.pair_question], offsets, np.asarray(split.candidates), np.asarray(split.labels))


@dataclass(frozen=True)
class QuestionLists(_FromPools):
    """A group for each question: every right candidate, then up to `num` of the wrong ones of its pool, drawn again each epoch.

    Lei et al. 2016, "Training Set": "We randomly sample 20 questions as negative examples for each p_i during each epoch."

    Reading: the 20 are drawn from the query's published random negatives, and queries with more than 10 right candidates are left out
    (`max_answers`), as the authors' release does. As elsewhere, a candidate labelled wrong whose text is labelled right in the same
    pool is not a negative, and questions without a right or without a wrong candidate are left out.

    Raises, when drawing:
        ConfigError: no question is left.
    """

    num: PositiveInt
    max_answers: PositiveInt

    def draw(self, split: RankingSplit, corpus: RankingCorpus, rng: np.random.Generator) -> Groups:
        of_pair = split.pair_question
        right, wrong = np.flatnonzero(split.labels == 1), wrong_pairs(split, corpus)
        num_right, num_wrong = (np.bincount(of_pair[pairs], minlength=split.num_questions) for pairs in (right, wrong))
        is_used = (num_right > 0) & (num_right <= self.max_answers) & (num_wrong > 0)
        if not is_used.any():
            raise ConfigError(
                f"no training question has both a wrong and 1 to {self.max_answers} right candidates in its pool. "
                "Raise dataset.negatives.max_answers, or use dataset/negatives=random"
            )
        used = np.flatnonzero(is_used)  # (group)
        right, wrong = right[is_used[of_pair[right]]], wrong[is_used[of_pair[wrong]]]
        num_drawn = np.minimum(num_wrong[used], self.num)
        drawn = some_of_each(wrong, num_wrong[used], num_drawn, rng)
        offsets = np.concatenate([[0], np.cumsum(num_right[used] + num_drawn)])
        pairs = np.empty(offsets[-1], dtype=np.int64)
        pairs[ranges(offsets[:-1], num_right[used])] = right
        pairs[ranges(offsets[:-1] + num_right[used], num_drawn)] = drawn
        return Groups(split.questions[used], offsets, split.candidates[pairs], split.labels[pairs])
