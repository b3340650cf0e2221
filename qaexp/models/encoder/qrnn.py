"""Quasi-recurrent network (Bradbury et al. 2016), the encoder of CTRN: gates by convolution, then an elementwise recurrence."""

from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from qaexp.models.encoder.recurrence import gated
from qaexp.models.shown import show
from qaexp.models.stage import Encoder
from qaexp.types import Text


class QRNN(Encoder):
    """Gates from the last `window` words, known before the recurrence begins.

        Z = tanh(W_z ∗ X),  F = σ(W_f ∗ X),  O = σ(W_o ∗ X)                     eq. 1, the joint
        c_t = f_t ⊙ c_{t−1} + (1 − f_t) ⊙ z_t,  h_t = o_t ⊙ c_t

    Tay et al. 2018, "Quasi Recurrent Neural Network". `gates` holds [Z | F | O], (text, length, 3·dim), between the halves. Shows
    `forget_gate` and `output_gate`, (text, length, dim).

    Reading: the convolutions look back only, as Bradbury et al. 2016, §2, mask them: words before the first are zeros, and padding, which
    comes after the last, is never read. Tay et al. print no biases, and their count 3kdm has none.
    """

    joint: ClassVar[str | None] = "recurrence gates"

    def __init__(self, input_dim: int, hidden_dim: int, window: int) -> None:
        super().__init__()
        # Texts are images of one row whose channels lie last in memory, as the words' dimensions do: nothing is transposed, and oneDNN
        # takes two thirds of the time that nn.Conv1d takes.
        self.convolution = nn.Conv2d(input_dim, 3 * hidden_dim, (1, window), bias=False)
        self.convolution.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.window = window
        self.output_dim = hidden_dim

    def begin(self, text: Text) -> Text:
        """The gates (eq. 1)."""
        words = F.pad(text["states"], (0, 0, self.window - 1, 0))  # (text, window - 1 + length, dim)
        sums = self.convolution(words.transpose(1, 2).unsqueeze(2)).squeeze(2).transpose(1, 2)  # (text, length, 3 · dim)
        gates = squashed(sums)
        _, forget, output = gates.chunk(3, dim=2)
        show("forget_gate", forget)
        show("output_gate", output)
        return {"mask": text["mask"], "gates": gates}

    def finish(self, text: Text) -> Text:
        """The recurrence."""
        return {"mask": text["mask"], "states": gated(text["gates"])}


def squashed(sums: Float[Tensor, "text length gates"]) -> Float[Tensor, "text length gates"]:
    """[Z | F | O] from what stands in the brackets of eq. 1: tanh of the first third, σ of the others, without copies in between."""
    return _Squashed.apply(sums)  # type: ignore[no-any-return]


class _Squashed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, sums: Tensor) -> Tensor:
        gates, dim = torch.empty_like(sums), sums.shape[2] // 3
        torch.tanh(sums[:, :, :dim], out=gates[:, :, :dim])
        torch.sigmoid(sums[:, :, dim:], out=gates[:, :, dim:])
        ctx.save_for_backward(gates)
        return gates

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_gates: Tensor) -> Tensor:  # type: ignore[override]
        (gates,) = ctx.saved_tensors
        d_sums, dim = torch.empty_like(gates), gates.shape[2] // 3
        torch.ops.aten.tanh_backward(d_gates[:, :, :dim], gates[:, :, :dim], grad_input=d_sums[:, :, :dim])
        torch.ops.aten.sigmoid_backward(d_gates[:, :, dim:], gates[:, :, dim:], grad_input=d_sums[:, :, dim:])
        return d_sums
