"""The LightningModule that trains any scorer on any ranking data, and scores whole splits."""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from jaxtyping import Float
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from qaexp.data.batch import RankingBatch, ScoringBlock
from qaexp.data.module import RankingDataModule
from qaexp.ddp import rank_and_world_size
from qaexp.errors import ConfigError
from qaexp.models.scorer import AnswerScorer
from qaexp.training.ddp import loss_of_all, share_of
from qaexp.training.hardest_negatives import hardest_negatives
from qaexp.training.learning_pairs import LearningPairs
from qaexp.training.losses import Loss
from qaexp.training.module import ScoringModule

log = logging.getLogger(__name__)

MANY = 4
"""From so many pairs a group, finding the hardest negative first is cheaper than learning through all of them."""


class RankingModule(ScoringModule):
    """Scorer and loss, over a data set's pairs.

    Raises:
        ConfigError: the data set has classes and the loss takes none, or the other way round.
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
        if data.num_classes > 1 and not loss.takes_classes:
            raise ConfigError(
                f"dataset={data.name} has {data.num_classes} classes, and {type(loss).__name__} tells right from wrong; "
                "choose loss=class_cross_entropy"
            )
        if data.num_classes == 1 and loss.takes_classes:
            raise ConfigError(
                f"{type(loss).__name__} takes classes, and dataset={data.name} has right and wrong candidates; "
                "choose loss=pairwise_hinge or pointwise_cross_entropy"
            )
        self.loss = loss
        self._learning_pairs = LearningPairs()
        if scorer.bounded and loss.takes_log_odds:
            log.warning(
                "the scores of this model stay within a narrow range, and this loss reads them as log-odds: it cannot come near 0, and "
                "hardly tells right from wrong; choose loss=pairwise_hinge, or model/similarity=mlp where the model has that slot"
            )

    def on_train_epoch_start(self) -> None:
        super().on_train_epoch_start()
        self._learning_pairs.begin_epoch()

    def training_step(self, batch: RankingBatch, index: int) -> Float[Tensor, ""]:
        process, processes = rank_and_world_size()
        share = share_of(batch, process, processes) if processes > 1 else batch
        if self.loss.reads_hardest_alone and len(share.labels) > MANY * share.num_groups:
            share = hardest_negatives(self.scorer, share)
        loss_of = partial(loss_of_all, self.loss, share=share, num_groups=batch.num_groups, process=process, processes=processes)
        loss, objective = self._learning_pairs.step(self.scorer, share, loss_of)
        self.require_finite(loss, index)
        self.log("train/loss", loss, prog_bar=True, on_step=False, on_epoch=True, batch_size=batch.num_groups)
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
