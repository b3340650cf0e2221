"""A question's whole list as one training example: all its right candidates against a sample of the wrong ones."""

from dataclasses import dataclass

import numpy as np

from qaexp.data.corpus import RankingCorpus, RankingSplit, ranges
from qaexp.data.negatives import Groups, some_of_each, wrong_pairs
from qaexp.errors import ConfigError


@dataclass(frozen=True)
class QuestionLists:
    """A group for each question: every right candidate, then up to `num` of the wrong ones of its pool, drawn anew each epoch.

    Lei et al. 2016, "Training Set": "We randomly sample 20 questions as negative examples for each p_i during each epoch."

    Reading: the 20 are drawn from the query's published random negatives, and queries with more than 10 right candidates are left out
    (`max_answers`), as the authors' release does. As elsewhere, a candidate labelled wrong whose text is labelled right in the same
    pool is no negative, and questions without a right or without a wrong candidate are left out.

    Raises, when drawing:
        ConfigError: no question is left.
    """

    num: int
    max_answers: int

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
