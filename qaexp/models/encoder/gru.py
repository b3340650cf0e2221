"""GRU, one direction: a baseline of Lei et al. 2016."""

from typing import ClassVar

from jaxtyping import Float
from torch import Tensor, nn

from qaexp.models.encoder.recurrent import RecurrentEncoder, State
from qaexp.models.ops.packed import leave_one_bias, run_packed, run_packed_from
from qaexp.models.types import Text


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

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.gru = nn.GRU(input_dim, hidden_dim, batch_first=True)
        leave_one_bias(self.gru)
        self.output_dim = hidden_dim

    def finish(self, text: Text) -> Text:
        return {"mask": text["mask"], "states": run_packed(self.gru, text["states"], text["mask"])}

    def run(self, text: Text, start: State | None) -> tuple[Float[Tensor, "text length dim"], State]:
        before = None if start is None else start[0].unsqueeze(0)  # (layer, text, dim), as torch has it
        states, last = run_packed_from(self.gru, text["states"], text["mask"], before)
        return states, (last[0],)
