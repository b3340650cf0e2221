"""What a logger hears of each epoch: one line, when the epoch is over."""

import time
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback
from torch import Tensor
from torch.nn.utils import get_total_norm
from torch.optim import Optimizer

from qaexp.runs.record import RunRecord
from qaexp.tracking.logger import RunLogger


class LogEpochs(Callback):
    """Logs the record's line of the epoch (loss and dev metrics) beside how it was trained:

        train/learning_rate          of the epoch's steps
        train/gradient_norm          mean over the steps of ‖∇‖₂, of all parameters together and before any clipping
        train/gradient_norm_max      the largest of them
        speed/examples_per_second    right answers, each with its negatives
        speed/tokens_per_second      of distinct texts of a batch, padding left out

    Speeds are of the clock from the epoch's start to its last step, without scoring dev. They stay out of the record's history, which
    is the same whether a run was interrupted or not. Does nothing where no logger listens.
    """

    def __init__(self, record: RunRecord) -> None:
        self._record = record

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._norms: list[Tensor] = []
        self._examples, self._tokens, self._learning_rate = 0, torch.zeros((), dtype=torch.long), 0.0
        self._begun = self._ended = time.perf_counter()

    def on_before_optimizer_step(self, trainer: pl.Trainer, pl_module: pl.LightningModule, optimizer: Optimizer) -> None:
        if trainer.loggers:
            self._norms.append(get_total_norm(p.grad for p in pl_module.parameters() if p.grad is not None))
            self._learning_rate = float(optimizer.param_groups[0]["lr"])

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int) -> None:
        if trainer.loggers:
            self._examples += batch.num_examples
            self._tokens = self._tokens.to(pl_module.device) + batch.num_tokens
            self._ended = time.perf_counter()

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if not trainer.loggers:
            return
        norms = torch.stack(self._norms) if self._norms else torch.zeros(1)
        seconds = self._ended - self._begun
        line = {
            **self._record.history[-1],
            "train/learning_rate": self._learning_rate,
            "train/gradient_norm": norms.mean().item(),
            "train/gradient_norm_max": norms.max().item(),
            "speed/examples_per_second": self._examples / seconds,
            "speed/tokens_per_second": self._tokens.item() / seconds,
        }
        for logger in trainer.loggers:
            if isinstance(logger, RunLogger):
                logger.log_line(line, step=int(line["epoch"]))
