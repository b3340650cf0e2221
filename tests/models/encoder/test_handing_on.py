"""Cells that hand their state on: a text read in two parts is the text read at once, whatever padding stands between."""

from collections.abc import Callable

import pytest
import torch

from qaexp.models.encoder.rcnn import RCNN
from qaexp.models.encoder.recurrent import GRU, LSTM, RecurrentEncoder

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
