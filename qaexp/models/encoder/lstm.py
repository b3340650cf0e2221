"""LSTM over words (Hochreiter & Schmidhuber 1997), in one direction."""

from typing import ClassVar

from torch import nn

from qaexp.models.encoder.packed import PackedEncoder, one_bias


class LSTM(PackedEncoder):
    """h_t, c_t = LSTM(x_t, h_{t−1}, c_{t−1}): 4(ed + d² + d) parameters, as Lei et al. 2016, Table 3, count them.

    i, f, o = σ(W x_t + U h_{t−1} + b),  z = tanh(W x_t + U h_{t−1} + b)
    c_t = f ⊙ c_{t−1} + i ⊙ z,  h_t = o ⊙ tanh(c_t)
    """

    accumulates: ClassVar[bool] = True

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__(one_bias(nn.LSTM(input_dim, hidden_dim, batch_first=True)))
