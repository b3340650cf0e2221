"""Cosine and GESD against their formulas."""

import math

import pytest
import torch

from qaexp.errors import ConfigError
from qaexp.models.similarity.cosine import GESD, Cosine


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


@pytest.mark.parametrize(("gamma", "c"), [(1.0, 1.0), (0.5, 0.0), (0.5, 2.0)])
def test_gesd_is_the_product_of_nearness_and_agreement(gamma: float, c: float) -> None:
    question, candidate = torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(0))
    scores = GESD(4, gamma=gamma, c=c)(question, candidate)
    for x, y, score in zip(question.tolist(), candidate.tolist(), scores.tolist(), strict=True):
        distance = math.sqrt(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)))
        dot = sum(a * b for a, b in zip(x, y, strict=True))
        assert score == pytest.approx(1 / (1 + distance) * 1 / (1 + math.exp(-gamma * (dot + c))), abs=1e-6)


def test_equal_vectors_have_a_finite_gradient() -> None:
    question = torch.zeros(1, 3, requires_grad=True)
    score = GESD(3, gamma=1.0, c=1.0)(question, torch.zeros(1, 3))
    score.sum().backward()
    assert score.item() == pytest.approx(1 / (1 + math.exp(-1)))
    assert question.grad is not None
    assert torch.isfinite(question.grad).all()


def test_an_agreement_out_of_range_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"gamma=0\.0"):
        GESD(3, gamma=0.0, c=1.0)
