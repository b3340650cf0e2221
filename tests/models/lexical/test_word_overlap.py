"""Word overlap against sets of words."""

import torch

from qaexp.models.lexical.word_overlap import WordOverlap


def score(question: list[int], candidate: list[int]) -> float:
    model = WordOverlap(vectors=torch.zeros(10, 0))
    return model.score(model.encode_question(torch.tensor([question])), model.encode_candidate(torch.tensor([candidate]))).item()


def test_distinct_shared_words_are_counted() -> None:
    assert score([5, 3, 5, 4, 0], [5, 5, 6, 4, 0, 0]) == 2


def test_unknown_words_equal_none() -> None:
    assert score([1, 3, 1], [1, 3]) == 1
