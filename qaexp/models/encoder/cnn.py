"""Convolution over words, the encoder of QA-CNN and AP-CNN (dos Santos et al. 2016, §2.1)."""

import torch
from torch import nn
from torch.nn import functional as F

from qaexp.masking import silenced
from qaexp.models.stage import Encoder
from qaexp.types import Text


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
        words = silenced(text["states"], text["mask"])
        image = F.pad(words, (0, 0, self.before, self.after)).transpose(1, 2).unsqueeze(2)  # (text, dim, 1, before + length + after)
        # channels last, as words lie in memory: so nothing is turned around, and each state comes out in one piece
        image = image.contiguous(memory_format=torch.channels_last)
        states = F.conv2d(image, self.convolution.weight.unsqueeze(2), self.convolution.bias)  # (text, filter, 1, length)
        return {"mask": text["mask"], "states": states.squeeze(2).transpose(1, 2)}
