"""Recurrent encoders: LSTM, GRU and bidirectional LSTM. Those of one direction can start from the state in which another ended."""

from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from qaexp.limits import PositiveInt
from qaexp.models.masking import last_real
from qaexp.models.ops.packed import freeze_second_bias, run_packed, run_packed_from
from qaexp.models.stage import Encoder
from qaexp.models.types import Text

State = tuple[Tensor, ...]
"""Everything that a cell carries from one word to the next, a row for each text; each kind of cell has its own tensors."""


def with_last_state(states: Float[Tensor, "text length dim"], mask: Bool[Tensor, "text length"], backward_dim: int = 0) -> Text:
    """A text of `mask` and `states`, with `last`: the state of the last real token, zeros for a text that has none.

    Reading: the last `backward_dim` dimensions were read from the end to the beginning, so their last state is h_1 (Tan et al. 2016, §3.1:
    "the last vectors on both directions"); at the last word they have read that word alone.

    >>> H, mask = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]]), torch.tensor([[True, True, False]])
    >>> with_last_state(H, mask)["last"].tolist(), with_last_state(H, mask, backward_dim=1)["last"].tolist()
    ([[3.0, 4.0]], [[3.0, 2.0]])
    """
    last = last_real(states, mask)  # (text, dim)
    if backward_dim:
        forward_dim = states.shape[2] - backward_dim
        last = torch.cat([last[:, :forward_dim], states[:, 0, forward_dim:]], dim=1)
    return {"mask": mask, "states": states, "last": last.masked_fill(~mask.any(dim=1, keepdim=True), 0.0)}


class RecurrentEncoder(Encoder):
    """An encoder of one direction whose cell can start from any state, such as the last one of another with the same cell and width."""

    def run(self, text: Text, start: State | None) -> tuple[Float[Tensor, "text length dim"], State]:
        """The visible states h_1 … h_L, and the cell's state after each text's last real word. Without `start` it begins from zeros."""
        raise NotImplementedError

    def finish(self, text: Text) -> Text:
        return with_last_state(self.run(text, None)[0], text["mask"])


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
        return with_last_state(run_packed(self.lstm, text["states"], text["mask"]), text["mask"])

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
        return with_last_state(run_packed(self.gru, text["states"], text["mask"]), text["mask"])

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

    skips_padding: ClassVar[bool] = True

    def __init__(self, input_dim: int, hidden_dim: PositiveInt) -> None:
        super().__init__()
        self.lstm = nn.LSTM(input_dim, hidden_dim, batch_first=True, bidirectional=True)
        self.output_dim = 2 * hidden_dim

    def finish(self, text: Text) -> Text:
        states = run_packed(self.lstm, text["states"], text["mask"])
        return with_last_state(states, text["mask"], backward_dim=self.lstm.hidden_size)
