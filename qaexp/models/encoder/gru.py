"""GRU over words (Cho et al. 2014), in one direction."""

from typing import ClassVar

from torch import nn

from qaexp.models.encoder.packed import PackedEncoder, one_bias


class GRU(PackedEncoder):
    """h_t = GRU(x_t, h_{t−1}): 3(ed + d² + d) parameters, as Lei et al. 2016, Table 3, count them.

        r, z = σ(W x_t + U h_{t−1} + b),  n = tanh(W x_t + b + r ⊙ U h_{t−1})
        h_t = (1 − z) ⊙ n + z ⊙ h_{t−1}

    Departs: the reset gate r multiplies U h_{t−1} and not h_{t−1}, as torch and cuDNN have it.
    """

    accumulates: ClassVar[bool] = True

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__(one_bias(nn.GRU(input_dim, hidden_dim, batch_first=True)))
