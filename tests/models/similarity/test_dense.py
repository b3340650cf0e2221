"""Dense layers against their equations, and circular correlation against its definition."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from qaexp.models.similarity.dense import MLP, Holographic, circular_correlation


@pytest.mark.parametrize(("num_layers", "num_classes", "overlap"), [(0, 1, False), (1, 1, True), (2, 3, False), (3, 2, True)])
@torch.no_grad()
def test_an_mlp_scores_by_its_layers(num_layers: int, num_classes: int, overlap: bool) -> None:
    mlp = MLP(5, hidden_dim=7, num_layers=num_layers, num_classes=num_classes, dropout_rate=0.5, overlap=overlap).eval()
    question, candidate, features = torch.randn(4, 5), torch.randn(4, 5), torch.randn(4, 4)
    scores = mlp(question, candidate, *([features] if overlap else []))
    x = torch.cat([question, candidate, features] if overlap else [question, candidate], dim=1)
    for layer in mlp.dense:
        if isinstance(layer, nn.Linear):
            x = (x @ layer.weight.T + layer.bias).clamp(min=0)
    x = x @ mlp.output.weight.T + mlp.output.bias
    torch.testing.assert_close(scores, x[:, 0] if num_classes == 1 else x)


@torch.no_grad()
def test_dropout_follows_each_layer_of_an_mlp() -> None:
    mlp = MLP(5, hidden_dim=7, num_layers=2, num_classes=1, dropout_rate=0.5, overlap=False).train()
    question, candidate = torch.randn(4, 5), torch.randn(4, 5)
    torch.manual_seed(3)
    scores = mlp(question, candidate)
    torch.manual_seed(3)
    x = torch.cat([question, candidate], dim=1)
    for layer in mlp.dense:
        if isinstance(layer, nn.Linear):
            x = F.dropout(layer(x).relu(), 0.5)
    torch.testing.assert_close(scores, mlp.output(x).squeeze(1))


@pytest.mark.parametrize("dim", [1, 2, 7, 8])
def test_the_transform_gives_the_sums_of_the_definition(dim: int) -> None:
    question, candidate = torch.randn(2, 4, dim, generator=torch.Generator().manual_seed(0))
    correlation = circular_correlation(question, candidate)
    for q, a, composed in zip(question.tolist(), candidate.tolist(), correlation.tolist(), strict=True):
        expected = [sum(q[i] * a[(k + i) % dim] for i in range(dim)) for k in range(dim)]
        assert composed == pytest.approx(expected, abs=1e-5)


def test_correlation_is_not_symmetric() -> None:
    """Unlike convolution: question and answer play different parts."""
    question, candidate = torch.randn(2, 4, 5, generator=torch.Generator().manual_seed(0))
    assert not torch.allclose(circular_correlation(question, candidate), circular_correlation(candidate, question))


def affine(layer: nn.Linear, x: list[float]) -> list[float]:
    return [sum(w * v for w, v in zip(row, x, strict=True)) + b for row, b in zip(layer.weight.tolist(), layer.bias.tolist(), strict=True)]


@pytest.mark.parametrize(("bilinear", "overlap"), [(False, False), (True, True)])
@pytest.mark.parametrize(("num_layers", "num_classes"), [(1, 1), (3, 2)])
def test_the_dense_layers_read_correlation_match_and_features(num_layers: int, num_classes: int, bilinear: bool, overlap: bool) -> None:
    torch.manual_seed(1)
    dim = 4
    similarity = Holographic(
        dim, hidden_dim=3, num_layers=num_layers, num_classes=num_classes, dropout_rate=0.5, bilinear=bilinear, overlap=overlap
    ).eval()
    question, candidate = torch.randn(2, 5, dim)
    features = torch.rand(5, 4)
    scores = similarity(question, candidate, *([features] if overlap else []))
    assert scores.shape == ((5,) if num_classes == 1 else (5, num_classes))
    for q, a, f, score in zip(question.tolist(), candidate.tolist(), features.tolist(), scores.reshape(5, -1).tolist(), strict=True):
        x: list[float] = [sum(q[i] * a[(k + i) % dim] for i in range(dim)) for k in range(dim)]
        if similarity.M is not None:
            x.append(sum(q[i] * similarity.M[0, i, j].item() * a[j] for i in range(dim) for j in range(dim)))
        if overlap:
            x += f
        for layer in similarity.layers:
            assert isinstance(layer, nn.Linear)
            x = [math.tanh(unit) for unit in affine(layer, x)]
        assert score == pytest.approx(affine(similarity.output, x), abs=1e-5)


@torch.no_grad()
def test_dropout_follows_each_layer_over_the_correlation() -> None:
    similarity = Holographic(4, hidden_dim=7, num_layers=2, num_classes=1, dropout_rate=0.5, bilinear=False, overlap=False).train()
    question, candidate = torch.randn(2, 5, 4)
    torch.manual_seed(3)
    scores = similarity(question, candidate)
    torch.manual_seed(3)
    x = circular_correlation(question, candidate)
    for layer in similarity.layers:
        x = F.dropout(layer(x).tanh(), 0.5)
    torch.testing.assert_close(scores, similarity.output(x).squeeze(1))
