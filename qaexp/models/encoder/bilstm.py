"""Bidirectional LSTM, the encoder of QA-LSTM (Tan et al. 2016)."""

from torch import nn

from qaexp.models.encoder.packed import PackedEncoder


class BiLSTM(PackedEncoder):
    """H = [LSTM→(x) ; LSTM←(x)], `hidden_dim` wide in each direction (Tan et al. 2016, eq. 1–6)."""

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__(nn.LSTM(input_dim, hidden_dim, batch_first=True, bidirectional=True))
