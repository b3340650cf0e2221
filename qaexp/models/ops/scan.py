"""Linear recurrences where a loop over words would leave a device idle: in log₂ of the length, each step over all words at once.

As an associative scan (Hillis & Steele 1986; Martin & Cundy 2018 for layers like these), its gradients by the same scan, backwards.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable


class _Accumulated(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, f: Tensor, x: Tensor) -> Tensor:
        c = scanned(f, x)
        ctx.save_for_backward(f, c)
        return c

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:  # pyright: ignore[reportIncompatibleMethodOverride]
        f, c = ctx.saved_tensors
        after = torch.cat([f[:, 1:], torch.zeros_like(f[:, :1])], dim=1)  # what a cell is multiplied by in the one after it
        of_c = scanned(after.flip(1), gradients[0].flip(1)).flip(1)
        of_f = torch.zeros_like(f)
        torch.mul(of_c[:, 1:], c[:, :-1], out=of_f[:, 1:])
        return of_f, of_c


def accumulated(f: Float[Tensor, "text length dim"], x: Float[Tensor, "text length dim"]) -> Float[Tensor, "text length dim"]:
    """c_t = f_t ⊙ c_{t−1} + x_t, with c = 0 before the first word.

    >>> accumulated(torch.full((1, 3, 1), 0.5), torch.ones(1, 3, 1)).flatten().tolist()
    [1.0, 1.5, 1.75]
    """
    return _Accumulated.apply(f, x)  # pyright: ignore[reportReturnType]


def scanned(f: Float[Tensor, "text length dim"], x: Float[Tensor, "text length dim"]) -> Float[Tensor, "text length dim"]:
    """The same without gradients: after each step a cell has what twice as many words before it bring."""
    reach = 1
    while reach < x.shape[1]:
        x = torch.cat([x[:, :reach], torch.addcmul(x[:, reach:], f[:, reach:], x[:, :-reach])], dim=1)
        if 2 * reach < x.shape[1]:  # there is a step to come that needs it
            f = torch.cat([f[:, :reach], f[:, reach:] * f[:, :-reach]], dim=1)
        reach *= 2
    return x
