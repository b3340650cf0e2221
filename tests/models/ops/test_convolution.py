"""Convolutions over words, the way of a CPU and that of other devices, against torch's own layer."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from qaexp.models.ops.convolution import as_convolution, as_product


@pytest.mark.parametrize("way", [as_convolution, as_product])
@pytest.mark.parametrize(("window", "bias"), [(1, True), (2, False), (3, True), (5, True)])
def test_it_is_torchs_layer_and_so_are_its_gradients(way: Callable[..., torch.Tensor], window: int, bias: bool) -> None:
    torch.manual_seed(1)
    layer = nn.Conv1d(4, 6, window, bias=bias).double()
    words = torch.randn(3, 7, 4, dtype=torch.float64, requires_grad=True)
    leaves = [words, *layer.parameters()]
    ours, expected = way(words, layer.weight, layer.bias), layer(words.transpose(1, 2)).transpose(1, 2)
    torch.testing.assert_close(ours, expected)
    weights = torch.randn_like(expected)
    gradients = (torch.autograd.grad((states * weights).sum(), leaves) for states in (ours, expected))
    for each, other in zip(*gradients, strict=True):
        torch.testing.assert_close(each, other)


@pytest.mark.parametrize("layer", [nn.Conv1d(3, 5, 2), nn.Conv2d(3, 5, 3), nn.Conv2d(3, 5, (1, 2), bias=False)])
def test_a_layers_product_is_the_layer(layer: nn.Conv1d | nn.Conv2d) -> None:
    """Over a line, and over a grid."""
    units = torch.randn(2, 3, *[6] * (layer.weight.ndim - 2))
    torch.testing.assert_close(as_product(units.movedim(1, -1), layer.weight, layer.bias).movedim(-1, 1), layer(units))
