"""A cheaper training step for hinge losses: pairs that satisfy the margin have no gradient, and after some epochs these are most pairs."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from qaexp.data.batch import RankingBatch
from qaexp.errors import ConfigError
from qaexp.models.scorer import AnswerScorer

MAX_SHARE_WITH_GRADIENT = {"cpu": 0.5}
"""Below this share of pairs with a gradient, two passes are cheaper than one, by kind of device. On a GPU they never are: a second pass
doubles the kernels, and costs more for GGSA even where one pair in twelve has a gradient.
"""

ROUNDING = 0.02
"""How much the second pass may differ from the first, as a share of the largest score; so large because bfloat16 is coarse."""

NO_GRADIENT = "the loss depends on no parameter of the model, so nothing can be learnt; does the model or the loss detach its scores?"

LossOf = Callable[[Float[Tensor, "pair *class"]], tuple[Float[Tensor, ""], Float[Tensor, ""]]]
"""A function from scores to two numbers: the loss, which is logged, and the number that this process minimises."""

Objective = tuple[Float[Tensor, ""], Float[Tensor, ""]]
"""Two numbers: the loss, which is logged, and one for the backward pass, whose gradient is that of the number to minimise."""


class LearningPairs:
    """If few pairs of an epoch have a gradient, a step scores all pairs without gradients, and those few once more with gradients.

    With s the scores and θ the weights, ∂J/∂θ = Σ_p ∂J/∂s_p · ∂s_p/∂θ, and a pair with ∂J/∂s_p = 0 adds nothing.

    A scorer that draws random numbers (dropout), or whose score of a pair depends on the other pairs (batch normalisation), gives other
    scores in the second pass. The first step of an epoch finds that out. Such a scorer takes the gradients of all pairs, with the random
    numbers of the first pass.
    """

    def __init__(self) -> None:
        self.begin_epoch()

    def begin_epoch(self) -> None:
        """Reset the counts. An epoch that is resumed then takes the same steps as before."""
        self._pairs, self._learning, self._repeatable = 0, 0, True

    def step(self, scorer: AnswerScorer, batch: RankingBatch, loss_of: LossOf) -> Objective:
        """Chooses the way that is cheaper by the pairs of the epoch so far. Calls `loss_of` once."""
        share = MAX_SHARE_WITH_GRADIENT.get(batch.labels.device.type)
        if share is None:  # counting would make the CPU wait for the device
            return loss_of(scorer(batch))
        few = self._repeatable and self._learning < share * self._pairs
        return (self.through_few if few else self.through_all)(scorer, batch, loss_of)

    def through_all(self, scorer: AnswerScorer, batch: RankingBatch, loss_of: LossOf) -> Objective:
        """One pass, with gradients."""
        scores = scorer(batch)
        loss, gradient, _ = self._loss_and_gradient(loss_of, scores)
        return loss, (scores * gradient).sum()

    def through_few(self, scorer: AnswerScorer, batch: RankingBatch, loss_of: LossOf) -> Objective:
        """One pass without gradients, and another over the pairs that have one."""
        before = _random_state(batch)
        with torch.no_grad():
            scores = scorer(batch)
        loss, gradient, learning = self._loss_and_gradient(loss_of, scores)
        if all(map(torch.equal, _random_state(batch), before)):
            pairs = learning if len(learning) else learning.new_zeros(1)  # any pair: the optimiser needs gradients, even if they are zero
            again = scorer(batch.of_pairs(pairs))
            alike = (again.detach() - scores[pairs]).abs().amax() <= ROUNDING * scores.abs().amax()
            if alike and all(map(torch.equal, _random_state(batch), before)):
                return loss, (again * gradient[pairs]).sum()
        self._repeatable = False
        _restore_random_state(before)
        return loss, (scorer(batch) * gradient).sum()

    def _loss_and_gradient(
        self, loss_of: LossOf, scores: Float[Tensor, "pair *class"]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, "pair *class"], Int[Tensor, " some"]]:
        """The loss, its gradient by pair, and the pairs whose gradient is not 0."""
        leaf = scores.detach().requires_grad_()
        with torch.enable_grad():
            loss, minimised = loss_of(leaf)
        if not minimised.requires_grad:
            raise ConfigError(NO_GRADIENT)
        (gradient,) = torch.autograd.grad(minimised, leaf)
        learning = torch.nonzero(gradient.reshape(len(gradient), -1).any(dim=1)).squeeze(1)
        self._pairs += len(gradient)
        self._learning += len(learning)
        return loss, gradient, learning


def _random_state(batch: RankingBatch) -> list[Tensor]:
    """State of torch's random numbers on the CPU and on the batch's device."""
    device = batch.labels.device
    return [torch.get_rng_state(), *([torch.cuda.get_rng_state(device)] if device.type == "cuda" else [])]


def _restore_random_state(state: list[Tensor]) -> None:
    for restore, numbers in zip((torch.set_rng_state, torch.cuda.set_rng_state), state, strict=False):
        restore(numbers)
