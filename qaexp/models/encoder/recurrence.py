"""Recurrences whose gates are known beforehand (Bradbury et al. 2016; Tay et al. 2018): elementwise, so their gradients are written out.

`gates` holds [Z | F | O], the words' representations and their forget and output gates, end to end along the last axis. Time is the only
loop: a step is a few operations on (text, dim), which stay in a CPU's cache, and no step leaves a node for autograd.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable


def gated(gates: Float[Tensor, "text length gates"]) -> Float[Tensor, "text length dim"]:
    """The hidden states of one text under its own gates.

        c_t = f_t ⊙ c_{t−1} + (1 − f_t) ⊙ z_t,  c_0 = 0
        h_t = o_t ⊙ c_t

    Bradbury et al. 2016, §2.1 (fo-pooling).

    >>> gated(torch.tensor([[[1.0, 0.5, 1.0], [3.0, 0.5, 0.1]]])).flatten()  # c = 0.5, 1.75
    tensor([0.5000, 0.1750])
    """
    return _Gated.apply(gates)  # type: ignore[no-any-return]


def crossed(
    gates: Float[Tensor, "pair length gates"],
    partner: Float[Tensor, "pair partner_length gates"],
    aligned: Int[Tensor, "pair length"],
) -> Float[Tensor, "pair length dim"]:
    """The hidden states of one text under its own gates, times those under its partner's.

        c_t = f_t ⊙ c_{t−1} + (1 − f_t) ⊙ z_t          c†_t = f†_{t*} ⊙ c†_{t−1} + (1 − f†_{t*}) ⊙ z_t
        h_t = (o_t ⊙ c_t) ⊙ (o†_{t*} ⊙ c†_t)

    with f† and o† of the partner at t* = `aligned`. Tay et al. 2018, "Lightweight Temporal Crossing".
    """
    return _Crossed.apply(gates, partner, aligned)  # type: ignore[no-any-return]


class _Gated(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gates: Tensor) -> Tensor:
        num_texts, length, width = gates.shape
        C, H = gates.new_empty(2, num_texts, length, width // 3)
        c = gates.new_zeros(num_texts, width // 3)
        for t in range(length):
            z, f, o = gates[:, t].chunk(3, dim=1)
            c = torch.lerp(z, c, f, out=C[:, t])
            torch.mul(o, c, out=H[:, t])
        ctx.save_for_backward(gates, C)
        return H

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dH: Tensor) -> Tensor:  # type: ignore[override]
        gates, C = ctx.saved_tensors
        d_gates = torch.empty_like(gates)
        dc, start = torch.zeros_like(C[:, 0]), torch.zeros_like(C[:, 0])
        for t in reversed(range(gates.shape[1])):
            z, f, o = gates[:, t].chunk(3, dim=1)
            dz, df, do = d_gates[:, t].chunk(3, dim=1)
            torch.mul(dH[:, t], C[:, t], out=do)
            dc.addcmul_(dH[:, t], o)
            torch.sub(C[:, t - 1] if t else start, z, out=df).mul_(dc)
            torch.addcmul(dc, dc, f, value=-1, out=dz)
            dc.mul_(f)
        return d_gates


class _Crossed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gates: Tensor, partner: Tensor, aligned: Tensor) -> Tensor:
        num_pairs, length, width = gates.shape
        C, D, H = gates.new_empty(3, num_pairs, length, width // 3)  # D is C†
        c = d = gates.new_zeros(num_pairs, width // 3)
        rows, flat = _rows(partner, aligned), partner.flatten(0, 1)
        for t in range(length):
            z, f, o = gates[:, t].chunk(3, dim=1)
            _, g, p = flat.index_select(0, rows[t]).chunk(3, dim=1)  # f†, o†
            c = torch.lerp(z, c, f, out=C[:, t])
            d = torch.lerp(z, d, g, out=D[:, t])
            torch.mul(o, c, out=H[:, t]).mul_(p).mul_(d)
        ctx.save_for_backward(gates, partner, rows, C, D)
        return H

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dH: Tensor) -> tuple[Tensor, Tensor, None]:  # type: ignore[override]
        gates, partner, rows, C, D = ctx.saved_tensors
        d_gates, d_partner = torch.empty_like(gates), torch.zeros_like(partner)
        flat, d_flat = partner.flatten(0, 1), d_partner.flatten(0, 1)
        dc, dd, start = torch.zeros_like(C[:, 0]), torch.zeros_like(C[:, 0]), torch.zeros_like(C[:, 0])
        d_row = torch.zeros_like(gates[:, 0])
        _, dg, dp = d_row.chunk(3, dim=1)
        for t in reversed(range(gates.shape[1])):
            z, f, o = gates[:, t].chunk(3, dim=1)
            dz, df, do = d_gates[:, t].chunk(3, dim=1)
            _, g, p = flat.index_select(0, rows[t]).chunk(3, dim=1)
            c, d = C[:, t], D[:, t]
            dh = torch.mul(p, d).mul_(dH[:, t])  # of o ⊙ c
            dk = torch.mul(o, c).mul_(dH[:, t])  # of o† ⊙ c†
            torch.mul(dh, c, out=do)
            torch.mul(dk, d, out=dp)
            dc.addcmul_(dh, o)
            dd.addcmul_(dk, p)
            torch.sub(C[:, t - 1] if t else start, z, out=df).mul_(dc)
            torch.sub(D[:, t - 1] if t else start, z, out=dg).mul_(dd)
            torch.add(dc, dd, out=dz)
            dz.sub_(dc.mul_(f)).sub_(dd.mul_(g))
            d_flat.index_add_(0, rows[t], d_row)
        return d_gates, d_partner, None


def _rows(partner: Tensor, aligned: Tensor) -> Tensor:
    """Where the partner's aligned words stand among all words of all partners: (length, pair)."""
    num_pairs, length, _ = partner.shape
    return (aligned + length * torch.arange(num_pairs, device=aligned.device)[:, None]).T.contiguous()
