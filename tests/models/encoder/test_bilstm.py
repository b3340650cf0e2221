"""The packed BiLSTM against texts that were never padded, and against the equations of one step."""

import pytest
import torch
from torch import Tensor

from qaexp.models.encoder.recurrent import BiLSTM
from qaexp.models.types import Text

LENGTHS = [3, 1, 6]


@pytest.fixture
def encoder() -> BiLSTM:
    torch.manual_seed(1)
    return BiLSTM(input_dim=4, hidden_dim=5)


@pytest.fixture
def text() -> Text:
    mask = torch.arange(6) < torch.tensor(LENGTHS)[:, None]
    return {"states": torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(2)), "mask": mask}


def test_padding_is_never_read(encoder: BiLSTM, text: Text) -> None:
    states = encoder(text)["states"]
    assert states.shape == (3, 6, encoder.output_dim)
    for i, length in enumerate(LENGTHS):
        torch.testing.assert_close(states[i, :length], encoder.lstm(text["states"][i : i + 1, :length])[0][0], rtol=1e-5, atol=1e-5)
        assert not states[i, length:].any()


def test_each_direction_is_the_recurrence_of_tan_et_al(encoder: BiLSTM, text: Text) -> None:
    """i, f, o = σ(W x + U h + b), C̃ = tanh(...), C = i C̃ + f C, h = o tanh(C)."""

    def run(words: list[Tensor], suffix: str) -> list[Tensor]:
        W, U = getattr(encoder.lstm, f"weight_ih_l0{suffix}"), getattr(encoder.lstm, f"weight_hh_l0{suffix}")
        b = getattr(encoder.lstm, f"bias_ih_l0{suffix}") + getattr(encoder.lstm, f"bias_hh_l0{suffix}")
        h, C, states = torch.zeros(5), torch.zeros(5), []
        for x in words:
            i, f, candidate, o = (W @ x + U @ h + b).split(5)
            C = i.sigmoid() * candidate.tanh() + f.sigmoid() * C
            h = o.sigmoid() * C.tanh()
            states.append(h)
        return states

    words = list(text["states"][0, :3])
    forward, backward = run(words, ""), run(words[::-1], "_reverse")[::-1]
    expected = torch.stack([torch.cat(pair) for pair in zip(forward, backward, strict=True)])
    torch.testing.assert_close(encoder(text)["states"][0, :3], expected, rtol=1e-5, atol=1e-5)


def test_a_text_of_padding_alone_does_not_stop_the_others(encoder: BiLSTM, text: Text) -> None:
    before = encoder(text)["states"]
    text["mask"][1] = False
    torch.testing.assert_close(encoder(text)["states"][[0, 2]], before[[0, 2]], rtol=1e-5, atol=1e-5)


def test_the_last_state_of_each_direction_is_where_it_ends(encoder: BiLSTM, text: Text) -> None:
    read = encoder(text)
    for i, length in enumerate(LENGTHS):
        assert torch.equal(read["last"][i], torch.cat([read["states"][i, length - 1, :5], read["states"][i, 0, 5:]]))
