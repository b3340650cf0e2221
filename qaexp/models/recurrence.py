"""The recurrence that quasi-recurrent layers run on gates that are already known."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor


class _ForgetMult(torch.autograd.Function):
    """Both directions of the loop written out, so that a step costs a few passes over memory and no node of a graph.

    Time is the first axis: the tensors of a step lie together.
    """

    @staticmethod
    def forward(ctx: Any, f: Tensor, z: Tensor) -> Tensor:
        c = torch.empty_like(z)
        c[0] = (1 - f[0]) * z[0]
        for t in range(1, len(z)):
            torch.lerp(z[t], c[t - 1], f[t], out=c[t])  # z + f · (c − z)
        ctx.save_for_backward(f, z, c)
        return c

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        f, z, c = ctx.saved_tensors
        of_c = gradients[0].clone(memory_format=torch.contiguous_format)  # the gradient of each cell, through the later ones too
        for t in range(len(z) - 1, 0, -1):
            of_c[t - 1].addcmul_(of_c[t], f[t])
        before = torch.cat([torch.zeros_like(c[:1]), c[:-1]])
        of_f = (before - z).mul_(of_c)
        of_z = of_c.addcmul_(of_c, f, value=-1)
        return of_f, of_z


def forget_mult(f: Float[Tensor, "length rows dim"], z: Float[Tensor, "length rows dim"]) -> Float[Tensor, "length rows dim"]:
    """c_t = f_t ⊙ c_{t−1} + (1 − f_t) ⊙ z_t, with c_0 = 0 before the first step. Time is the first axis.

    Bradbury et al. 2016, "fo-pooling" (Tay et al. 2018, "Quasi Recurrent Neural Network").

    >>> forget_mult(torch.tensor([[[0.5]], [[0.5]]]), torch.tensor([[[1.0]], [[3.0]]])).flatten().tolist()
    [0.5, 1.75]
    """
    f = f.to(z.dtype)
    return _ForgetMult.apply(f, z)  # pyright: ignore[reportReturnType]
