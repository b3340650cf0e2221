"""LSTM, GRU and QRNN against torch's cells and loops written from Tay et al. 2018; a text read in two parts is as one read at once."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from qaexp.models.encoder.qrnn import QRNN
from qaexp.models.encoder.rcnn import RCNN
from qaexp.models.encoder.recurrent import GRU, LSTM, RecurrentEncoder
from qaexp.models.types import Text

LENGTHS = [6, 1, 4]


@pytest.fixture
def text() -> Text:
    torch.manual_seed(2)
    mask = torch.arange(8) < torch.tensor(LENGTHS)[:, None]
    return {"states": torch.randn(3, 8, 5), "mask": mask}


@pytest.mark.parametrize("kind", [LSTM, GRU])
@torch.no_grad()
def test_states_are_those_of_torchs_layer_over_real_words(kind: type[LSTM] | type[GRU], text: Text) -> None:
    encoder = kind(input_dim=5, hidden_dim=7)
    states = encoder(text)["states"]
    for row, length in enumerate(LENGTHS):
        torch.testing.assert_close(states[row, :length], layer_of(encoder)(text["states"][row, :length])[0])


@torch.no_grad()
def test_an_lstm_is_its_equations() -> None:
    encoder = LSTM(input_dim=3, hidden_dim=2)
    words = torch.randn(1, 5, 3)
    states = encoder({"states": words, "mask": torch.ones(1, 5, dtype=torch.bool)})["states"][0]
    W, U, b = layer_of(encoder).weight_ih_l0, layer_of(encoder).weight_hh_l0, layer_of(encoder).bias_ih_l0
    h, c = torch.zeros(2), torch.zeros(2)
    for t in range(5):
        i, f, z, o = (W @ words[0, t] + U @ h + b).chunk(4)
        c = f.sigmoid() * c + i.sigmoid() * z.tanh()
        h = o.sigmoid() * c.tanh()
        torch.testing.assert_close(states[t], h)


@torch.no_grad()
def test_a_gru_is_its_equations() -> None:
    encoder = GRU(input_dim=3, hidden_dim=2)
    words = torch.randn(1, 5, 3)
    states = encoder({"states": words, "mask": torch.ones(1, 5, dtype=torch.bool)})["states"][0]
    W, U, b = layer_of(encoder).weight_ih_l0, layer_of(encoder).weight_hh_l0, layer_of(encoder).bias_ih_l0
    h = torch.zeros(2)
    for t in range(5):
        (r, z, n), (Ur, Uz, Un) = (W @ words[0, t] + b).chunk(3), (U @ h).chunk(3)
        r, z = (r + Ur).sigmoid(), (z + Uz).sigmoid()
        h = (1 - z) * (n + r * Un).tanh() + z * h
        torch.testing.assert_close(states[t], h)


@pytest.mark.parametrize("kind", [LSTM, GRU])
def test_the_second_bias_is_zero_and_stays_so(kind: type[LSTM] | type[GRU], text: Text) -> None:
    encoder = kind(input_dim=5, hidden_dim=7)
    frozen = [p for name, p in encoder.named_parameters() if "bias_hh" in name]
    assert len(frozen) == 1
    assert not frozen[0].requires_grad
    assert not frozen[0].any()


@pytest.mark.parametrize("width", [1, 2, 3])
@torch.no_grad()
def test_a_qrnn_is_its_equations_word_by_word(width: int, text: Text) -> None:
    encoder = QRNN(input_dim=5, hidden_dim=4, window=width)
    states = encoder(text)["states"]
    W = encoder.gates.weight.squeeze(2)  # (3 · dim, input, width)
    for row, length in enumerate(LENGTHS):
        c = torch.zeros(4)
        for t in range(length):
            gates = sum((W[:, :, k] @ word(text, row, t - (width - 1) + k) for k in range(width)), torch.zeros(12))
            z, f, o = gates.chunk(3)
            c = f.sigmoid() * c + (1 - f.sigmoid()) * z.tanh()
            torch.testing.assert_close(states[row, t], o.sigmoid() * c, rtol=1e-5, atol=1e-5)


def layer_of(encoder: LSTM | GRU) -> nn.LSTM | nn.GRU:
    return encoder.lstm if isinstance(encoder, LSTM) else encoder.gru


def word(text: Text, row: int, t: int) -> Tensor:
    """Words before the first are zeros."""
    return text["states"][row, t] if t >= 0 else torch.zeros(5)


def test_gates_are_one_convolution(text: Text) -> None:
    encoder = QRNN(input_dim=5, hidden_dim=4, window=2)
    words = text["states"] * text["mask"].unsqueeze(-1)
    convolved = nn.functional.conv1d(nn.functional.pad(words.transpose(1, 2), (1, 0)), encoder.gates.weight.squeeze(2))
    torch.testing.assert_close(encoder.begin(text)["qrnn_gates"][:, :, :4], convolved[:, :4].transpose(1, 2).tanh(), rtol=1e-5, atol=1e-6)


INPUT, HIDDEN = 5, 6
FIRST, SECOND = [3, 1, 4], [2, 5, 1]
"""Words of each text's two parts."""

CELLS: dict[str, Callable[[], RecurrentEncoder]] = {
    "lstm": lambda: LSTM(INPUT, HIDDEN),
    "gru": lambda: GRU(INPUT, HIDDEN),
    "rcnn": lambda: RCNN(INPUT, HIDDEN, 2, "vector"),
    "rcnn, scalar gate, order 3": lambda: RCNN(INPUT, HIDDEN, 3, "scalar"),
}


def part(words: list[torch.Tensor]) -> dict[str, torch.Tensor]:
    """Texts of different lengths, with something in the padding that must not be read."""
    mask = torch.arange(max(map(len, words))) < torch.tensor([len(text) for text in words])[:, None]
    states = torch.nn.utils.rnn.pad_sequence(words, batch_first=True, padding_value=7.0)
    return {"states": states, "mask": mask}


@pytest.mark.parametrize("cell", CELLS)
def test_two_parts_read_one_after_the_other_are_the_whole_text(cell: str) -> None:
    torch.manual_seed(3)
    encoder = CELLS[cell]()
    whole = [torch.randn(a + b, INPUT, requires_grad=True) for a, b in zip(FIRST, SECOND, strict=True)]
    states, last = encoder.run(part(whole), None)
    before, handed_on = encoder.run(part([text[:a] for text, a in zip(whole, FIRST, strict=True)]), None)
    after, end = encoder.run(part([text[a:] for text, a in zip(whole, FIRST, strict=True)]), handed_on)
    for i, (a, b) in enumerate(zip(FIRST, SECOND, strict=True)):
        torch.testing.assert_close(torch.cat([before[i, :a], after[i, :b]]), states[i, : a + b])
    for ours, expected in zip(end, last, strict=True):
        torch.testing.assert_close(ours, expected)

    weights, inputs = torch.randn(HIDDEN), [*whole, *(p for p in encoder.parameters() if p.requires_grad)]
    ours, expected = (
        torch.autograd.grad((h[0, n - 1] + h[2, m - 1]) @ weights, inputs, allow_unused=True)
        for h, n, m in ((after, SECOND[0], SECOND[2]), (states, FIRST[0] + SECOND[0], FIRST[2] + SECOND[2]))
    )
    for gradient, wanted in zip(ours, expected, strict=True):
        torch.testing.assert_close(gradient, wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("cell", CELLS)
def test_the_visible_part_of_the_last_state_is_that_of_the_last_word(cell: str) -> None:
    torch.manual_seed(4)
    encoder = CELLS[cell]()
    states, last = encoder.run(part([torch.randn(a, INPUT) for a in FIRST]), None)
    visible = last[-1] if cell.startswith("rcnn") else last[0]
    torch.testing.assert_close(visible, states[torch.arange(3), torch.tensor(FIRST) - 1])
