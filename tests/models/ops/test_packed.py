"""Recurrent layers in blocks of padded texts against torch's over packed ones: states, gradients, and what a start makes of both."""

import pytest
import torch
from torch import Tensor, nn

from qaexp.models.masking import last_real
from qaexp.models.ops.packed import run_packed, run_packed_from

LENGTHS = [0, 1, 3, 40, 4, 90, 2, 41]


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("started", [False, True])
def test_blocks_give_what_packed_texts_give(kind: type[nn.RNNBase], bidirectional: bool, started: bool) -> None:
    torch.manual_seed(1)
    layer = kind(5, 7, batch_first=True, bidirectional=bidirectional)
    mask = torch.arange(95) < torch.tensor(LENGTHS).unsqueeze(1)
    parts = [torch.randn(1 + bidirectional, len(LENGTHS), 7, requires_grad=True) for _ in range(2 if kind is nn.LSTM else 1)]
    start = None if not started else tuple(parts) if kind is nn.LSTM else parts[0]
    states = torch.randn(len(LENGTHS), 95, 5, requires_grad=True)
    weights = torch.randn(len(LENGTHS), 95, 7 * (1 + bidirectional))
    leaves = [states, *layer.parameters(), *(parts if started else ())]

    def run(of_packed: bool) -> tuple[Tensor, tuple[Tensor, ...]]:
        H = run_packed_from(layer, states, mask, start)[0] if of_packed else run_packed(layer, states, mask, start)
        return H.detach(), torch.autograd.grad((H * weights).sum(), leaves)

    (ours, our_gradients), (theirs, their_gradients) = run(False), run(True)
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)
    for ours, theirs in zip(our_gradients, their_gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


def test_the_last_real_state_is_what_torch_ends_with() -> None:
    layer, mask = nn.GRU(5, 7, batch_first=True), torch.arange(95) < torch.tensor(LENGTHS).unsqueeze(1)
    states = torch.randn(len(LENGTHS), 95, 5)
    torch.testing.assert_close(last_real(run_packed(layer, states, mask), mask), run_packed_from(layer, states, mask, None)[1][0])


def test_a_frozen_bias_stays_without_a_gradient() -> None:
    layer = nn.LSTM(5, 7, batch_first=True)
    layer.bias_hh_l0.requires_grad_(False)
    run_packed(layer, torch.randn(2, 4, 5), torch.ones(2, 4, dtype=torch.bool)).sum().backward()
    assert layer.bias_hh_l0.grad is None
    assert layer.weight_hh_l0.grad is not None
