"""BM25 against its formula, written as a loop over words and texts, and the order of what it retrieves."""

from math import log

import numpy as np
import pytest

from qaexp.data.bm25 import BM25Index

RNG = np.random.default_rng(4)
TEXTS = [RNG.integers(2, 30, size=size).tolist() for size in RNG.integers(1, 15, size=60)] + [[29, 29, 29, 28]]
QUERIES = [RNG.integers(2, 33, size=size).tolist() for size in RNG.integers(1, 12, size=20)] + [[29, 29], [32], []]
NUM_WORDS = 33


def by_loop(query: list[int], k1: float, b: float) -> list[float]:
    mean = sum(map(len, TEXTS)) / len(TEXTS)
    scores = []
    for text in TEXTS:
        score = 0.0
        for word in query:
            holding = sum(word in other for other in TEXTS)
            idf = log(1 + (len(TEXTS) - holding + 0.5) / (holding + 0.5))
            score += idf * text.count(word) / (text.count(word) + k1 * (1 - b + b * len(text) / mean))
        scores.append(score)
    return scores


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.5, 0.0), (2.0, 1.0)])
def test_scores_are_those_of_the_formula(k1: float, b: float) -> None:
    index = BM25Index(TEXTS, NUM_WORDS, k1, b)
    for query in QUERIES:
        np.testing.assert_allclose(index.scores(query), by_loop(query, k1, b), atol=1e-5)


@pytest.mark.parametrize("num", [1, 3, 25, 61, 500])
def test_the_best_are_those_with_the_highest_scores_and_of_equals_the_first(num: int) -> None:
    index = BM25Index(TEXTS + TEXTS, NUM_WORDS, 1.2, 0.75)
    for query in QUERIES:
        scores = index.scores(query)
        ranked = sorted((-score, text) for text, score in enumerate(scores) if score > 0)
        assert index.best(query, num).tolist() == [text for _, text in ranked[:num]]


def test_a_query_of_unknown_words_retrieves_nothing() -> None:
    index = BM25Index(TEXTS, NUM_WORDS, 1.2, 0.75)
    assert index.best([32], 5).tolist() == index.best([], 5).tolist() == []
