"""The squashed convolution against loops over words, from Yu et al. 2014, eq. 3, and Severyn & Moschitti 2015, §3.1."""

import pytest
import torch

from qaexp.errors import ConfigError
from qaexp.models.encoder.cnn import SquashedCNN
from qaexp.models.types import Text

LENGTHS = [3, 1, 6]


def text() -> Text:
    mask = torch.arange(7) < torch.tensor(LENGTHS)[:, None]
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
    for i, length in enumerate(LENGTHS):
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
    for i, length in enumerate(LENGTHS):
        words = [torch.zeros(4)] * 2 + list(text()["states"][i, :length]) + [torch.zeros(4)] * 2
        for t in range(length):
            column = sum((W[k] @ words[t + k] for k in range(5)), start=b)
            torch.testing.assert_close(states[i, t], column.clamp(min=0), rtol=1e-5, atol=1e-5)


def test_another_squash_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"model\.encoder\.squash=sigmoid: choose relu or tanh"):
        SquashedCNN(input_dim=4, num_filters=5, window=2, squash="sigmoid")
