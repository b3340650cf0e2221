"""Which pairs one epoch of training shows: a group for each training example, drawn anew each epoch from a seed."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int, Int8

from qaexp.data.corpus import RankingSplit
from qaexp.errors import ConfigError


@dataclass(frozen=True)
class Groups:
    """Training examples, end to end: group g is `offsets[g]:offsets[g + 1]` of the arrays over pairs."""

    questions: Int[np.ndarray, " group"]
    """Text of the question."""
    offsets: Int[np.ndarray, " group_and_end"]
    candidates: Int[np.ndarray, " pair"]
    """Text of each candidate."""
    labels: Int8[np.ndarray, " pair"]

    def __len__(self) -> int:
        return len(self.questions)


@runtime_checkable
class NegativeSampling(Protocol):
    """Chooses in YAML what a training example is (`dataset/negatives=...`)."""

    def draw(self, split: RankingSplit, answer_set: Int[np.ndarray, " answer"], rng: np.random.Generator) -> Groups: ...


@dataclass(frozen=True)
class RandomNegatives:
    """A group for each (question, right candidate), with `num` negatives drawn from the whole answer set.

    The question's own right candidates are never drawn.
    """

    num: int

    def draw(self, split: RankingSplit, answer_set: Int[np.ndarray, " answer"], rng: np.random.Generator) -> Groups:
        right = np.flatnonzero(split.labels)
        question = split.pair_question[right]
        if len(answer_set) <= split.answers_per_question.max(initial=0):
            raise ConfigError(
                f"the answer set has {len(answer_set)} texts and a question as many right ones: none is left to draw as a negative. "
                "Use dataset/negatives=pool"
            )
        texts = len(answer_set) and int(max(answer_set.max(), split.candidates.max(initial=0))) + 1
        is_right = np.unique(question * texts + split.candidates[right])  # (question, text) as one number
        drawn = answer_set[rng.integers(len(answer_set), size=(len(right), self.num))]  # (group, num)
        while (clash := np.isin(question[:, None] * texts + drawn, is_right)).any():
            drawn[clash] = answer_set[rng.integers(len(answer_set), size=int(clash.sum()))]
        candidates = np.concatenate([split.candidates[right][:, None], drawn], axis=1)  # (group, 1 + num)
        labels = np.zeros(candidates.shape, dtype=np.int8)
        labels[:, 0] = 1
        offsets = np.arange(len(right) + 1) * (1 + self.num)
        return Groups(split.questions[question], offsets, candidates.reshape(-1), labels.reshape(-1))


@dataclass(frozen=True)
class PoolNegatives:
    """A group for each (question, right candidate), with up to `num` of the wrong candidates of the question's own pool.

    Questions whose pool has no wrong candidate teach a pairwise loss nothing and are left out.
    """

    num: int

    def draw(self, split: RankingSplit, answer_set: Int[np.ndarray, " answer"], rng: np.random.Generator) -> Groups:
        questions, sizes, pairs = [], [], []
        for q, (start, end) in enumerate(zip(split.offsets[:-1], split.offsets[1:], strict=True)):
            labels = split.labels[start:end]
            wrong = start + np.flatnonzero(labels == 0)
            if len(wrong) == 0:
                continue
            for right in start + np.flatnonzero(labels):
                chosen = rng.choice(wrong, size=min(self.num, len(wrong)), replace=False)
                questions.append(q)
                sizes.append(1 + len(chosen))
                pairs += [right, *chosen]
        if not pairs:
            raise ConfigError("no training question has both a right and a wrong candidate in its pool. Use dataset/negatives=random")
        order = np.array(pairs, dtype=np.int64)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        return Groups(split.questions[np.array(questions)], offsets, split.candidates[order], split.labels[order])


@dataclass(frozen=True)
class PoolPairs:
    """A group for each labelled pair by itself, as pointwise losses read them."""

    def draw(self, split: RankingSplit, answer_set: Int[np.ndarray, " answer"], rng: np.random.Generator) -> Groups:
        offsets = np.arange(split.num_pairs + 1)
        return Groups(split.questions[split.pair_question], offsets, np.asarray(split.candidates), np.asarray(split.labels))
