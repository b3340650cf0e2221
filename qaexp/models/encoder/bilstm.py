"""Bidirectional LSTM, the encoder of QA-LSTM (Tan et al. 2016)."""

from typing import ClassVar

from torch import nn

from qaexp.models.ops.packed import run_packed
from qaexp.models.stage import Encoder
from qaexp.models.types import Text


class BiLSTM(Encoder):
    """H = [LSTM→(x) ; LSTM←(x)], `hidden_dim` wide in each direction (Tan et al. 2016, eq. 1–6).

    Departs: torch's layer has two biases in each gate where the papers' equations have one: the same function, whose bias learns twice
    as fast.

    Texts are packed, so the backward direction starts at the last real token, never in the padding.
    """

    accumulates: ClassVar[bool] = True
    skips_padding: ClassVar[bool] = True

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(input_dim, hidden_dim, batch_first=True, bidirectional=True)
        self.output_dim, self.backward_dim = 2 * hidden_dim, hidden_dim

    def finish(self, text: Text) -> Text:
        return {"mask": text["mask"], "states": run_packed(self.lstm, text["states"], text["mask"])}
