"""A training step at the price of the pairs that learn: those beyond the hinge's margin have no gradient, and soon that is most of them."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from qaexp.data.batch import RankingBatch
from qaexp.models.scorer import AnswerScorer

WORTH = {"cpu": 0.5}
"""The share of learning pairs, of an epoch's so far, below which reading these twice is cheaper than the gradients of all, by kind of
device. On a GPU, whose kernels a second reading doubles, it is dearer for GGSA even where one pair in twelve learns.
"""

ROUNDING = 0.02
"""Of the largest score, by which a second reading may give another: in bfloat16 it is coarse."""

LossOf = Callable[[Float[Tensor, "pair *class"]], tuple[Float[Tensor, ""], Float[Tensor, ""]]]
"""From scores to the loss, and to what is to be minimised."""

Objective = tuple[Float[Tensor, ""], Float[Tensor, ""]]
"""The loss, and a number with the gradient of what is to be minimised."""


class LearningPairs:
    """Where few pairs of an epoch learn, a step reads all of them without gradients, and those few once more with.

    With s the scores and θ the weights, ∂J/∂θ = Σ_p ∂J/∂s_p · ∂s_p/∂θ, and a pair with ∂J/∂s_p = 0 adds nothing. Texts that are read
    again keep their dropout. A model that draws anything else is told by torch's random numbers, which must not move then, and one whose
    scores of a pair depend on the others, as with batch normalisation, by its scores; it gets the gradients of all pairs, from the same
    draws as ever.
    """

    def __init__(self) -> None:
        self.begin_epoch()

    def begin_epoch(self) -> None:
        """Count anew, so that a resumed epoch goes the way it went."""
        self._pairs, self._learning, self._repeatable = 0, 0, True

    def step(self, scorer: AnswerScorer, batch: RankingBatch, loss_of: LossOf) -> Objective:
        """In the way that costs less, by the pairs of the epoch so far. `loss_of` is called once."""
        worth = WORTH.get(batch.labels.device.type)
        if worth is None:  # nobody reads how many learn, which the processor would wait for
            return loss_of(scorer(batch))
        few = self._repeatable and self._learning < worth * self._pairs
        return (self.through_few if few else self.through_all)(scorer, batch, loss_of)

    def through_all(self, scorer: AnswerScorer, batch: RankingBatch, loss_of: LossOf) -> Objective:
        """One reading, with gradients."""
        scores = scorer(batch)
        loss, gradient, _ = self._loss_and_gradient(loss_of, scores)
        return loss, (scores * gradient).sum()

    def through_few(self, scorer: AnswerScorer, batch: RankingBatch, loss_of: LossOf) -> Objective:
        """A reading without gradients, and another one of the pairs that learn."""
        before = _random_state(batch)
        with scorer.repeatable_dropout():
            with torch.no_grad():
                scores = scorer(batch)
            loss, gradient, learning = self._loss_and_gradient(loss_of, scores)
            pairs = learning if len(learning) else learning.new_zeros(1)  # any: the optimiser's step wants gradients, if only zeros
            after = _random_state(batch)
            again = scorer(batch.of_pairs(pairs))
        alike = (again.detach() - scores[pairs]).abs().amax() <= ROUNDING * scores.abs().amax()
        if alike and all(map(torch.equal, _random_state(batch), after)):
            return loss, (again * gradient[pairs]).sum()
        self._repeatable = False
        _draw_from(before)
        return loss, (scorer(batch) * gradient).sum()

    def _loss_and_gradient(
        self, loss_of: LossOf, scores: Float[Tensor, "pair *class"]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, "pair *class"], Int[Tensor, " some"]]:
        """The loss, its gradient, and the pairs that have any of it."""
        leaf = scores.detach().requires_grad_()
        with torch.enable_grad():
            loss, minimised = loss_of(leaf)
        (gradient,) = torch.autograd.grad(minimised, leaf)
        learning = torch.nonzero(gradient.reshape(len(gradient), -1).any(dim=1)).squeeze(1)
        self._pairs += len(gradient)
        self._learning += len(learning)
        return loss, gradient, learning


def _random_state(batch: RankingBatch) -> list[Tensor]:
    """Of the numbers that torch draws on the CPU and on the batch's device."""
    device = batch.labels.device
    return [torch.get_rng_state(), *([torch.cuda.get_rng_state(device)] if device.type == "cuda" else [])]


def _draw_from(state: list[Tensor]) -> None:
    for restore, numbers in zip((torch.set_rng_state, torch.cuda.set_rng_state), state, strict=False):
        restore(numbers)
