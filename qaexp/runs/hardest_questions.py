"""The questions that a model finds hardest: those whose best right answer ranks lowest."""

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from qaexp.data.module import RankingDataModule
from qaexp.evaluation.metrics import rank_pairs


def hardest(data: RankingDataModule, split: str, scores: Float[Tensor, "pair *class"], count: int) -> pd.DataFrame:
    """A row for each of the `count` hardest questions of a split, the hardest first; of classes, for each of the hardest pairs.

    The index is the pair of the best right answer, which `answer` spells out beside what ranks first; of classes, the pair itself.
    Of two questions with the same rank, the harder one has the larger distance between the two scores.
    """
    return _hardest_pairs(data, split, scores, count) if data.classes else _hardest_questions(data, split, scores, count)


def _hardest_questions(data: RankingDataModule, split: str, scores: Float[Tensor, " pair"], count: int) -> pd.DataFrame:
    table, values = data.splits[split], scores.float().numpy()
    questions, starts = table.pair_question, table.offsets[:-1]
    order = rank_pairs(scores, torch.from_numpy(questions), torch.from_numpy(data.tie_orders[split])).numpy()
    ranks = np.arange(len(order)) - starts[questions[order]] + 1  # questions stand in order, so that each has its stretch of `order`
    right = np.flatnonzero(table.labels[order] == 1)
    answered, firsts = np.unique(questions[order[right]], return_index=True)
    best, leading, rank = order[right[firsts]], order[starts[answered]], ranks[right[firsts]]
    chosen = np.lexsort((values[best] - values[leading], -rank))[:count]
    answered, best, leading = answered[chosen], best[chosen], leading[chosen]
    return pd.DataFrame(
        {
            "question": [name.decode() for name in table.question_ids[answered].tolist()],
            "rank": rank[chosen],
            "candidates": np.diff(table.offsets)[answered],
            "text": _texts(data, table.questions[answered]),
            "answer": _texts(data, table.candidates[best]),
            "score": values[best],
            "ranked first": _texts(data, table.candidates[leading]),
            "its score": values[leading],
        },
        index=best,
    )


def _hardest_pairs(data: RankingDataModule, split: str, scores: Float[Tensor, "pair class"], count: int) -> pd.DataFrame:
    """By the probability of the pair's class, lowest first."""
    table, probabilities = data.splits[split], scores.float().softmax(dim=1).numpy()
    own = probabilities[np.arange(table.num_pairs), table.labels]
    chosen = np.argsort(own, kind="stable")[:count]
    return pd.DataFrame(
        {
            "pair": [name.decode() for name in table.question_ids[table.pair_question[chosen]].tolist()],
            "first": _texts(data, table.questions[table.pair_question[chosen]]),
            "second": _texts(data, table.candidates[chosen]),
            "class": [data.classes[label] for label in table.labels[chosen]],
            "its probability": own[chosen],
            "predicted": [data.classes[label] for label in probabilities[chosen].argmax(axis=1)],
        },
        index=chosen,
    )


def _texts(data: RankingDataModule, texts: np.ndarray) -> list[str]:
    return [" ".join(data.corpus.words(int(text))) for text in texts]
