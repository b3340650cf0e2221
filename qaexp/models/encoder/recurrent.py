"""Recurrent encoders: LSTM, GRU and bidirectional LSTM.

Those of one direction hand their state on: what ends one text can begin another.
"""

from typing import ClassVar

from jaxtyping import Float
from torch import Tensor, nn

from qaexp.limits import PositiveInt
from qaexp.models.ops.packed import freeze_second_bias, run_packed, run_packed_from
from qaexp.models.stage import Encoder
from qaexp.models.types import Text

State = tuple[Tensor, ...]
"""Everything that a cell carries from one word to the next, a row for each text; which tensors these are is the cell's own affair."""


class RecurrentEncoder(Encoder):
    """An encoder of one direction whose cell can start from any state, such as the last one of another with the same cell and width."""

    accumulates: ClassVar[bool] = True

    def run(self, text: Text, start: State | None) -> tuple[Float[Tensor, "text length dim"], State]:
        """The visible states h_1 … h_L, and the cell's state after each text's last real word. Without `start` it begins from zeros."""
        raise NotImplementedError

    def finish(self, text: Text) -> Text:
        return {"mask": text["mask"], "states": self.run(text, None)[0]}


class LSTM(RecurrentEncoder):
    """An LSTM from left to right, `hidden_dim` wide.

        i_t = σ(Wⁱ·x_t + Uⁱ·h_{t−1} + bⁱ)
        f_t = σ(Wᶠ·x_t + Uᶠ·h_{t−1} + bᶠ)
        o_t = σ(Wᵒ·x_t + Uᵒ·h_{t−1} + bᵒ)
        z_t = tanh(Wᶻ·x_t + Uᶻ·h_{t−1} + bᶻ)
        c_t = i_t ⊙ z_t + f_t ⊙ c_{t−1}
        h_t = o_t ⊙ tanh(c_t)

    Lei et al. 2016, §5. It is torch's layer with one of its two biases held at zero: 4(ed + d² + d) parameters, as Lei et al. count them.
    """

    skips_padding: ClassVar[bool] = True

    def __init__(self, input_dim: int, hidden_dim: PositiveInt) -> None:
        super().__init__()
        self.lstm = nn.LSTM(input_dim, hidden_dim, batch_first=True)
        freeze_second_bias(self.lstm)
        self.output_dim = hidden_dim

    def finish(self, text: Text) -> Text:
        return {"mask": text["mask"], "states": run_packed(self.lstm, text["states"], text["mask"])}

    def run(self, text: Text, start: State | None) -> tuple[Float[Tensor, "text length dim"], State]:
        before = None if start is None else tuple(tensor.unsqueeze(0) for tensor in start)  # (layer, text, dim), as torch has them
        states, (h, c) = run_packed_from(self.lstm, text["states"], text["mask"], before)
        return states, (h[0], c[0])


class GRU(RecurrentEncoder):
    """A GRU from left to right, `hidden_dim` wide.

        i_t = σ(Wⁱ·x_t + Uⁱ·h_{t−1} + bⁱ)
        r_t = σ(Wʳ·x_t + Uʳ·h_{t−1} + bʳ)
        c_t = tanh(W·x_t + r_t ⊙ (U·h_{t−1}) + b)
        h_t = i_t ⊙ c_t + (1 − i_t) ⊙ h_{t−1}

    Lei et al. 2016, §5. One of torch's two biases is held at zero: 3(ed + d² + d) parameters, as Lei et al. count them.

    Departs: the paper prints U·(r_t ⊙ h_{t−1}), the reset before the product; torch's layer, which this is, resets after it. Widths and
    counts are the same.

    Reading: torch's update gate is 1 − i_t: its rows of W, U and b are the paper's with the sign turned.
    """

    skips_padding: ClassVar[bool] = True

    def __init__(self, input_dim: int, hidden_dim: PositiveInt) -> None:
        super().__init__()
        self.gru = nn.GRU(input_dim, hidden_dim, batch_first=True)
        freeze_second_bias(self.gru)
        self.output_dim = hidden_dim

    def finish(self, text: Text) -> Text:
        return {"mask": text["mask"], "states": run_packed(self.gru, text["states"], text["mask"])}

    def run(self, text: Text, start: State | None) -> tuple[Float[Tensor, "text length dim"], State]:
        before = None if start is None else start[0].unsqueeze(0)  # (layer, text, dim), as torch has it
        states, last = run_packed_from(self.gru, text["states"], text["mask"], before)
        return states, (last[0],)


class BiLSTM(Encoder):
    """H = [LSTM→(x) ; LSTM←(x)], `hidden_dim` wide in each direction (Tan et al. 2016, eq. 1–6).

    Departs: torch's layer has two biases in each gate where the papers' equations have one: the same function, whose bias learns twice
    as fast.

    Texts are packed, so the backward direction starts at the last real token, never in the padding.
    """

    accumulates: ClassVar[bool] = True
    skips_padding: ClassVar[bool] = True

    def __init__(self, input_dim: int, hidden_dim: PositiveInt) -> None:
        super().__init__()
        self.lstm = nn.LSTM(input_dim, hidden_dim, batch_first=True, bidirectional=True)
        self.output_dim, self.backward_dim = 2 * hidden_dim, hidden_dim

    def finish(self, text: Text) -> Text:
        return {"mask": text["mask"], "states": run_packed(self.lstm, text["states"], text["mask"])}
