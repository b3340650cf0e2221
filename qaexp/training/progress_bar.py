"""What a run shows while it trains and ranks: a progress bar on a terminal, and elsewhere a line for each epoch."""

import logging
import time
from typing import Any, cast

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Callback, RichProgressBar

from qaexp.runs.record import RunRecord
from qaexp.training.module import ScoringModule

log = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 60.0


class RunBar(RichProgressBar):
    """A progress bar for each epoch, with the epoch's number (from 1) and the run's name. After the first step it also shows the loss."""

    def __init__(self, name: str) -> None:
        super().__init__(refresh_rate=10, leave=True)
        self.name, self._updated = name, 0.0

    def _get_train_description(self, current_epoch: int) -> str:
        return f"{self.name} {current_epoch + 1}/{self.trainer.max_epochs}"

    def _update_metrics(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *args: Any, **kwargs: Any) -> None:
        if trainer.training and time.monotonic() - self._updated < 1 / self.refresh_rate and not trainer.is_last_batch:
            return  # reading the loss makes the CPU wait for a GPU
        self._updated = time.monotonic()
        super()._update_metrics(trainer, pl_module, *args, **kwargs)

    def get_metrics(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> dict[str, Any]:
        shown = super().get_metrics(trainer, pl_module)
        shown.pop("v_num", None)
        loss = getattr(pl_module, "latest_loss", None)
        return ({"loss": float(loss)} if trainer.training and loss is not None else {}) | shown


class Lines(Callback):
    """Logs a line for each epoch, and one line a minute during a long test. Replaces the progress bar if there is no terminal."""

    def __init__(self, record: RunRecord) -> None:
        self._record, self._told = record, 0.0

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        values = "  ".join(f"{name} {value:.4f}" for name, value in self._record.history[-1].items() if name not in ("epoch", "step"))
        log.info("epoch %d/%s  %s", trainer.current_epoch + 1, trainer.max_epochs, values)

    def on_test_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._told = time.monotonic()

    def on_test_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *args: Any, **kwargs: Any) -> None:
        if time.monotonic() - self._told > SECONDS_BETWEEN_LINES:
            log.info("ranking %s: %d of %d pairs are scored", *cast(ScoringModule, pl_module).progress)
            self._told = time.monotonic()
