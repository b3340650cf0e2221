"""What happens between epochs: checkpoints, early stopping, the record, and what the screen shows."""

import logging
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Callback, EarlyStopping, ModelCheckpoint, RichProgressBar

from qaexp.data.module import RankingDataModule
from qaexp.runs.checkpoint import WholeCheckpoints, settle_best
from qaexp.runs.folder import BEST, LAST, NEXT
from qaexp.runs.record import RunRecord
from qaexp.training.epochs import LogEpochs
from qaexp.training.kept_scores import KeepScores
from qaexp.training.module import ScoringModule

log = logging.getLogger(__name__)

MINUTE = 60.0


def callbacks(
    folder: Path, record: RunRecord, data: RankingDataModule, patience: int, watchers: Sequence[Callback] | None = None
) -> dict[str, Any]:
    """The trainer's arguments that keep the best weights by the data set's dev metric and the last whole epoch to take up again.

    With `watchers`, these take the place of the progress bar.
    """
    chosen = data.selection_metric
    terminal = sys.stderr.isatty() and watchers is None
    kept: list[Callback] = [
        Checkpoints(
            dirpath=folder, filename=Path(NEXT).stem, monitor=chosen, mode="max", save_weights_only=True, enable_version_counter=False
        ),
        StopEarly(monitor=chosen, mode="max", patience=patience),
        KeepHistory(folder, record, chosen),
        LogEpochs(record),
        KeepScores(folder, record),
        WholeEpochs(dirpath=folder, filename=Path(LAST).stem, save_on_train_epoch_end=True, enable_version_counter=False),
        RichProgressBar(leave=True) if terminal else Lines(record),
        *(watchers or ()),
    ]
    return {"callbacks": kept, "plugins": [WholeCheckpoints()], "enable_progress_bar": terminal}


class Checkpoints(ModelCheckpoint):
    """Goes on wherever the run's folder lies by now; Lightning's own forgets the best so far when it is another than before."""

    @property
    def state_key(self) -> str:
        return super().state_key.replace(type(self).__qualname__, ModelCheckpoint.__qualname__)  # as earlier runs have it

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        before = state_dict["dirpath"]

        def moved(value: Any) -> Any:
            if isinstance(value, dict):
                return {moved(key): each for key, each in value.items()}
            if not isinstance(value, str) or not value.startswith(before):
                return value
            return str(self.dirpath) + value.removeprefix(before).replace(BEST, NEXT)  # which earlier runs wrote at once

        super().load_state_dict({name: moved(value) for name, value in state_dict.items()})


class WholeEpochs(Checkpoints):
    """`last.ckpt` of each epoch; then the best weights take their place, so that a kill in between leaves both as of one epoch."""

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        super().on_train_epoch_end(trainer, pl_module)
        if trainer.is_global_zero:
            settle_best(Path(str(self.dirpath)))
        trainer.strategy.barrier()


class StopEarly(EarlyStopping):
    """Stops where patience is out, and not where it was out before: not before `min_epochs`, and in a resumed run as in a whole one."""

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        trainer.should_stop = self.wait_count >= self.patience

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        super().on_train_epoch_end(trainer, pl_module)
        trainer.should_stop = self.wait_count >= self.patience


class KeepHistory(Callback):
    """Adds each epoch to the record, on disk too, with its training steps and the time that they took: those of whole epochs alone."""

    def __init__(self, folder: Path, record: RunRecord, chosen: str) -> None:
        self._folder, self._record, self._chosen = folder, record, chosen
        self._started = self._spent = 0.0
        self._steps = 0

    def on_train_batch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int) -> None:
        self._started = time.perf_counter()

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int) -> None:
        self._steps += 1
        self._spent += time.perf_counter() - self._started

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        values = {name: value.item() for name, value in trainer.callback_metrics.items()}
        self._record.add_epoch(trainer.current_epoch + 1, {"step": trainer.global_step, **values}, self._chosen)
        self._record.steps += self._steps
        self._record.seconds["steps"] = round(self._record.seconds.get("steps", 0.0) + self._spent, 3)
        self._steps, self._spent = 0, 0.0
        self._record.save(self._folder)


class Lines(Callback):
    """A line an epoch, and of a long test one a minute, where no terminal can show a progress bar."""

    def __init__(self, record: RunRecord) -> None:
        self._record, self._told = record, 0.0

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        values = "  ".join(f"{name} {value:.4f}" for name, value in self._record.history[-1].items() if name not in ("epoch", "step"))
        log.info("epoch %d/%s  %s", trainer.current_epoch + 1, trainer.max_epochs, values)

    def on_test_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._told = time.monotonic()

    def on_test_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *args: Any, **kwargs: Any) -> None:
        if time.monotonic() - self._told > MINUTE:
            log.info("ranking %s: %d of %d pairs are scored", *cast(ScoringModule, pl_module).progress)
            self._told = time.monotonic()
