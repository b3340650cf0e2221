"""The GRU in two halves against torch's own, and against the equations of one step."""

import pytest
import torch
from torch import Tensor

from qaexp.models.encoder.gated_gru import GatedGRU
from qaexp.models.intermediates import watch
from qaexp.models.types import Text

LENGTHS = [3, 1, 6, 5]


@pytest.fixture
def encoder() -> GatedGRU:
    torch.manual_seed(1)
    return GatedGRU(input_dim=4, hidden_dim=5)


@pytest.fixture
def text() -> Text:
    mask = torch.arange(7) < torch.tensor(LENGTHS)[:, None]
    return {"states": torch.randn(4, 7, 4, generator=torch.Generator().manual_seed(2)), "mask": mask}


def test_without_an_interaction_it_is_torchs_gru(encoder: GatedGRU, text: Text) -> None:
    halves, whole = encoder.finish(encoder.begin(text))["states"], encoder(text)["states"]
    for states in (halves, whole):
        assert states.shape == (4, 7, encoder.output_dim)
        for i, length in enumerate(LENGTHS):
            torch.testing.assert_close(states[i, :length], encoder.gru(text["states"][i : i + 1, :length])[0][0], rtol=1e-5, atol=1e-5)
            assert not states[i, length:].any()


def test_its_gradients_are_those_of_torchs_gru(encoder: GatedGRU, text: Text) -> None:
    weighing = torch.randn(4, 7, 10, generator=torch.Generator().manual_seed(3))

    def gradients(states: Tensor) -> list[Tensor]:
        encoder.zero_grad()
        (states * weighing).sum().backward()
        return [p.grad.clone() for p in encoder.parameters() if p.grad is not None]

    ours, torchs = gradients(encoder.finish(encoder.begin(text))["states"]), gradients(encoder(text)["states"])
    assert len(ours) == len(torchs) == 8
    for our, other in zip(ours, torchs, strict=True):
        torch.testing.assert_close(our, other, rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_moved_gates_are_the_recurrence_word_by_word(encoder: GatedGRU, text: Text) -> None:
    begun = encoder.begin(text)
    gates = begun["gru_gates"] + torch.randn(4, 1, 2, 3, 5, generator=torch.Generator().manual_seed(4))
    shown: dict[str, Tensor] = {}
    with watch(lambda name, tensor: shown.__setitem__(name, tensor)):
        states = encoder.finish({"mask": begun["mask"], "gru_gates": gates})["states"]
    for i, length in enumerate(LENGTHS):
        for direction, suffix in enumerate(["", "_reverse"]):
            U_r, U_z, U_n = getattr(encoder.gru, f"weight_hh_l0{suffix}").chunk(3)
            c_r, c_z, c_n = getattr(encoder.gru, f"bias_hh_l0{suffix}").chunk(3)
            h = torch.zeros(5)
            places = slice(5 * direction, 5 * (direction + 1))
            for t in range(length) if direction == 0 else reversed(range(length)):
                g_r, g_z, g_n = gates[i, t, direction]
                r = torch.sigmoid(g_r + U_r @ h + c_r)
                z = torch.sigmoid(g_z + U_z @ h + c_z)
                h = (1 - z) * torch.tanh(g_n + r * (U_n @ h + c_n)) + z * h
                torch.testing.assert_close(states[i, t, places], h, rtol=1e-5, atol=1e-5)
                torch.testing.assert_close(shown["reset_gates"][i, t, places], r, rtol=1e-5, atol=1e-5)
                torch.testing.assert_close(shown["update_gates"][i, t, places], z, rtol=1e-5, atol=1e-5)


def test_the_gates_can_be_seen_in_a_text_by_itself(encoder: GatedGRU, text: Text) -> None:
    shown: dict[str, Tensor] = {}
    with watch(lambda name, tensor: shown.__setitem__(name, tensor)):
        states = encoder(text)["states"]
    torch.testing.assert_close(states, encoder(text)["states"], rtol=1e-5, atol=1e-5)
    assert {name: tensor.shape for name, tensor in shown.items()} == {"reset_gates": (4, 7, 10), "update_gates": (4, 7, 10)}


def test_the_last_state_of_each_direction_is_where_it_ends(encoder: GatedGRU, text: Text) -> None:
    for read in (encoder(text), encoder.finish(encoder.begin(text))):
        for i, length in enumerate(LENGTHS):
            assert torch.equal(read["last"][i], torch.cat([read["states"][i, length - 1, :5], read["states"][i, 0, 5:]]))
