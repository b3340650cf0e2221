"""Optimisers as runs use them: torch's fused kernels, and weight decay that leaves word vectors out."""

import inspect
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer, RMSprop

from qaexp.limits import NonNegativeFloat, PositiveFloat
from qaexp.models.embedding.word_vectors import is_word_vector

LATE_STEP = torch.tensor(1e9)
"""A step of Adam at which 1 − β₂^t is 1."""

ADAMW = {"beta1": 0.0, "amsgrad": False, "maximize": False}
"""Constant arguments of torch's kernel."""

BLOCK = 2**18
"""RMSProp updates this many numbers of a parameter at a time, so that the momentum is still in the processor's cache when it is read
again.
"""


def as_optimizer(build: "partial[Optimizer]", decay_word_vectors: bool) -> Callable[[Iterable[tuple[str, nn.Parameter]]], Optimizer]:
    """A function from named parameters to the optimiser of `conf/optimizer/`.

    It is fused where torch has a fused version: the steps are the same up to rounding. An optimiser that sets `fused` or `foreach` itself
    keeps them.

    Without `decay_word_vectors`, weight decay applies to all parameters except word vectors. Decay would also shrink the vectors of words
    that a batch does not contain. Adagrad divides by the gradients so far, so it would shrink rare words by about the learning rate per
    step, however small the penalty.
    """

    def optimizer(params: Iterable[tuple[str, nn.Parameter]]) -> Optimizer:
        named = list(params)
        groups: list[dict[str, Any]] = [{"params": [parameter for _, parameter in named]}]
        if build.keywords.get("weight_decay") and not decay_word_vectors:
            words = [parameter for name, parameter in named if is_word_vector(name)]
            others = [parameter for name, parameter in named if not is_word_vector(name)]
            groups = [group for group in ({"params": others}, {"params": words, "weight_decay": 0.0}) if group["params"]]
        made = _fastest(build, on_cpu=all(p.device.type == "cpu" for _, p in named))(params=groups)
        made._step_supports_amp_scaling = False  # type: ignore[attr-defined]  # the gradient scaler divides, so that Lightning can clip
        return made

    return optimizer


def _fastest(build: "partial[Optimizer]", on_cpu: bool) -> "partial[Optimizer]":
    if {"fused", "foreach", "differentiable", "capturable"} & set(build.keywords):
        return build
    if build.func is RMSprop and on_cpu and not {"centered", "maximize"} & set(build.keywords):
        return partial(FusedRMSprop, *build.args, **build.keywords)
    return partial(build, fused=True) if "fused" in inspect.signature(build.func).parameters else build


class AdamW(torch.optim.AdamW):
    """torch's AdamW (Loshchilov & Hutter 2019), without decay of parameters with a single axis: biases, and the gains of norms."""

    def __init__(self, params: Iterable[Any], lr: PositiveFloat, weight_decay: NonNegativeFloat, fused: bool | None = None) -> None:
        groups = [group if isinstance(group, dict) else {"params": [group]} for group in params]
        split: list[dict[str, Any]] = []
        for group in groups:
            decayed, others = ([p for p in group["params"] if (p.ndim > 1) == many] for many in (True, False))
            split += [{**group, "params": decayed}] if decayed else []
            split += [{**group, "params": others, "weight_decay": 0.0}] if others else []
        super().__init__(split, lr=lr, weight_decay=weight_decay, fused=fused)


class FusedRMSprop(RMSprop):
    """RMSProp on a CPU, by the kernel that torch has for AdamW.

        v_t = α v_{t−1} + (1 − α) g_t²
        b_t = μ b_{t−1} + g_t / (√v_t + ε)     AdamW's step at β₁ = 0, β₂ = α, λ = −1 and weight decay μ − 1, as if b were the parameter;
                                               at a late step, where 1 − β₂^t = 1
        θ_t = θ_{t−1} − λ b_t                  without momentum: AdamW's step on θ itself

    Its state is that of torch's RMSprop, and its steps are the same up to rounding.
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # type: ignore[override]
        with torch.enable_grad():
            loss = None if closure is None else closure()
        for group in self.param_groups:
            params, grads, squares, momenta, steps = (list[Tensor]() for _ in range(5))
            self._init_group(group, params, grads, squares, momenta, [], steps)
            for step in steps:
                step += 1
            lr, momentum, penalty = group["lr"], group["momentum"], group["weight_decay"]
            adamw = ADAMW | {"beta2": group["alpha"], "eps": group["eps"]}
            adamw |= {"lr": -1.0, "weight_decay": momentum - 1} if momentum else {"lr": lr, "weight_decay": 0.0}
            average = torch.zeros(BLOCK, dtype=params[0].dtype if params else None)  # Adam's first moment; nothing reads it
            for row in zip(params, grads, squares, momenta or params, strict=True):
                for parameter, gradient, square, moved in zip(*(each.view(-1).split(BLOCK) for each in row), strict=True):
                    if penalty:
                        gradient = gradient.add(parameter, alpha=penalty)
                    torch.ops.aten._fused_adamw_([moved], [gradient], [average[: len(moved)]], [square], [], [LATE_STEP], **adamw)
                    if momentum:
                        parameter.add_(moved, alpha=-lr)
        return loss
