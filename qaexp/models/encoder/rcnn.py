"""RCNN: gated, non-consecutive convolutions (Lei et al. 2016, §4.1)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from qaexp.errors import ConfigError
from qaexp.limits import PositiveInt
from qaexp.models.encoder.recurrent import RecurrentEncoder, State
from qaexp.models.intermediates import show
from qaexp.models.ops.gated_convolution import gated_convolution, products_of_words
from qaexp.models.types import Text

SHUT = 1e4
"""Added to the input of a gate, it makes σ exactly 1."""


class RCNN(RecurrentEncoder):
    """A recurrent encoder. Each state is a weighted average of patterns of up to `order` words, adjacent or not; a gate sets the weights.

        λ_t = σ(W^λ·x_t + U^λ·h_{t−1} + b^λ)
        c_t^(1) = λ_t ⊙ c_{t−1}^(1) + (1 − λ_t) ⊙ (W_1·x_t)
        c_t^(i) = λ_t ⊙ c_{t−1}^(i) + (1 − λ_t) ⊙ (c_{t−1}^(i−1) + W_i·x_t)     i = 2 … n
        h_t = tanh(c_t^(n) + b)

    Lei et al. 2016, §4.1, "Adaptive Gated Decay". `gate: scalar` makes λ_t a single number, as for Figure 4.

    Shows `gate`, the weight 1 − λ_t of each new word: (text, length, dim), or (text, length, 1) with a scalar gate.

    Padding is read with λ = 1 and changes nothing, so the state after it equals the state after the last real word.

    Reading: c_0 and h_0 are zero, unless a decoder starts from an encoder's state. The paper does not say how weights are initialised; here
    as in torch's own recurrent layers, uniformly within ±1/√d.

    Under autocast the recurrence stays in float32, because rounding errors would add up over time.

    Raises:
        ConfigError: the gate is neither a vector nor a scalar.
    """

    def __init__(self, input_dim: int, hidden_dim: PositiveInt, order: PositiveInt, gate: str) -> None:
        super().__init__()
        if gate not in ("vector", "scalar"):
            raise ConfigError(f"model.encoder.gate={gate}: choose vector or scalar")
        gate_dim = hidden_dim if gate == "vector" else 1
        self.W = nn.Parameter(torch.empty(gate_dim + order * hidden_dim, input_dim))  # W^λ, W_1, …, W_n
        self.U = nn.Parameter(torch.empty(gate_dim, hidden_dim))  # U^λ
        self.b_gate = nn.Parameter(torch.empty(gate_dim))  # b^λ
        self.b = nn.Parameter(torch.empty(hidden_dim))
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(hidden_dim**-0.5), hidden_dim**-0.5)
        self.output_dim = hidden_dim

    def run(self, text: Text, start: State | None) -> tuple[Float[Tensor, "text length dim"], State]:
        bias = F.pad(self.b_gate, (0, len(self.W) - len(self.b_gate)))
        products = products_of_words(text["states"], self.W, bias)
        products[:, :, : len(self.b_gate)].masked_fill_(~text["mask"].T.unsqueeze(2), SHUT)
        with torch.autocast(products.device.type, enabled=False):
            H, gate, C = gated_convolution(products.float(), self.U, self.b, *(start or ()))
        show("gate", gate.transpose(0, 1))
        return H.transpose(0, 1), (C, H[-1])
