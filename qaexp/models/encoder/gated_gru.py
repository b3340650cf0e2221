"""A GRU in two halves, so that a question can change the inputs of its gates (Wang et al. 2016)."""

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from qaexp.limits import PositiveInt
from qaexp.models.encoder.recurrent import with_last_state
from qaexp.models.intermediates import is_watched, show
from qaexp.models.masking import zero_padding
from qaexp.models.ops.exported import is_exporting, scanned_steps
from qaexp.models.ops.packed import reversed_positions, run_packed
from qaexp.models.stage import Encoder
from qaexp.models.types import Text


class GatedGRU(Encoder):
    """A GRU of `hidden_dim` in each direction, in two halves. Without an interaction it is torch's nn.GRU, weights included.

        g^r, g^z, g^n = W·x_t + b                                               the joint: `gru_gates`, for each direction
        r_t = σ(g^r_t + U_r·h_{t−1} + c_r)
        z_t = σ(g^z_t + U_z·h_{t−1} + c_z)
        n_t = tanh(g^n_t + r_t ⊙ (U_n·h_{t−1} + c_n))
        h_t = (1 − z_t) ⊙ n_t + z_t ⊙ h_{t−1}

    Cho et al. 2014, as Wang et al. 2016, eq. 1, have it. The backward direction starts at the last real token. States of padding are zero,
    except the first one of a text that is all padding: a packed text has at least one token.

    Departs: Wang et al. multiply U_n by r_t ⊙ h_{t−1} and let z_t weigh the new state instead of the old; torch's (and cuDNN's) form takes
    all three products of h_{t−1} at once. The two update gates differ by the sign of their weights.

    Shows `reset_gates` and `update_gates` (text or pair, length, direction · hidden): r and z, the forward direction first.
    """

    skips_padding: ClassVar[bool] = True

    def __init__(self, input_dim: int, hidden_dim: PositiveInt) -> None:
        super().__init__()
        self.gru = nn.GRU(input_dim, hidden_dim, batch_first=True, bidirectional=True)
        self.output_dim = 2 * hidden_dim

    def forward(self, text: Text) -> Text:
        """Both halves in torch's kernel, unless the gates are watched."""
        if is_watched():
            return super().forward(text)
        states = run_packed(self.gru, text["states"], text["mask"])
        return with_last_state(states, text["mask"], backward_dim=self.gru.hidden_size)

    def begin(self, text: Text) -> Text:
        """`gru_gates` (text, length, direction, 3, hidden): the inputs g of r, z and n."""
        W, b = self._both("weight_ih_l0").flatten(0, 1), self._both("bias_ih_l0").flatten()
        return {"mask": text["mask"], "gru_gates": F.linear(text["states"], W, b).unflatten(-1, (2, 3, -1))}

    def finish(self, text: Text) -> Text:
        """The recurrence over time: both directions at once; each step runs over the texts that still have words."""
        gates, mask = text["gru_gates"], text["mask"]
        lengths = mask.sum(dim=1).clamp(min=1)
        rows, backwards = torch.arange(mask.shape[0], device=mask.device).unsqueeze(1), reversed_positions(lengths, mask.shape[1])
        gates = torch.stack([gates[:, :, 0], gates[rows, backwards, 1]])  # (direction, text, length, 3, hidden), the second one backwards
        if is_exporting():
            return self._exported(gates, mask, rows, backwards)
        packed = pack_padded_sequence(gates.movedim(0, 2), lengths.cpu(), batch_first=True, enforce_sorted=False)
        U, c = self._both("weight_hh_l0").transpose(1, 2), self._both("bias_hh_l0").unsqueeze(1)  # (direction, hidden, 3 · hidden)
        steps = packed.data.movedim(1, 0).split(packed.batch_sizes.tolist(), dim=1)  # each (direction, text, 3, hidden)
        h = steps[0].new_zeros(2, steps[0].shape[1], U.shape[1])
        seen = []
        for g in steps:
            h, *r_z = step(g, h[:, : g.shape[1]], U, c)
            seen.append((h, *r_z) if is_watched() else (h,))
        unpacked = []
        for values in zip(*seen, strict=True):  # (direction, text, hidden) per step: h and, if watched, r and z
            data = torch.cat(values, dim=1).transpose(0, 1)
            sequence = PackedSequence(data, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices)
            states, _ = pad_packed_sequence(sequence, batch_first=True, total_length=mask.shape[1])  # (text, length, direction, hidden)
            unpacked.append(torch.cat([states[:, :, 0], states[rows, backwards, 1]], dim=-1))
        for name, values in zip(("reset_gates", "update_gates"), unpacked[1:], strict=False):
            show(name, values)
        return with_last_state(unpacked[0], mask, backward_dim=self.gru.hidden_size)

    def _exported(self, gates: Tensor, mask: Tensor, rows: Tensor, backwards: Tensor) -> Text:
        """`finish` over padded texts, for `qaexp.export.onnx`."""
        U, c = self._both("weight_hh_l0").transpose(1, 2), self._both("bias_hh_l0").unsqueeze(1)

        def one(state: list[Tensor], inputs: list[Tensor]) -> tuple[list[Tensor], Tensor]:
            h = step(inputs[0], state[0], U, c)[0]
            return [h], h.clone()

        _, H = scanned_steps(one, [torch.zeros_like(gates[:, :, 0, 0])], [gates.movedim(2, 0)])  # (length, direction, text, hidden)
        forwards, reverse = H.transpose(0, 2).unbind(dim=1)
        states = torch.cat([forwards, reverse[rows, backwards]], dim=-1)
        return with_last_state(zero_padding(states, mask), mask, backward_dim=self.gru.hidden_size)

    def _both(self, name: str) -> Tensor:
        """One of torch's parameters, for both directions."""
        return torch.stack([getattr(self.gru, name), getattr(self.gru, f"{name}_reverse")])


def step(
    g: Float[Tensor, "direction text 3 hidden"],
    h: Float[Tensor, "direction text hidden"],
    U: Float[Tensor, "direction hidden gates"],
    c: Float[Tensor, "direction 1 gates"],
) -> tuple[Tensor, Tensor, Tensor]:
    """h_t, r_t and z_t, each (direction, text, hidden), from the gate inputs of a step and h_{t−1}."""
    u_r, u_z, u_n = torch.baddbmm(c, h, U).chunk(3, dim=-1)
    r = torch.sigmoid(g[:, :, 0] + u_r)
    z = torch.sigmoid(g[:, :, 1] + u_z)
    n = torch.tanh(g[:, :, 2] + r * u_n)
    return n + z * (h - n), r, z
