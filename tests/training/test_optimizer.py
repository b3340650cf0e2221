"""Fused optimisers take torch's own steps, and weight decay leaves word vectors out unless it is told not to."""

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD, Adagrad, Adam, Optimizer, RMSprop

from qaexp.training.optimizer import BLOCK, AdamW, FusedRMSprop, as_optimizer
from qaexp.training.trainer import CosineWarmUp, LinearWarmUp

BUILDS: dict[str, "partial[Optimizer]"] = {
    "adam": partial(Adam, lr=1e-2),
    "adam with decay": partial(Adam, lr=1e-2, weight_decay=0.1),
    "adagrad": partial(Adagrad, lr=1e-2),
    "sgd": partial(SGD, lr=1e-2, momentum=0.9),
    "rmsprop": partial(RMSprop, lr=1e-3, alpha=0.9, momentum=0.9, eps=1e-8),
    "rmsprop with decay": partial(RMSprop, lr=1e-3, weight_decay=0.1, momentum=0.5),
    "rmsprop without momentum": partial(RMSprop, lr=1e-3),
}


def parameters() -> list[tuple[str, nn.Parameter]]:
    """More numbers than one block has, and less than one."""
    drawn = torch.Generator().manual_seed(0)
    return [
        (name, nn.Parameter(torch.randn(shape, generator=drawn))) for name, shape in (("table", (BLOCK // 64 + 3, 100)), ("bias", (5,)))
    ]


def steps(optimizer: Optimizer, params: list[tuple[str, nn.Parameter]], num: int = 4) -> list[Tensor]:
    drawn = torch.Generator().manual_seed(1)
    for _ in range(num):
        for _, parameter in params:
            parameter.grad = torch.randn(parameter.shape, generator=drawn) * (torch.rand(parameter.shape, generator=drawn) < 0.5)
        optimizer.step()
    return [parameter.detach() for _, parameter in params]


@pytest.mark.parametrize("name", BUILDS)
def test_fused_steps_and_states_are_those_of_torch(name: str) -> None:
    ours, theirs = parameters(), parameters()
    fused = as_optimizer(BUILDS[name], decay_word_vectors=True)(ours)
    plain = BUILDS[name](params=[parameter for _, parameter in theirs])
    assert isinstance(fused, FusedRMSprop) or fused.param_groups[0]["fused"] is True
    for one, other in zip(steps(fused, ours), steps(plain, theirs), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
    for one, other in zip(fused.state_dict()["state"].values(), plain.state_dict()["state"].values(), strict=True):
        assert one.keys() == other.keys()
        for key in one:
            if torch.is_tensor(other[key]):
                torch.testing.assert_close(one[key], other[key], rtol=1e-5, atol=1e-6, check_dtype=False)


@pytest.mark.parametrize("option", ["fused", "foreach"])
def test_an_optimiser_that_chooses_its_kernels_keeps_them(option: str) -> None:
    made = as_optimizer(partial(Adam, **{option: False}), decay_word_vectors=True)(parameters())
    assert made.param_groups[0][option] is False
    assert not made.param_groups[0]["fused"]


def test_an_optimiser_without_fused_kernels_is_built_as_it_is() -> None:
    assert type(as_optimizer(partial(torch.optim.Adadelta), decay_word_vectors=True)(parameters())) is torch.optim.Adadelta
    assert type(as_optimizer(partial(RMSprop, centered=True), decay_word_vectors=True)(parameters())) is RMSprop


@pytest.mark.parametrize("build", [partial(SGD, lr=0.1), partial(Adagrad, lr=0.1), partial(Adam, lr=0.1), partial(RMSprop, lr=0.1)])
@pytest.mark.parametrize("decay_word_vectors", [False, True])
@pytest.mark.parametrize("name", ["scorer.embedding.words.weight", "scorer.words.weight"])
def test_weight_decay_shrinks_word_vectors_only_where_it_is_told_to(build: Any, decay_word_vectors: bool, name: str) -> None:
    named = [(name, nn.Parameter(torch.ones(3, 2))), ("scorer.similarity.weight", nn.Parameter(torch.ones(2)))]
    optimizer = as_optimizer(partial(build, weight_decay=0.1), decay_word_vectors)(named)
    for _, parameter in named:
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    words, other = (parameter.detach() for _, parameter in named)
    assert bool((words < 1).all()) == decay_word_vectors
    assert decay_word_vectors or torch.equal(words, torch.ones(3, 2))
    assert (other < 1).all()


def test_word_vectors_alone_are_left_out_of_weight_decay_too() -> None:
    """As in a model that has nothing else to learn."""
    words = nn.Parameter(torch.ones(3))
    optimizer = as_optimizer(partial(SGD, lr=0.1, weight_decay=0.5), decay_word_vectors=False)([("embedding.words.weight", words)])
    words.grad = torch.zeros(3)
    optimizer.step()
    assert words.tolist() == [1.0] * 3


def test_without_weight_decay_there_is_one_group_as_in_earlier_checkpoints() -> None:
    named = [("scorer.embedding.words.weight", nn.Parameter(torch.ones(3, 2))), ("scorer.bias", nn.Parameter(torch.ones(2)))]
    [group] = as_optimizer(partial(Adam, weight_decay=0.0), decay_word_vectors=False)(named).param_groups
    assert group["params"] == [parameter for _, parameter in named]


def test_a_gradient_scaler_scales_before_the_step_so_that_gradients_can_be_clipped() -> None:
    assert as_optimizer(partial(Adam), decay_word_vectors=True)(parameters())._step_supports_amp_scaling is False  # type: ignore[attr-defined]


def test_adamw_leaves_biases_and_norms_without_decay() -> None:
    """Without a gradient, only the decay moves a weight: by lr · decay of itself."""
    module = nn.Sequential(nn.Linear(3, 2), nn.LayerNorm(2))
    before = {name: p.detach().clone() for name, p in module.named_parameters()}
    optimizer = as_optimizer(partial(AdamW, lr=0.1, weight_decay=0.5), decay_word_vectors=True)(module.named_parameters())
    for parameter in module.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    after = dict(module.named_parameters())
    torch.testing.assert_close(after["0.weight"].detach(), 0.95 * before["0.weight"])
    assert all(torch.equal(after[name], before[name]) for name in ("0.bias", "1.weight", "1.bias"))


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [(LinearWarmUp, [0, 0.5, 1, 0.75, 0.5, 0.25, 0]), (CosineWarmUp, [0, 0.5, 1, 0.853553, 0.5, 0.146447, 0])],
)
def test_the_learning_rate_rises_over_the_first_steps_and_falls_to_nothing(schedule: Any, expected: list[float]) -> None:
    optimizer = SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    rates = schedule(optimizer, num_steps=6, warmup=1 / 3)
    found = []
    for _ in expected:
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        rates.step()
    assert found == pytest.approx(expected, abs=1e-6)
