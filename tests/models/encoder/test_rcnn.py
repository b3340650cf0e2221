"""Gated convolutions against a loop over words and orders, written from Lei et al. 2016, §4.1; gradients against autograd's."""

import pytest
import torch
from small_texts import some_states
from torch import Tensor

from qaexp.errors import ConfigError
from qaexp.models.encoder.rcnn import RCNN
from qaexp.models.intermediates import watch

LENGTHS = [6, 1, 4]
INPUT, HIDDEN = 5, 7


def encoder(order: int, gate: str) -> RCNN:
    torch.manual_seed(2)
    return RCNN(INPUT, HIDDEN, order, gate)


def paper(model: RCNN, words: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """The states of one text without padding, a word and an order at a time, and the gates 1 − λ."""
    W_gate, *W = model.W.split([len(model.U), *[HIDDEN] * n])
    c = {i: torch.zeros(HIDDEN) for i in range(1, n + 1)}
    h = torch.zeros(HIDDEN)
    states, gates = [], []
    for x in words:
        decay = torch.sigmoid(W_gate @ x + model.U @ h + model.b_gate)
        before = dict(c)
        c[1] = decay * before[1] + (1 - decay) * (W[0] @ x)
        for i in range(2, n + 1):
            c[i] = decay * before[i] + (1 - decay) * (before[i - 1] + W[i - 1] @ x)
        h = torch.tanh(c[n] + model.b)
        states.append(h)
        gates.append(1 - decay)
    return torch.stack(states), torch.stack(gates)


@pytest.mark.parametrize("gate", ["vector", "scalar"])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_states_and_their_gradients_are_the_papers_word_by_word(order: int, gate: str) -> None:
    model, text = encoder(order, gate), some_states(LENGTHS, INPUT, seed=4)
    wanted = torch.randn(3, max(LENGTHS), HIDDEN, generator=torch.Generator().manual_seed(5))
    text["states"].requires_grad_()
    H = model(text)["states"]
    expected = [paper(model, text["states"][i, :length], order)[0] for i, length in enumerate(LENGTHS)]
    for i, length in enumerate(LENGTHS):
        torch.testing.assert_close(H[i, :length], expected[i], rtol=1e-5, atol=1e-5)

    inputs = [text["states"], *model.parameters()]
    ours = torch.autograd.grad((H * wanted * text["mask"][:, :, None]).sum(), inputs)
    slow = torch.autograd.grad(torch.stack([(e * wanted[i, : len(e)]).sum() for i, e in enumerate(expected)]).sum(), inputs)
    for gradient, wanted_gradient in zip(ours, slow, strict=True):
        torch.testing.assert_close(gradient, wanted_gradient, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("gate", ["vector", "scalar"])
def test_the_gate_is_shown(gate: str) -> None:
    model, text = encoder(2, gate), some_states(LENGTHS, INPUT, seed=4)
    seen: dict[str, Tensor] = {}
    with watch(seen.__setitem__):
        model(text)
    assert seen["gate"].shape == (3, 6, HIDDEN if gate == "vector" else 1)
    for i, length in enumerate(LENGTHS):
        torch.testing.assert_close(seen["gate"][i, :length], paper(model, text["states"][i, :length], 2)[1], rtol=1e-5, atol=1e-5)


def test_a_gate_that_always_opens_makes_it_a_convolution() -> None:
    """§4.1: "When the gate λ_t = 0 (vector) for all t, the model represents a traditional CNN with filter width n"."""
    model, text = encoder(3, "vector"), some_states(LENGTHS, INPUT, seed=4)
    with torch.no_grad():
        model.b_gate.fill_(-100.0)
    W = model.W[HIDDEN:].unflatten(0, (3, HIDDEN))
    x = text["states"][0]
    h = model(text)["states"][0]
    torch.testing.assert_close(h[5], torch.tanh(W[0] @ x[3] + W[1] @ x[4] + W[2] @ x[5] + model.b), rtol=1e-5, atol=1e-5)


def test_parameters_are_those_of_table_3() -> None:
    assert sum(p.numel() for p in RCNN(200, 400, 2, "vector").parameters()) == 400_800


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(ConfigError, match="gate=matrix: choose vector or scalar"):
        RCNN(4, 4, 2, "matrix")
