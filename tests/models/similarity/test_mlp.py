"""Dense layers against their equations."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from qaexp.models.similarity.dense import MLP


@pytest.mark.parametrize(("num_layers", "num_classes", "overlap"), [(0, 1, False), (1, 1, True), (2, 3, False), (3, 2, True)])
@torch.no_grad()
def test_scores_are_those_of_the_layers(num_layers: int, num_classes: int, overlap: bool) -> None:
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
def test_dropout_stands_behind_each_dense_layer() -> None:
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
