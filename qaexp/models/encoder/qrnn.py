"""Quasi-recurrent layer (Bradbury et al. 2016, as Tay et al. 2018 use it): gates by convolution, then a recurrence without weights."""

from torch import nn

from qaexp.limits import PositiveInt
from qaexp.models.encoder.recurrent import with_last_state
from qaexp.models.intermediates import is_watched, show
from qaexp.models.masking import zero_padding
from qaexp.models.ops.convolution import convolve_words
from qaexp.models.ops.recurrence import activate, fo_pool
from qaexp.models.stage import Encoder
from qaexp.models.types import Text


class QRNN(Encoder):
    """Convolutions of `window` words, which see no later word, give the gates of a recurrence.

        Z = tanh(W_z ∗ X),  F = σ(W_f ∗ X),  O = σ(W_o ∗ X)                    eq. 1
        c_t = f_t ⊙ c_{t−1} + (1 − f_t) ⊙ z_t                                    the joint is before this line
        h_t = o_t ⊙ c_t

    Tay et al. 2018, "Quasi Recurrent Neural Network". At the joint a text has `qrnn_gates` (text, length, 3 dim): Z, F and O
    side by side. The paper's eq. 1 has no biases, and its parameter count of 3·k·d·m includes none.

    Reading: words before the first one are zeros (Bradbury et al. 2016, §2, mask their convolutions so).

    Under autocast the recurrence stays in float32, because rounding errors would add up over time.

    Shows `forget_gate` and `output_gate` (text, length, dim).
    """

    def __init__(self, input_dim: int, hidden_dim: PositiveInt, window: PositiveInt) -> None:
        super().__init__()
        self.gates = nn.Conv2d(input_dim, 3 * hidden_dim, (1, window), bias=False)
        self.window = window
        self.output_dim = hidden_dim

    def begin(self, text: Text) -> Text:
        words = zero_padding(text["states"], text["mask"])
        gates = convolve_words(words, self.gates.weight.squeeze(2), None, before=self.window - 1)  # (text, length, 3 dim)
        return {"mask": text["mask"], "qrnn_gates": activate(gates.contiguous())}

    def finish(self, text: Text) -> Text:
        if is_watched():
            _, forget, output = text["qrnn_gates"].chunk(3, dim=2)
            show("forget_gate", forget)
            show("output_gate", output)
        return with_last_state(fo_pool(text["qrnn_gates"].float()), text["mask"])
