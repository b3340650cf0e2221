"""Convolution over words: plain (QA-CNN and AP-CNN), with a non-linearity on every column, and stacked with pooling in between (ARC-I)."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from qaexp.errors import ConfigError
from qaexp.limits import PositiveInt
from qaexp.models.masking import zero_padding
from qaexp.models.ops.convolution import convolve_words
from qaexp.models.ops.grid import max_of_neighbours
from qaexp.models.stage import Encoder
from qaexp.models.types import Text

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": torch.relu, "tanh": torch.tanh}


def activation_named(option: str, name: str) -> Callable[[Tensor], Tensor]:
    """The activation function that an option names.

    Raises:
        ConfigError: there is no activation of that name.

    >>> activation_named("model.encoder.squash", "relu")(torch.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    if name not in ACTIVATIONS:
        raise ConfigError(f"{option}={name}: choose {' or '.join(ACTIVATIONS)}")
    return ACTIVATIONS[name]


class CNN(Encoder):
    """Q = W·Z + b, with z_m the `window` word vectors around word m, end to end; no squashing (dos Santos et al. 2016, eq. 1–2).

    Reading: the text is padded with zeros on both sides, so each word has a column. An even window has its middle between two words and
    reaches one word further to the right.
    """

    def __init__(self, input_dim: int, num_filters: PositiveInt, window: PositiveInt) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(input_dim, num_filters, window)
        self.before, self.after = (window - 1) // 2, window // 2
        self.output_dim = num_filters

    def finish(self, text: Text) -> Text:
        words = zero_padding(text["states"], text["mask"])
        states = convolve_words(words, self.convolution.weight, self.convolution.bias, self.before, self.after)
        return {"mask": text["mask"], "states": states}


class SquashedCNN(CNN):
    """c_m = f(W·z_m + b), z_m the `window` word vectors around word m; f is tanh or ReLU, as `squash` says.

    Yu et al. 2014, eq. 3: c_i = tanh(T_L·s_i + T_R·s_{i+1} + b), a window of 2, averaged over time. Severyn & Moschitti 2015, §3.1: a
    window of 5, the maximum over time, and either non-linearity (ReLU in the paper's account, tanh in their release).

    Departs: there is a column for each word, the words beyond a text's ends being zeros. Yu et al. have one less, without the last word
    beside a zero; Severyn & Moschitti's wide convolution has `window` − 1 more; Lei et al. 2016, §5, look at the words before m alone.

    Raises:
        ConfigError: another non-linearity.
    """

    def __init__(self, input_dim: int, num_filters: PositiveInt, window: PositiveInt, squash: str) -> None:
        super().__init__(input_dim, num_filters, window)
        self.squash = activation_named("model.encoder.squash", squash)

    def finish(self, text: Text) -> Text:
        columns = super().finish(text)
        return {**columns, "states": self.squash(columns["states"])}


class StackedCNN(Encoder):
    """Layers of a convolution over `window` units and a maximum over pairs of neighbours; one layer for each number in `num_filters`.

        z_i^(l) = g(ẑ_i) · ReLU(W^(l)·ẑ_i + b^(l)),  ẑ_i = [z_i ; … ; z_{i+k−1}]^(l−1)
        z_i^(l+1) = max(z_{2i−1}^(l), z_{2i}^(l))

    Hu et al. 2014, §2. The gate g is 0 where all of ẑ is padding, else 1. Each layer halves the length.

    Reading: the window of a unit begins with the unit itself, with zeros beyond the end, so the gate is open for every unit of a text. The
    paper pads all texts to one length and gives the concatenated units of the last layer to the MLP; here a pooling over time makes a
    vector of them, whatever the length.
    """

    def __init__(self, input_dim: int, num_filters: Sequence[PositiveInt], window: PositiveInt) -> None:
        super().__init__()
        widths = [input_dim, *num_filters]
        self.convolutions = nn.ModuleList(nn.Conv1d(width, wider, window) for width, wider in pairwise(widths))
        self.after = window - 1
        self.output_dim = widths[-1]

    def finish(self, text: Text) -> Text:
        z, mask = text["states"], text["mask"]
        for convolution in self.convolutions:
            assert isinstance(convolution, nn.Conv1d)
            z = convolve_words(zero_padding(z, mask), convolution.weight, convolution.bias, after=self.after).relu()
            z, mask = max_of_neighbours(zero_padding(z, mask), dim=1), mask[:, ::2]
        return {"mask": mask, "states": z}
