"""Convolutions against loops over words and windows: plain, squashed (Yu et al. 2014, Severyn & Moschitti 2015) and stacked (ARC-I)."""

import pytest
import torch
from torch import Tensor

from qaexp.errors import ConfigError
from qaexp.models.encoder.cnn import CNN, SquashedCNN, StackedCNN
from qaexp.models.types import Text

LENGTHS = [5, 1, 3]


@pytest.mark.parametrize(("window", "before"), [(1, 0), (2, 0), (3, 1), (4, 1)])
def test_each_word_sees_its_window_and_zeros_beyond_the_ends(window: int, before: int) -> None:
    torch.manual_seed(3)
    encoder = CNN(input_dim=4, num_filters=6, window=window)
    mask = torch.arange(5) < torch.tensor(LENGTHS)[:, None]
    states = torch.randn(3, 5, 4).masked_fill(~mask[:, :, None], 7.0)  # what stands in the padding must not be read
    H = encoder({"states": states, "mask": mask})["states"]
    W, b = encoder.convolution.weight, encoder.convolution.bias
    assert b is not None
    for text, length in enumerate(LENGTHS):
        for m in range(length):
            expected = b.clone()
            for k in range(window):
                if 0 <= m - before + k < length:
                    expected = expected + W[:, :, k] @ states[text, m - before + k]
            torch.testing.assert_close(H[text, m], expected, rtol=1e-5, atol=1e-5)


def test_parameters_are_those_of_equation_1() -> None:
    assert sum(p.numel() for p in CNN(input_dim=300, num_filters=400, window=4).parameters()) == 400 * 300 * 4 + 400


SQUASHED = [3, 1, 6]


def text() -> Text:
    mask = torch.arange(7) < torch.tensor(SQUASHED)[:, None]
    states = torch.randn(3, 7, 4, generator=torch.Generator().manual_seed(2))
    return {"states": states.masked_fill(~mask[:, :, None], 9.0), "mask": mask}


@torch.no_grad()
def test_bigrams_are_the_tanh_of_two_neighbours() -> None:
    torch.manual_seed(1)
    encoder = SquashedCNN(input_dim=4, num_filters=5, window=2, squash="tanh")
    T_L, T_R = encoder.convolution.weight.unbind(dim=2)
    b = encoder.convolution.bias
    assert b is not None
    states = encoder(text())["states"]
    for i, length in enumerate(SQUASHED):
        words = [*text()["states"][i, :length], torch.zeros(4)]
        for t in range(length):
            expected = torch.tanh(T_L @ words[t] + T_R @ words[t + 1] + b)
            torch.testing.assert_close(states[i, t], expected, rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_a_window_of_five_reaches_two_words_either_way() -> None:
    torch.manual_seed(1)
    encoder = SquashedCNN(input_dim=4, num_filters=5, window=5, squash="relu")
    W, b = encoder.convolution.weight.unbind(dim=2), encoder.convolution.bias
    assert b is not None
    states = encoder(text())["states"]
    for i, length in enumerate(SQUASHED):
        words = [torch.zeros(4)] * 2 + list(text()["states"][i, :length]) + [torch.zeros(4)] * 2
        for t in range(length):
            column = sum((W[k] @ words[t + k] for k in range(5)), start=b)
            torch.testing.assert_close(states[i, t], column.clamp(min=0), rtol=1e-5, atol=1e-5)


def test_another_squash_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"model\.encoder\.squash=sigmoid: choose relu or tanh"):
        SquashedCNN(input_dim=4, num_filters=5, window=2, squash="sigmoid")


STACKED = [7, 1, 4]


def paper(encoder: StackedCNN, words: Tensor, window: int) -> Tensor:
    """The last units of one text without padding."""
    units = list(words)
    for convolution in encoder.convolutions:
        assert isinstance(convolution, torch.nn.Conv1d)
        assert convolution.bias is not None
        convolved = []
        for i in range(len(units)):
            z = convolution.bias.clone()
            for k in range(window):
                if i + k < len(units):
                    z = z + convolution.weight[:, :, k] @ units[i + k]
            convolved.append(torch.clamp(z, min=0))
        units = [torch.stack(convolved[i : i + 2]).amax(dim=0) for i in range(0, len(convolved), 2)]
    return torch.stack(units)


@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize("num_filters", [[5], [5, 6], [5, 6, 3]])
def test_units_are_the_papers_one_by_one(num_filters: list[int], window: int) -> None:
    torch.manual_seed(2)
    encoder = StackedCNN(4, num_filters, window)
    mask = torch.arange(9) < torch.tensor(STACKED)[:, None]
    states = torch.randn(3, 9, 4).masked_fill(~mask[:, :, None], 7.0)  # what stands in the padding must not be read
    text = encoder({"states": states, "mask": mask})
    for i, length in enumerate(STACKED):
        expected = paper(encoder, states[i, :length], window)
        assert text["mask"][i].sum() == len(expected)
        torch.testing.assert_close(text["states"][i, : len(expected)], expected, rtol=1e-5, atol=1e-5)
