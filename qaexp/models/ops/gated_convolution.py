"""The recurrence of gated, non-consecutive convolutions (Lei et al. 2016, §4.1), its gradients written out.

The gate reads h_{t−1}, so the loop over time cannot be a convolution. But only what needs h_{t−1} is done in the loop: one product with U
and a few operations on (text, order, dim), without autograd. Time is the first axis, so that each step reads and writes one stretch of
memory.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from qaexp.models.ops.convolution import convolve_words, sum_of_products
from qaexp.models.ops.exported import is_exporting, scanned_steps

sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
tanh_backward = torch.ops.aten.tanh_backward.grad_input


def products_of_words(
    words: Float[Tensor, "text length dim"], W: Float[Tensor, "products dim"], b: Float[Tensor, " products"]
) -> Float[Tensor, "length text products"]:
    """W·x_t + b of all words at once, time first."""
    return convolve_words(words.transpose(0, 1), W.unsqueeze(2), b)


def gated_convolution(
    products: Float[Tensor, "length text products"],
    U: Float[Tensor, "gate dim"],
    b: Float[Tensor, " dim"],
    C_0: Float[Tensor, "text order dim"] | None = None,
    h_0: Float[Tensor, "text dim"] | None = None,
) -> tuple[Float[Tensor, "length text dim"], Float[Tensor, "length text gate"], Float[Tensor, "text order dim"]]:
    """The states h_t, the gates 1 − λ_t (which carry no gradient), and C_L = (c_L^(1), …, c_L^(n)) after the last word.

        λ_t = σ(W^λ·x_t + U·h_{t−1} + b^λ)                                      as wide as h, or a single number
        c_t^(1) = λ_t ⊙ c_{t−1}^(1) + (1 − λ_t) ⊙ (W_1·x_t)
        c_t^(i) = λ_t ⊙ c_{t−1}^(i) + (1 − λ_t) ⊙ (c_{t−1}^(i−1) + W_i·x_t)     i = 2 … n
        h_t = tanh(c_t^(n) + b),  c_0 = h_0 = 0 where they are not given

    `products` are [W^λ·x_t + b^λ | W_1·x_t | … | W_n·x_t], concatenated. Lei et al. 2016, §4.1, "Adaptive Gated Decay" (equations without
    numbers).

    >>> products = torch.tensor([[[0.0, 2.0, 4.0]], [[0.0, 0.0, 1.0]]])  # λ = σ(0); c^(1) = 1, c^(2) = 2, then (2 + (1 + 1)) / 2
    >>> gated_convolution(products, torch.zeros(1, 1), torch.zeros(1))[0].atanh().flatten()
    tensor([2., 2.])
    """
    if is_exporting():
        return _exported(products, U, b)
    return _GatedConvolution.apply(products, U, b, C_0, h_0)  # type: ignore[no-any-return]


def gated_convolution_loop(
    products: Float[Tensor, "length text products"], U: Float[Tensor, "gate dim"], b: Float[Tensor, " dim"]
) -> tuple[Float[Tensor, "length text dim"], Float[Tensor, "length text gate"], Float[Tensor, "text order dim"]]:
    """The slow reference of `gated_convolution` from zeros: the equations word by word and order by order."""
    gate, dim = U.shape
    order = products.shape[2] // dim - gate // dim
    c = [products.new_zeros(products.shape[1], dim) for _ in range(order)]
    h, states, gates = products.new_zeros(products.shape[1], dim), [], []
    for product in products:
        decay, *x = product.split([gate, *[dim] * order], dim=1)
        decay = torch.sigmoid(decay + h @ U.T)
        before = [torch.zeros_like(h), *c[:-1]]
        c = [decay * c_i + (1 - decay) * (below + x_i) for c_i, below, x_i in zip(c, before, x, strict=True)]
        h = torch.tanh(c[-1] + b)
        states.append(h)
        gates.append(1 - decay)
    return torch.stack(states), torch.stack(gates), torch.stack(c, dim=1)


def _exported(products: Tensor, U: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """`gated_convolution` from zeros, for `qaexp.export.onnx`; no gates, and the last C only as far as h needs it."""
    (_, num_texts, width), (gate, dim) = products.shape, U.shape
    order = (width - gate) // dim

    def step(state: list[Tensor], inputs: list[Tensor]) -> tuple[list[Tensor], Tensor]:
        C, h = state
        decay = torch.sigmoid(inputs[0][:, :gate] + h @ U.T).unsqueeze(1)
        below = torch.cat([torch.zeros_like(C[:, :1]), C[:, :-1]], dim=1)
        C = decay * C + (1 - decay) * (below + inputs[0][:, gate:].unflatten(1, (order, dim)))
        h = torch.tanh(C[:, -1] + b)
        return [C, h], h.clone()

    start = [products.new_zeros(num_texts, order, dim), products.new_zeros(num_texts, dim)]
    (C, _), H = scanned_steps(step, start, [products])
    return H, H, C


class _GatedConvolution(torch.autograd.Function):
    """With g = 1 − λ and D_t = C_{t−1} − (W_1·x, …, W_n·x)_t − (0, c^(1), …, c^(n−1))_{t−1}, a step is C_t = C_{t−1} − g_t ⊙ D_t.

    The gradients need D, g and h, but not C.
    """

    @staticmethod
    def forward(ctx: Any, products: Tensor, U: Tensor, b: Tensor, C_0: Tensor | None, h_0: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        length, num_texts, _ = products.shape
        gate, dim = U.shape
        decay, words = products[:, :, :gate], products[:, :, gate:].unflatten(2, (-1, dim))
        G, H = products.new_empty(length, num_texts, gate), products.new_empty(length, num_texts, dim)
        D = products.new_empty(words.shape)
        C = products.new_zeros(words.shape[1:]) if C_0 is None else C_0.clone()
        h = products.new_zeros(num_texts, dim) if h_0 is None else h_0
        for x_gate, x, D_t, g, h_next in zip(decay, words, D, G, H, strict=True):
            torch.addmm(x_gate, h, U.T, beta=-1, alpha=-1, out=g).sigmoid_()
            torch.sub(C, x, out=D_t)[:, 1:].sub_(C[:, :-1])
            C.addcmul_(g.unsqueeze(1), D_t, value=-1)
            h = torch.add(C[:, -1], b, out=h_next).tanh_()
        ctx.save_for_backward(D, G, H, U, h_0)
        ctx.mark_non_differentiable(G)
        return H, G, C

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, dH: Tensor, _: Tensor, dC_last: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]:
        D, G, H, U, h_0 = ctx.saved_tensors
        (length, num_texts, order, dim), gate = D.shape, len(U)
        d_products = D.new_empty(length, num_texts, gate + order * dim)
        d_decay, d_words = d_products[:, :, :gate], d_products[:, :, gate:].unflatten(2, (order, dim))
        d_bias, d_last, dg = D.new_zeros(3, num_texts, dim)
        dC, dh = dC_last.clone(), dH[-1]
        for t in reversed(range(length)):
            g, D_t, dx = G[t], D[t], d_words[t]
            tanh_backward(dh, H[t], grad_input=d_last)  # of c^(n) + b
            d_bias.add_(d_last)
            dC[:, -1].add_(d_last)
            torch.mul(dC[:, 0], D_t[:, 0], out=dg)
            for i in range(1, order):
                dg.addcmul_(dC[:, i], D_t[:, i])
            # of g it is −Σ dC ⊙ D, and g = σ(−z)
            dz = sigmoid_backward(dg if gate == dim else dg.sum(dim=1, keepdim=True), g, grad_input=d_decay[t])
            torch.mul(dC, g.unsqueeze(1), out=dx)
            dC.sub_(dx)[:, :-1].add_(dx[:, 1:])
            if t:
                dh = torch.addmm(dH[t - 1], dz, U)
        d_U = sum_of_products(d_decay[1:], H[:-1])  # Σ_t dz_t·h_{t−1}ᵀ
        if h_0 is None:
            return d_products, d_U, d_bias.sum(dim=0), None, None
        return d_products, torch.addmm(d_U, d_decay[0].T, h_0), d_bias.sum(dim=0), dC, d_decay[0] @ U
