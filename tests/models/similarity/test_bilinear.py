"""The bilinear match, the tensor layer and the join layer against loops over the entries of their matrices."""

import math

import pytest
import torch
from torch import Tensor, nn

from qaexp.models.similarity.bilinear import Bilinear, TensorLayer
from qaexp.models.similarity.dense import JoinLayer

PAIRS, DIM = 5, 3


def pairs() -> tuple[Tensor, Tensor, Tensor]:
    random = torch.Generator().manual_seed(0)
    return torch.randn(PAIRS, DIM, generator=random), torch.randn(PAIRS, DIM, generator=random), torch.rand(PAIRS, 4, generator=random)


def form(q: list[float], M: Tensor, a: list[float]) -> float:
    return sum(q[i] * M[i][j].item() * a[j] for i in range(DIM) for j in range(DIM))


def affine(layer: nn.Linear, x: list[float]) -> list[float]:
    biases = layer.bias.tolist() if layer.bias is not None else [0.0] * layer.out_features
    return [sum(w * v for w, v in zip(row, x, strict=True)) + bias for row, bias in zip(layer.weight.tolist(), biases, strict=True)]


def equal(scores: Tensor, expected: list[list[float]], num_classes: int) -> None:
    assert scores.shape == ((PAIRS,) if num_classes == 1 else (PAIRS, num_classes))
    torch.testing.assert_close(scores.reshape(PAIRS, -1), torch.tensor(expected), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("num_classes", [1, 3])
def test_a_bilinear_score_is_the_sum_over_entries(num_classes: int, overlap: bool) -> None:
    torch.manual_seed(1)
    similarity = Bilinear(DIM, num_classes=num_classes, overlap=overlap)
    nn.init.normal_(similarity.b)
    question, candidate, features = pairs()
    scores = similarity(question, candidate, *([features] if overlap else []))
    expected = []
    for q, a, f in zip(question.tolist(), candidate.tolist(), features.tolist(), strict=True):
        shared = affine(similarity.w, f) if similarity.w is not None else [0.0] * num_classes
        expected.append([form(q, similarity.M[k], a) + shared[k] + similarity.b[k].item() for k in range(num_classes)])
    equal(scores, expected, num_classes)
    assert similarity.reads_overlap == overlap


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("num_classes", [1, 3])
def test_a_tensor_layer_is_a_form_a_slice(num_classes: int, overlap: bool) -> None:
    torch.manual_seed(1)
    similarity = TensorLayer(DIM, num_slices=2, num_classes=num_classes, overlap=overlap, initial_bias=-2.0)
    assert similarity.U.bias.tolist() == [-2.0] * num_classes
    question, candidate, features = pairs()
    scores = similarity(question, candidate, *([features] if overlap else []))
    expected = []
    for q, a, f in zip(question.tolist(), candidate.tolist(), features.tolist(), strict=True):
        linear = affine(similarity.V, q + a)
        z = [math.tanh(form(q, similarity.M[r], a) + linear[r]) for r in range(2)]
        expected.append(affine(similarity.U, z + f if overlap else z))
    equal(scores, expected, num_classes)


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("num_classes", [1, 3])
def test_the_join_layer_puts_the_match_between_the_vectors(num_classes: int, overlap: bool) -> None:
    torch.manual_seed(1)
    similarity = JoinLayer(DIM, num_classes=num_classes, overlap=overlap)
    question, candidate, features = pairs()
    scores = similarity(question, candidate, *([features] if overlap else []))
    expected = []
    for q, a, f in zip(question.tolist(), candidate.tolist(), features.tolist(), strict=True):
        x = [*q, form(q, similarity.M[0], a), *a, *(f if overlap else [])]
        hidden = affine(similarity.hidden, x)
        assert len(hidden) == len(x)
        expected.append(affine(similarity.output, [math.tanh(unit) for unit in hidden]))
    equal(scores, expected, num_classes)
