"""The LightningModule that trains any scorer on any ranking data, and scores whole splits."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from qaexp.data.batch import RankingBatch, ScoringBlock
from qaexp.data.module import RankingDataModule
from qaexp.ddp import all_gather_ragged, rank_and_world_size
from qaexp.errors import ConfigError
from qaexp.models.scorer import AnswerScorer
from qaexp.training.learning_pairs import NO_GRADIENT, LearningPairs
from qaexp.training.losses import Loss
from qaexp.training.module import ScoringModule


class RankingModule(ScoringModule):
    """A scorer and a loss on a data set's pairs.

    Raises:
        ConfigError: the loss does not match the data set.
    """

    def __init__(
        self,
        scorer: AnswerScorer,
        loss: Loss,
        optimizer: Callable[..., Optimizer],
        schedule: Callable[..., LRScheduler],
        data: RankingDataModule,
        rebuild: Mapping[str, Any],
    ) -> None:
        super().__init__(scorer, optimizer, schedule, data, rebuild)
        loss.require_match(scorer, data)
        self.loss = loss
        self._learning_pairs = LearningPairs()

    def on_train_epoch_start(self) -> None:
        super().on_train_epoch_start()
        self._learning_pairs.begin_epoch()

    def training_step(self, batch: RankingBatch, index: int) -> Float[Tensor, ""]:
        process, processes = rank_and_world_size()
        share = share_of(batch, process, processes) if processes > 1 else batch
        share = self.loss.pairs_to_learn(self.scorer, share)
        loss_of = partial(loss_of_all, self.loss, share=share, num_groups=batch.num_groups, process=process, processes=processes)
        loss, objective = self._learning_pairs.step(self.scorer, share, loss_of)
        self.require_finite(loss, index)
        if not objective.requires_grad:
            raise ConfigError(NO_GRADIENT)
        self.log("train/loss", loss, on_step=False, on_epoch=True, logger=False, batch_size=batch.num_groups)
        return objective

    def validation_step(self, block: ScoringBlock, index: int) -> None:
        self.score_block(block)

    def on_validation_epoch_end(self) -> None:
        self.finish_split()
        self.log_dev_metrics()

    def test_step(self, block: ScoringBlock, index: int, dataloader_idx: int = 0) -> None:
        self.score_block(block)

    def on_test_epoch_end(self) -> None:
        self.finish_split()


def share_of(batch: RankingBatch, process: int, processes: int) -> RankingBatch:
    """The pairs of every `processes`-th group, starting with group `process`. Without any such group, the pairs of group 0."""
    mine = batch.groups % processes == process
    if not mine.any():
        mine = batch.groups == 0
    share = batch.of_pairs(torch.nonzero(mine).squeeze(1))
    return replace(share, groups=share.groups.unique(return_inverse=True)[1])


def loss_of_all(
    loss: Loss, scores: Float[Tensor, "pair *class"], share: RankingBatch, num_groups: int, process: int, processes: int
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """The loss of the whole batch: its value, and the number that this process must minimise.

    With L(s) the loss of all scores and θ the weights, ∂L/∂θ = Σ_p ∂L/∂s_p · ∂s_p/∂θ over the processes' own scores s_p. The scores of
    the others come without a gradient, so each process has its own term of the sum. DDP averages these terms, hence the factor
    `processes`. So shares of different sizes have the right weights, and no group counts twice.
    """
    if processes == 1:
        whole = loss(scores, share.labels, share.groups, *(() if share.targets is None else (share.targets,)))
        return whole.detach(), whole
    counts = process < num_groups  # otherwise the share is a dummy: DDP needs every process to take part
    own = scores if counts else scores[:0]
    numbers = share.groups * processes + process
    groups = torch.cat(list(all_gather_ragged(numbers if counts else numbers[:0])))
    labels = torch.cat(list(all_gather_ragged(share.labels if counts else share.labels[:0])))
    targets = [] if share.targets is None else [torch.cat(list(all_gather_ragged(share.targets if counts else share.targets[:0])))]
    parts = list(all_gather_ragged(own))
    parts[process] = own
    order = groups.argsort(stable=True)
    whole = loss(torch.cat(parts)[order], labels[order], groups[order], *(each[order] for each in targets))
    return whole.detach(), processes * whole if counts else 0.0 * scores.sum()
