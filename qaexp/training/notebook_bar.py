"""A progress bar of epochs for notebooks. It needs no widgets."""

from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Callback
from tqdm import tqdm


class NotebookBar(Callback):
    """Counts epochs, and shows the metrics of the last one."""

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._bar = tqdm(total=trainer.max_epochs, initial=trainer.current_epoch, unit="epoch", desc="training")

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        shown: dict[str, Any] = {name: f"{value:.4f}" for name, value in trainer.callback_metrics.items() if value.numel() == 1}
        self._bar.set_postfix(shown, refresh=False)
        self._bar.update()

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._bar.close()

    def on_exception(self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException) -> None:
        if hasattr(self, "_bar"):
            self._bar.close()
