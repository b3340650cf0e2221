"""Recurrences without weights, over gates that are already computed.

On a CPU each is a loop over words with a written-out backward pass, which stays in the cache. On other devices, where such a loop would
leave the device idle, it is an associative scan over all words (Hillis & Steele 1986; Martin & Cundy 2018 for layers like these) in
log₂(length) steps; its gradients are computed by the same scan, backwards. `fo_pool_loop` and `crossed_loop` are the slow references.

The gates are concatenated along the last axis, [Z ; F ; O], each `dim` wide, as one convolution gives them.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from qaexp.models.ops.exported import is_exporting, scanned_steps


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
        after = torch.cat([f[:, 1:], torch.zeros_like(f[:, :1])], dim=1)  # the factor of each cell in the next cell
        of_c = scanned(after.flip(1), gradients[0].flip(1)).flip(1)
        of_f = torch.zeros_like(f)
        torch.mul(of_c[:, 1:], c[:, :-1], out=of_f[:, 1:])
        return of_f, of_c


def linear_recurrence(f: Float[Tensor, "text length dim"], x: Float[Tensor, "text length dim"]) -> Float[Tensor, "text length dim"]:
    """c_t = f_t ⊙ c_{t−1} + x_t, with c = 0 before the first word.

    >>> linear_recurrence(torch.full((1, 3, 1), 0.5), torch.ones(1, 3, 1)).flatten().tolist()
    [1.0, 1.5, 1.75]
    """
    if is_exporting():
        _, c = scanned_steps(_step, [torch.zeros_like(x[:, 0])], [f.transpose(0, 1), x.transpose(0, 1)])
        return c.transpose(0, 1)
    return _Accumulated.apply(f, x)  # pyright: ignore[reportReturnType]


def _step(state: list[Tensor], inputs: list[Tensor]) -> tuple[list[Tensor], Tensor]:
    f, x = inputs
    c = f * state[0] + x
    return [c], c.clone()


def scanned(f: Float[Tensor, "text length dim"], x: Float[Tensor, "text length dim"]) -> Float[Tensor, "text length dim"]:
    """`linear_recurrence` without gradients. After each step, a cell includes twice as many words before it."""
    reach = 1
    while reach < x.shape[1]:
        x = torch.cat([x[:, :reach], torch.addcmul(x[:, reach:], f[:, reach:], x[:, :-reach])], dim=1)
        if 2 * reach < x.shape[1]:  # a later step needs it
            f = torch.cat([f[:, :reach], f[:, reach:] * f[:, :-reach]], dim=1)
        reach *= 2
    return x


class _Activate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, raw: Tensor) -> Tensor:
        dim, gates = raw.shape[-1] // 3, torch.empty_like(raw)
        torch.tanh(raw[..., :dim], out=gates[..., :dim])
        torch.sigmoid(raw[..., dim:], out=gates[..., dim:])
        ctx.save_for_backward(gates)
        return gates

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        [gates] = ctx.saved_tensors
        dim = gates.shape[-1] // 3
        z, fo, of_z, of_fo = gates[..., :dim], gates[..., dim:], gradients[0][..., :dim], gradients[0][..., dim:]
        before = torch.empty_like(gates)
        torch.ops.aten.tanh_backward.grad_input(of_z, z, grad_input=before[..., :dim])
        torch.ops.aten.sigmoid_backward.grad_input(of_fo, fo, grad_input=before[..., dim:])
        return before


class _FoPool(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gates: Tensor) -> Tensor:
        rows, length, dim = gates.shape[0], gates.shape[1], gates.shape[2] // 3
        cells, states = gates.new_empty(rows, length, dim), gates.new_empty(rows, length, dim)
        before = gates.new_zeros(rows, dim)
        for t in range(length):
            z, f, o = gates[:, t].split(dim, dim=1)
            before = torch.lerp(z, before, f, out=cells[:, t])  # z + f · (c − z)
            torch.mul(o, before, out=states[:, t])
        ctx.save_for_backward(gates, cells)
        return states

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        gates, cells = ctx.saved_tensors
        dim = cells.shape[2]
        of_gates, of_cell = torch.empty_like(gates), torch.zeros_like(cells[:, 0])
        for t in range(cells.shape[1] - 1, -1, -1):
            z, f, o = gates[:, t].split(dim, dim=1)
            of_z, of_f, of_o = of_gates[:, t].split(dim, dim=1)
            of_state = gradients[0][:, t]
            torch.mul(of_state, cells[:, t], out=of_o)
            of_cell.addcmul_(of_state, o)
            of_cell = _through_cell(of_cell, z, f, cells[:, t - 1] if t else None, of_z, of_f)
        return of_gates


class _CrossedFoPool(torch.autograd.Function):
    """Both sides at once, since the gradients of a side's gates come from both recurrences."""

    @staticmethod
    def forward(ctx: Any, first: Tensor, second: Tensor, first_places: Tensor, second_places: Tensor) -> tuple[Tensor, Tensor]:
        first_cells, first_states = _crossed(first, second, first_places)
        second_cells, second_states = _crossed(second, first, second_places)
        ctx.save_for_backward(first, second, first_places, second_places, *first_cells, *second_cells)
        return first_states, second_states

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        first, second, first_places, second_places, *cells = ctx.saved_tensors
        of_first, of_second = torch.zeros_like(first), torch.zeros_like(second)
        _add_crossed_gradients(gradients[0], first, second, first_places, cells[0], cells[1], of_first, of_second)
        _add_crossed_gradients(gradients[1], second, first, second_places, cells[2], cells[3], of_second, of_first)
        return of_first, of_second, None, None


def _crossed(gates: Tensor, partner: Tensor, places: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
    """A side's cells under its own gates and under its partner's, and its states."""
    rows, length, dim = gates.shape[0], gates.shape[1], gates.shape[2] // 3
    own, crossed, states = (gates.new_empty(rows, length, dim) for _ in range(3))
    of_own = of_crossed = gates.new_zeros(rows, dim)
    lent = partner.flatten(0, 1)
    for t in range(length):
        z, f, o = gates[:, t].split(dim, dim=1)
        _, partner_f, partner_o = lent.index_select(0, places[:, t]).split(dim, dim=1)
        of_own = torch.lerp(z, of_own, f, out=own[:, t])
        of_crossed = torch.lerp(z, of_crossed, partner_f, out=crossed[:, t])
        torch.mul(partner_o.mul_(o), of_own * of_crossed, out=states[:, t])
    return (own, crossed), states


def _add_crossed_gradients(
    of_states: Tensor,
    gates: Tensor,
    partner: Tensor,
    places: Tensor,
    own: Tensor,
    crossed: Tensor,
    of_gates: Tensor,
    of_partner: Tensor,
) -> None:
    """The backward loop of one side: adds to the gradients of its own gates and of its partner's."""
    dim = own.shape[2]
    lent, of_lent, of_loan = partner.flatten(0, 1), of_partner.flatten(0, 1), torch.zeros_like(gates[:, 0])
    _, of_partner_f, of_partner_o = of_loan.split(dim, dim=1)
    of_own, of_crossed = torch.zeros_like(own[:, 0]), torch.zeros_like(own[:, 0])
    for t in range(own.shape[1] - 1, -1, -1):
        z, f, o = gates[:, t].split(dim, dim=1)
        _, partner_f, partner_o = lent.index_select(0, places[:, t]).split(dim, dim=1)
        of_z, of_f, of_o = of_gates[:, t].split(dim, dim=1)
        weighed = of_states[:, t] * own[:, t]
        of_crossed.addcmul_(weighed.mul_(o), partner_o)
        torch.mul(weighed, crossed[:, t], out=of_partner_o)
        weighed = of_states[:, t] * crossed[:, t]
        weighed.mul_(partner_o)
        of_own.addcmul_(weighed, o)
        of_o.addcmul_(weighed, own[:, t])
        for cells, of_cell, forget, of_forget in ((own, of_own, f, of_f), (crossed, of_crossed, partner_f, of_partner_f)):
            step = cells[:, t - 1] - z if t else -z
            if of_forget is of_f:
                of_forget.addcmul_(step, of_cell)
            else:
                torch.mul(step, of_cell, out=of_forget)
            of_z += of_cell
            of_z -= of_cell.mul_(forget)
        of_lent.index_add_(0, places[:, t], of_loan)


def _through_cell(of_cell: Tensor, z: Tensor, f: Tensor, before: Tensor | None, of_z: Tensor, of_f: Tensor) -> Tensor:
    """The gradient of c_{t−1}, given that of c_t = f ⊙ c_{t−1} + (1 − f) ⊙ z; writes the gradients of z and f to `of_z` and `of_f`."""
    if before is None:
        torch.mul(of_cell, z, out=of_f).neg_()
    else:
        torch.sub(before, z, out=of_f).mul_(of_cell)
    of_before = of_cell * f
    torch.sub(of_cell, of_before, out=of_z)
    return of_before


def activate(raw: Float[Tensor, "text length gates"]) -> Float[Tensor, "text length gates"]:
    """Z = tanh(·), F = σ(·), O = σ(·)."""
    if is_exporting():
        dim = raw.shape[-1] // 3
        return torch.cat([raw[..., :dim].tanh(), raw[..., dim:].sigmoid()], dim=-1)
    return _Activate.apply(raw)  # pyright: ignore[reportReturnType]


def fo_pool(gates: Float[Tensor, "text length gates"]) -> Float[Tensor, "text length dim"]:
    """c_t = f_t ⊙ c_{t−1} + (1 − f_t) ⊙ z_t,  h_t = o_t ⊙ c_t, with c = 0 before the first word (Bradbury et al. 2016, §2.1).

    >>> fo_pool(torch.tensor([[[1.0, 0.5, 1.0], [3.0, 0.5, 2.0]]])).flatten().tolist()
    [0.5, 3.5]
    """
    return _FoPool.apply(gates) if gates.is_cpu and not is_exporting() else scanned_fo_pool(gates)  # pyright: ignore[reportReturnType]


def fo_pool_loop(gates: Float[Tensor, "text length gates"]) -> Float[Tensor, "text length dim"]:
    """The slow reference of `fo_pool`: the equations word by word."""
    z, f, o = gates.chunk(3, dim=2)
    c, states = torch.zeros_like(z[:, 0]), []
    for t in range(gates.shape[1]):
        c = f[:, t] * c + (1 - f[:, t]) * z[:, t]
        states.append(o[:, t] * c)
    return torch.stack(states, dim=1)


def scanned_fo_pool(gates: Float[Tensor, "text length gates"]) -> Float[Tensor, "text length dim"]:
    """`fo_pool` by a scan."""
    return _scanned(*gates.chunk(3, dim=2))


def crossed_fo_pool(
    question: Float[Tensor, "pair question_length gates"],
    candidate: Float[Tensor, "pair candidate_length gates"],
    question_places: Int[Tensor, "pair question_length"],
    candidate_places: Int[Tensor, "pair candidate_length"],
) -> tuple[Float[Tensor, "pair question_length dim"], Float[Tensor, "pair candidate_length dim"]]:
    """h_t ⊙ h†_t of both sides: the product of two `fo_pool`s of a text's Z, one with its own F and O and one with its partner's.

    The places are the positions of the partner's word whose gates each word uses (Tay et al. 2018, "Lightweight Temporal Crossing").
    """
    if not question.is_cpu or is_exporting():
        return scanned_crossing(question, candidate, question_places), scanned_crossing(candidate, question, candidate_places)
    question, candidate = question.contiguous(), candidate.contiguous()
    first = torch.arange(question.shape[0], device=question.device).unsqueeze(1)
    rows = first * candidate.shape[1] + question_places, first * question.shape[1] + candidate_places
    return _CrossedFoPool.apply(question, candidate, *rows)  # pyright: ignore[reportReturnType]


def crossed_loop(
    gates: Float[Tensor, "pair length gates"], partner: Float[Tensor, "pair partner_length gates"], places: Int[Tensor, "pair length"]
) -> Float[Tensor, "pair length dim"]:
    """The slow reference of one side of `crossed_fo_pool`: the product of two loops."""
    z = gates.chunk(3, dim=2)[0]
    _, f, o = partner.take_along_dim(places.unsqueeze(2), dim=1).chunk(3, dim=2)
    return fo_pool_loop(gates) * fo_pool_loop(torch.cat([z, f, o], dim=2))


def scanned_crossing(
    gates: Float[Tensor, "pair length gates"], partner: Float[Tensor, "pair partner_length gates"], places: Int[Tensor, "pair length"]
) -> Float[Tensor, "pair length dim"]:
    """One side of `crossed_fo_pool` by scans."""
    z, f, o = gates.chunk(3, dim=2)
    first = torch.arange(gates.shape[0], device=gates.device).unsqueeze(1)
    _, partner_f, partner_o = partner[first, places].chunk(3, dim=2)
    return _scanned(z, f, o) * _scanned(z, partner_f, partner_o)


def _scanned(z: Tensor, f: Tensor, o: Tensor) -> Tensor:
    return o * linear_recurrence(f, z - f * z)
