"""What training minimises, from raw scores of a batch's pairs."""

from typing import Any, Protocol, cast, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from qaexp.errors import ConfigError
from qaexp.limits import NonNegativeFloat


@runtime_checkable
class Loss(Protocol):
    """Maps scores, labels (1 for right) and groups (numbered from 0, in order) to one number."""

    reads_hardest_alone: bool
    """Whether only the highest-scoring negative of a group counts; the other negatives then need no gradient."""
    takes_log_odds: bool
    """Whether a score is read as log-odds, so that it must be unbounded."""
    takes_classes: bool
    """Whether a label is one of a data set's classes, and a pair has a score for each."""

    def __call__(
        self, scores: Float[Tensor, "pair *class"], labels: Int[Tensor, " pair"], groups: Int[Tensor, " pair"]
    ) -> Float[Tensor, ""]: ...


def as_loss(loss: Any) -> Loss:
    """Checks that what was built for `loss=` is a `Loss`, and returns it.

    Raises:
        ConfigError: an attribute of `Loss` is missing, or the loss has weights, which no optimiser would train.
    """
    for name in ("reads_hardest_alone", "takes_log_odds", "takes_classes"):
        if not hasattr(loss, name):
            raise ConfigError(f"loss={type(loss).__name__} does not say whether it {name}: set {name} in its class, True or False")
    weights = loss.parameters() if isinstance(loss, nn.Module) else ()
    if any(each.requires_grad for each in weights):
        raise ConfigError(f"loss={type(loss).__name__} has weights to learn, and a loss learns nothing here: put them into the model")
    return cast(Loss, loss)


class PairwiseHinge:
    """J = max(0, m − s⁺ + s⁻), with s⁻ the highest-scoring negative of the group; the mean over right candidates.

    Xu et al. 2019, §3.3 (one negative a group); dos Santos et al. 2016, §2.3, eq. 12 (50 drawn, "the one with the highest score").

    Departs: the papers print the sum over the training set; the mean over a batch leaves the learning rate independent
    of its size.

    A group without a negative costs 0. Each right candidate of a group is an example.

    Raises:
        ConfigError: no group of the batch has both a right and a wrong candidate, so there is nothing to learn, or pairs have classes.

    >>> PairwiseHinge(margin=0.5)(torch.tensor([0.4, 0.1, 0.3]), torch.tensor([1, 0, 0]), torch.tensor([0, 0, 0])).item()
    0.4000000059604645
    """

    reads_hardest_alone = True
    takes_log_odds = False
    takes_classes = False

    def __init__(self, margin: NonNegativeFloat) -> None:
        self.margin = margin

    def __call__(
        self, scores: Float[Tensor, "pair *class"], labels: Int[Tensor, " pair"], groups: Int[Tensor, " pair"]
    ) -> Float[Tensor, ""]:
        _require_one_score(scores, "pairwise_hinge")
        right = labels == 1
        highest = by_group(scores, groups, keep=~right).amax(dim=1)[groups[right]]  # (right pair)
        if not (highest != torch.finfo(scores.dtype).min).any():
            raise ConfigError(
                "loss=pairwise_hinge compares a right candidate with wrong ones of its group, and no group of this batch has both; "
                "choose dataset/negatives=pool or random, or loss=pointwise_cross_entropy"
            )
        return (self.margin - scores[right] + highest).clamp(min=0).mean()


class PointwiseCrossEntropy:
    """J = −[y log σ(s) + (1 − y) log(1 − σ(s))], the mean over pairs (Xu et al. 2019, §3.3).

    Reading: the paper's 2-way softmax over logits (z0, z1) is the logistic function of s = z1 − z0, the score.

    Raises:
        ConfigError: pairs have classes.

    >>> PointwiseCrossEntropy()(torch.tensor([0.0]), torch.tensor([1]), torch.tensor([0])).item()
    0.6931471824645996
    """

    reads_hardest_alone = False
    takes_log_odds = True
    takes_classes = False

    def __call__(
        self, scores: Float[Tensor, "pair *class"], labels: Int[Tensor, " pair"], groups: Int[Tensor, " pair"]
    ) -> Float[Tensor, ""]:
        _require_one_score(scores, "pointwise_cross_entropy")
        return F.binary_cross_entropy_with_logits(scores, labels.to(scores.dtype))


class ClassCrossEntropy:
    """J = −log softmax(s)_y, with y the class of the pair; the mean over pairs (Liu et al. 2016, §4.5).

    Raises:
        ConfigError: the model gives a pair one score.

    >>> ClassCrossEntropy()(torch.tensor([[0.0, 0.0]]), torch.tensor([1]), torch.tensor([0])).item()
    0.6931471824645996
    """

    reads_hardest_alone = False
    takes_log_odds = True
    takes_classes = True

    def __call__(
        self, scores: Float[Tensor, "pair *class"], labels: Int[Tensor, " pair"], groups: Int[Tensor, " pair"]
    ) -> Float[Tensor, ""]:
        if scores.ndim != 2:
            raise ConfigError(
                "loss=class_cross_entropy compares the scores of a pair's classes, and this model gives a pair one score; choose a model "
                "whose output has classes, such as model/similarity=mlp, on a data set with classes (dataset.num_classes)"
            )
        return F.cross_entropy(scores, labels)


def _require_one_score(scores: Float[Tensor, "pair *class"], loss: str) -> None:
    if scores.ndim != 1:
        raise ConfigError(
            f"loss={loss} takes one score of a pair, and this model gives {scores.shape[1]}, one for each class; "
            "choose loss=class_cross_entropy"
        )


def by_group(scores: Float[Tensor, " pair"], groups: Int[Tensor, " pair"], keep: Bool[Tensor, " pair"]) -> Float[Tensor, "group place"]:
    """A row for each group with the scores of its pairs in `keep`. The rest of a row is the lowest number of the type."""
    sizes = torch.bincount(groups)
    place = torch.arange(len(groups), device=groups.device) - (sizes.cumsum(0) - sizes)[groups]
    rows = scores.new_full((len(sizes), int(sizes.max())), torch.finfo(scores.dtype).min)
    return rows.index_put((groups[keep], place[keep]), scores[keep])
