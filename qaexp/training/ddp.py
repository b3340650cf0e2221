"""A training step on several processes: each scores its share of the groups, and the loss is that of the whole batch."""

import torch
from jaxtyping import Float
from torch import Tensor

from qaexp.data.batch import RankingBatch
from qaexp.ddp import all_gather_ragged
from qaexp.training.losses import Loss


def share_of(batch: RankingBatch, process: int, processes: int) -> RankingBatch:
    """The pairs of every `processes`-th group, starting with group `process`. Without any such group, the pairs of group 0."""
    mine = batch.groups % processes == process
    if not mine.any():
        mine = batch.groups == 0
    share = batch.of_pairs(torch.nonzero(mine).squeeze(1))
    return RankingBatch(**{**vars(share), "groups": share.groups.unique(return_inverse=True)[1]})


def loss_of_all(
    loss: Loss, scores: Float[Tensor, "pair *class"], share: RankingBatch, num_groups: int, process: int, processes: int
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """The loss of the whole batch: its value, and the number that this process must minimise.

    With L(s) the loss of all scores and θ the weights, ∂L/∂θ = Σ_p ∂L/∂s_p · ∂s_p/∂θ over the processes' own scores s_p. The scores of
    the others come without a gradient, so each process has its own term of the sum. DDP averages these terms, hence the factor
    `processes`. Shares of different sizes are therefore weighted rightly, and no group is counted twice.
    """
    if processes == 1:
        whole = loss(scores, share.labels, share.groups)
        return whole.detach(), whole
    counts = process < num_groups  # else the share is ballast: DDP wants every process to take part
    own = scores if counts else scores[:0]
    numbers = share.groups * processes + process
    groups = torch.cat(list(all_gather_ragged(numbers if counts else numbers[:0])))
    labels = torch.cat(list(all_gather_ragged(share.labels if counts else share.labels[:0])))
    parts = list(all_gather_ragged(own))
    parts[process] = own
    order = groups.argsort(stable=True)
    whole = loss(torch.cat(parts)[order], labels[order], groups[order])
    return whole.detach(), processes * whole if counts else 0.0 * scores.sum()
