"""The one LightningModule: trains any scorer on any ranking data, and scores whole splits."""

from collections.abc import Callable, Mapping
from typing import Any

import pytorch_lightning as pl
import torch
from jaxtyping import Float
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from qaexp.checkpoint import require_same_vocabulary
from qaexp.data.module import RankingDataModule
from qaexp.errors import ConfigError, NonFiniteLossError
from qaexp.losses import Loss
from qaexp.models.scorer import AnswerScorer
from qaexp.scoring import SplitScores
from qaexp.training.hardest import hardest_negatives
from qaexp.types import RankingBatch, ScoringBlock

MANY = 4
"""From so many pairs a group, finding the hardest negative first is cheaper than learning through all of them."""


class RankingModule(pl.LightningModule):
    """Scorer, loss, optimiser and learning-rate schedule; the data module says what is ranked and under which convention.

    `rebuild` is what a checkpoint must hold to build the scorer again without any file of the data set.
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
        super().__init__()
        self.scorer, self.loss = scorer, loss
        self._optimizer, self._schedule = optimizer, schedule
        self._data, self._rebuild = data, rebuild
        self._scoring: SplitScores | None = None
        self._ranking = ""
        self.scores: dict[str, Float[Tensor, "pair *class"]] = {}
        """The scores of each split that was ranked, in the order of its pairs."""

    def training_step(self, batch: RankingBatch, index: int) -> Float[Tensor, ""]:
        if self.loss.reads_hardest_alone and len(batch.labels) > MANY * batch.num_groups:
            batch = hardest_negatives(self.scorer, batch)
        loss = self.loss(self.scorer(batch), batch.labels, batch.groups)
        if not torch.isfinite(loss):
            raise NonFiniteLossError(
                f"the loss became {loss.item()} in epoch {self.current_epoch + 1}, batch {index + 1}; the best checkpoint of the epochs "
                "before it is kept. Lower optimizer.lr, or bound the gradient with trainer.gradient_clip_val=1"
            )
        self.log("train/loss", loss.detach(), prog_bar=True, on_step=False, on_epoch=True, batch_size=batch.num_groups)
        return loss

    def on_train_epoch_start(self) -> None:
        """Dropout, like the order of the batches, depends on (seed, epoch) alone: a resumed run repeats its epoch exactly."""
        torch.manual_seed((self._data.seed * 1_000_003 + self.current_epoch) % 2**63)

    def validation_step(self, block: ScoringBlock, index: int) -> None:
        self._score(block)

    def on_validation_epoch_end(self) -> None:
        self._finish_split()
        for name, value in self._data.metrics("dev", self.scores["dev"]).compute().items():
            self.log(f"dev/{name}", value.float(), prog_bar=f"dev/{name}" == self._data.selection_metric)

    def test_step(self, block: ScoringBlock, index: int, dataloader_idx: int = 0) -> None:
        self._score(block)

    def on_test_epoch_end(self) -> None:
        self._finish_split()

    def configure_optimizers(self) -> tuple[list[Optimizer], list[LRScheduler]]:  # Lightning steps the schedule once an epoch
        optimizer = self._optimizer(params=[p for p in self.parameters() if p.requires_grad])
        return [optimizer], [self._schedule(optimizer=optimizer)]

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["qaexp"] = dict(self._rebuild)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        require_same_vocabulary(checkpoint, self._rebuild["vocabulary"])

    def _score(self, block: ScoringBlock) -> None:
        """Go on with the block's split; the first block of another split finishes the one before."""
        if self._scoring is None or block.split != self._ranking:
            self._finish_split()
            self._ranking = block.split
            self._scoring = SplitScores(self.scorer, self._data.splits[block.split].num_pairs)
        self._scoring.add(block)

    def _finish_split(self) -> None:
        if self._scoring is None:
            return
        if self._scoring.num_scored < len(self._scoring.scores):
            raise ConfigError(
                f"{self._scoring.num_scored} of the {len(self._scoring.scores)} pairs of {self._ranking} were scored, and metrics need "
                "all; leave out trainer.fast_dev_run and trainer.limit_*_batches"
            )
        self.scores[self._ranking] = self._scoring.scores
        self._scoring = None
