"""Cosine against its formula."""

import math

import pytest
import torch

from qaexp.models.similarity.cosine import Cosine


def test_cosine_is_the_dot_product_of_unit_vectors() -> None:
    question, candidate = torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(0))
    scores = Cosine(4)(question, candidate)
    for q, a, score in zip(question.tolist(), candidate.tolist(), scores.tolist(), strict=True):
        dot = sum(x * y for x, y in zip(q, a, strict=True))
        assert score == pytest.approx(dot / math.sqrt(sum(x * x for x in q)) / math.sqrt(sum(x * x for x in a)), abs=1e-5)


def test_a_zero_vector_scores_zero_with_a_finite_gradient() -> None:
    question = torch.zeros(1, 3, requires_grad=True)
    scores = Cosine(3)(question, torch.ones(1, 3))
    scores.sum().backward()
    assert scores.tolist() == [0.0]
    assert question.grad is not None
    assert torch.isfinite(question.grad).all()
