"""Convolution over words, the encoder of QA-CNN and AP-CNN (dos Santos et al. 2016, §2.1)."""

from torch import nn

from qaexp.models.masking import zero_padding
from qaexp.models.ops.convolution import convolved
from qaexp.models.stage import Encoder
from qaexp.models.types import Text


class CNN(Encoder):
    """Q = W·Z + b, with z_m the `window` word vectors around word m, end to end; no squashing (eq. 1–2).

    Reading: beyond the ends of a text the words are zeros, so each word has a column. An even window, whose middle lies
    between two words, reaches one word further to the right.
    """

    def __init__(self, input_dim: int, num_filters: int, window: int) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(input_dim, num_filters, window)
        self.before, self.after = (window - 1) // 2, window // 2
        self.output_dim = num_filters

    def finish(self, text: Text) -> Text:
        words = zero_padding(text["states"], text["mask"])
        states = convolved(words, self.convolution.weight, self.convolution.bias, self.before, self.after)
        return {"mask": text["mask"], "states": states}
