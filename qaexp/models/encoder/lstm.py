"""LSTM, one direction: a baseline of Tay et al. 2018 and of Lei et al. 2016."""

from typing import ClassVar

from jaxtyping import Float
from torch import Tensor, nn

from qaexp.models.encoder.recurrent import RecurrentEncoder, State
from qaexp.models.ops.packed import leave_one_bias, run_packed, run_packed_from
from qaexp.models.types import Text


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

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(input_dim, hidden_dim, batch_first=True)
        leave_one_bias(self.lstm)
        self.output_dim = hidden_dim

    def finish(self, text: Text) -> Text:
        return {"mask": text["mask"], "states": run_packed(self.lstm, text["states"], text["mask"])}

    def run(self, text: Text, start: State | None) -> tuple[Float[Tensor, "text length dim"], State]:
        before = None if start is None else tuple(tensor.unsqueeze(0) for tensor in start)  # (layer, text, dim), as torch has them
        states, (h, c) = run_packed_from(self.lstm, text["states"], text["mask"], before)
        return states, (h[0], c[0])
