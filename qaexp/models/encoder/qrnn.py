"""Quasi-recurrent layer (Bradbury et al. 2016, as Tay et al. 2018 use it): gates by convolution, then a recurrence without weights."""

from typing import ClassVar

import torch
from torch import nn
from torch.nn import functional as F

from qaexp.models.recurrence import forget_mult
from qaexp.models.shown import show
from qaexp.models.stage import Encoder
from qaexp.types import Text


class QRNN(Encoder):
    """Z, F and O are `width` words wide, and see no later word.

        Z = tanh(W_z ∗ X),  F = σ(W_f ∗ X),  O = σ(W_o ∗ X)                    eq. 1
        c_t = f_t ⊙ c_{t−1} + (1 − f_t) ⊙ z_t                                    the joint is before this line
        h_t = o_t ⊙ c_t

    Tay et al. 2018, "Quasi Recurrent Neural Network". 3·k·d·m weights, and 3·d biases that the paper does not count.

    Reading: words before the first one are zeros (Bradbury et al. 2016, §2, mask their convolutions so).

    Shows `forget gate` and `output gate` (text, length, dim).
    """

    joint: ClassVar[str | None] = "recurrence gates"
    accumulates: ClassVar[bool] = True

    def __init__(self, input_dim: int, hidden_dim: int, width: int) -> None:
        super().__init__()
        self.gates = nn.Conv1d(input_dim, 3 * hidden_dim, width)
        self.width = width
        self.output_dim = hidden_dim

    def begin(self, text: Text) -> Text:
        words = text["states"].masked_fill(~text["mask"].unsqueeze(-1), 0.0)
        windows = F.pad(words, (0, 0, self.width - 1, 0)).unfold(1, self.width, 1)  # (text, length, dim, width)
        weight, bias = self.gates.weight.flatten(1), self.gates.bias
        convolved = F.linear(windows.flatten(2), weight, bias)  # one product for all gates of all words
        Z, forget, output = convolved.chunk(3, dim=2)
        return {"mask": text["mask"], "Z": Z.tanh(), "F": forget.sigmoid(), "O": output.sigmoid()}

    def finish(self, text: Text) -> Text:
        show("forget gate", text["F"])
        show("output gate", text["O"])
        Z, forget = (text[gate].transpose(0, 1).contiguous() for gate in ("Z", "F"))  # (length, text, dim)
        return {"mask": text["mask"], "states": text["O"] * forget_mult(forget, Z).transpose(0, 1)}


def gates_of(text: Text) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Z, F and O of begun texts, each (text, length, dim)."""
    return text["Z"], text["F"], text["O"]
