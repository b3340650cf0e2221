"""Callbacks between epochs: checkpoints, early stopping, the record, and what loggers are told."""

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import pytorch_lightning as pl
import torch
from hydra.utils import instantiate
from jaxtyping import Float
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.callbacks import Callback, EarlyStopping, ModelCheckpoint, ProgressBar
from pytorch_lightning.plugins.io import TorchCheckpointIO
from torch import Tensor
from torch.nn.utils import get_total_norm
from torch.optim import Optimizer

from qaexp.config import usual_callbacks
from qaexp.data.files import digest
from qaexp.data.module import RankingDataModule
from qaexp.ddp import rank_and_world_size
from qaexp.errors import ConfigError
from qaexp.evaluation.measures import metric_key
from qaexp.files import atomic_write
from qaexp.runs.checkpoint import load_verified, settle_best
from qaexp.runs.folder import BEST, LAST, NEXT, part_of_test
from qaexp.runs.record import RunRecord
from qaexp.tracking.logger import log_line
from qaexp.training.module import ScoringModule
from qaexp.training.progress_bar import Lines

log = logging.getLogger(__name__)


def callbacks(
    cfg: DictConfig, folder: Path, record: RunRecord, data: RankingDataModule, watchers: Sequence[Callback] | None = None
) -> dict[str, Any]:
    """Arguments for the trainer: the callbacks of `conf/callbacks/` and the user's own, beside those that every run has.

    `watchers` replace the progress bar.

    Raises:
        ConfigError: there is no best_checkpoint, its metric is not that of the data set, or a callback is not Lightning's.
    """
    best, others = _configured(cfg, data)
    wants_bar = cfg.trainer.get("enable_progress_bar", True) and any(isinstance(each, ProgressBar) for each in others)
    shows_bar = sys.stderr.isatty() and watchers is None and wants_bar
    used: list[Callback] = [
        instantiate(best)(dirpath=folder),
        *(each for each in others if shows_bar or not isinstance(each, ProgressBar)),
        StopAsBefore(),
        KeepHistory(folder, record),
        LogEpochs(record),
        KeepScores(folder, record),
        KeepSignals(),
        WholeEpochs(dirpath=folder, filename=Path(LAST).stem, save_on_train_epoch_end=True, enable_version_counter=False),
        *(() if shows_bar else (Lines(record),)),
        *(watchers or ()),
    ]
    return {"callbacks": used, "plugins": [WholeCheckpoints()], "enable_progress_bar": shows_bar}


def _configured(cfg: DictConfig, data: RankingDataModule) -> tuple[DictConfig, list[Callback]]:
    """The configuration of `best_checkpoint`, and all other configured callbacks, already built."""
    chosen = {name: with_metric_key(each) for name, each in (cfg.get("callbacks") or usual_callbacks(cfg)).items() if each}
    if (best := chosen.pop("best_checkpoint", None)) is None:
        raise ConfigError(
            "callbacks has no best_checkpoint, whose weights a run ranks with; add it, as in callbacks=[best_checkpoint,mine]"
        )
    if best.monitor != data.selection_metric:
        raise ConfigError(
            f"callbacks.best_checkpoint.monitor={best.monitor}: the best epoch is that of dataset.selection_metric="
            f"{data.selection_metric}; set that one"
        )
    others = {name: instantiate(each) for name, each in chosen.items()}
    if odd := [name for name, each in others.items() if not isinstance(each, Callback)]:
        raise ConfigError(f"callbacks.{odd[0]} is not a Lightning callback; derive its class from pytorch_lightning.Callback")
    return best, list(others.values())


def with_metric_key(callback: Any) -> Any:
    """The configuration of a callback. Its `monitor` becomes the name under which the metric is logged, such as dev/map for dev/AP."""
    return OmegaConf.merge(callback, {"monitor": metric_key(callback.monitor)}) if callback.get("monitor") else callback


class WholeCheckpoints(TorchCheckpointIO):
    """Writes a checkpoint atomically: after a full disk, or a kill in the middle, the previous one is still there.

    It is staged beside its place. Lightning would write it through $TMPDIR, which may be small.

    Raises:
        OutputError: the folder is full or read-only.
    """

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str | os.PathLike[str], storage_options: Any = None) -> None:
        remedy = "move the run's folder to another disk; then resume (the previous checkpoint is kept)"
        content = BytesIO()  # torch only reports a full disk as "unexpected pos"
        torch.save(checkpoint, content)
        with atomic_write(Path(path), remedy) as staging:
            staging.write_bytes(content.getbuffer())


class Checkpoints(ModelCheckpoint):
    """A ModelCheckpoint for a folder that may have been moved. Lightning's own then forgets the best score so far."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Replaces the folder of every saved path by this run's. Otherwise Lightning would delete checkpoints in the old folder."""

        def here(path: str) -> str:
            name = Path(path).name
            return str(Path(str(self.dirpath)) / name) if name.endswith(".ckpt") else ""

        paths = {name: here(path) for name, path in state_dict.items() if name.endswith("_path")}
        best = {here(path): score for path, score in state_dict["best_k_models"].items()}
        super().load_state_dict({**state_dict, **paths, "best_k_models": best, "dirpath": self.dirpath})


class BestCheckpoint(Checkpoints):
    """Keeps the weights of the epoch with the highest `monitor`."""

    def __init__(self, dirpath: Path, monitor: str) -> None:
        super().__init__(
            dirpath=dirpath, filename=Path(NEXT).stem, monitor=monitor, mode="max", save_weights_only=True, enable_version_counter=False
        )


class WholeEpochs(Checkpoints):
    """Writes `last.ckpt` after each epoch, then moves the best weights to `best.ckpt`. A kill in between leaves both at the same epoch."""

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        super().on_train_epoch_end(trainer, pl_module)
        if trainer.is_global_zero:
            settle_best(Path(str(self.dirpath)))
        trainer.strategy.barrier()


class StopEarly(EarlyStopping):
    """Early stopping that honours `min_epochs`, and stops a resumed run where an uninterrupted one would stop."""

    _asked = False

    @property
    def asked(self) -> bool:
        """Whether it has asked the trainer to stop."""
        return self._asked

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "at_threshold": self._asked and self.wait_count < self.patience}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Keeps the patience of this run, which may be larger than the saved one."""
        super().load_state_dict({**state_dict, "patience": self.patience})
        self._asked = state_dict.get("at_threshold", False)

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        trainer.should_stop = self._asked = self._asked or self.wait_count >= self.patience

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        by_another = trainer.should_stop and not self._asked
        trainer.should_stop = False
        super().on_train_epoch_end(trainer, pl_module)
        self._asked = trainer.should_stop  # the patience is used up, or one of Lightning's thresholds is reached
        trainer.should_stop = by_another or self._asked


class StopAsBefore(Callback):
    """Remembers that a callback has stopped the training, so that a run that was interrupted while ranking does not train further.

    Early stopping is left to `StopEarly`, whose patience may grow.
    """

    _stopped = False

    def state_dict(self) -> dict[str, Any]:
        return {"stopped": self._stopped}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._stopped = state_dict["stopped"]

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        trainer.should_stop |= self._stopped

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        early = any(isinstance(each, StopEarly) and each.asked for each in trainer.callbacks)  # type: ignore[attr-defined]
        self._stopped = trainer.should_stop and not early


class KeepSignals(Callback):
    """Restores the SIGTERM handler that Lightning replaces. On several processes, Lightning's may wait for the others forever."""

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        self._before = signal.getsignal(signal.SIGTERM)

    def _give_back(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._before)

    on_train_start = on_test_start = _give_back


class KeepHistory(Callback):
    """Adds each whole epoch to the record, with the number of training steps and their seconds, and saves the record."""

    def __init__(self, folder: Path, record: RunRecord) -> None:
        self._folder, self._record = folder, record
        self._started = self._spent = 0.0
        self._steps = 0

    def on_train_batch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int) -> None:
        self._started = time.perf_counter()

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int) -> None:
        self._steps += 1
        self._spent += time.perf_counter() - self._started

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        values = {name: value.item() for name, value in trainer.callback_metrics.items()}
        self._record.add_epoch(trainer.current_epoch + 1, {"step": trainer.global_step, **values})
        self._record.steps += self._steps
        self._record.seconds["steps"] = round(self._record.seconds.get("steps", 0.0) + self._spent, 3)
        self._steps, self._spent = 0, 0.0
        self._record.save(self._folder)


class LogEpochs(Callback):
    """Logs the epoch's line of the record (loss and dev metrics), and measurements of its training:

        train/learning_rate          at the epoch's last step
        train/gradient_norm          mean over the steps of ‖∇‖₂, of all parameters together and before any clipping
        train/gradient_norm_max      the largest of them
        speed/examples_per_second    training examples, such as a right answer with its negatives
        speed/tokens_per_second      tokens of the distinct texts of a batch, without padding

    Speeds are measured by the clock, from the epoch's start to its last step, without scoring dev. They are not in the record's
    history, which is the same whether a run was interrupted or not. Does nothing without a logger.
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
            log_line(logger, line, step=int(line["epoch"]))


SECONDS_BETWEEN_SAVES = 60.0
"""A killed process loses at most the test scores of this many seconds. After Ctrl-C or an error nothing is lost."""


class KeepScores(Callback):
    """Saves the scores of a test at intervals. They are used again only with the same weights and data."""

    def __init__(self, folder: Path, record: RunRecord) -> None:
        self._folder, self._record = folder, record
        self._of, self._written = "", 0.0

    def on_test_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        best = self._folder / BEST
        of = f"weights {digest(best) if best.is_file() else 'untrained'}, data {self._record.data['fingerprint']}"
        self._written = time.monotonic()
        path = part_of_test(self._folder, rank_and_world_size()[0])
        try:
            kept = load_verified(path) if path.is_file() else {}
        except Exception as error:
            log.warning("%s is damaged (%s) and left out: ranking starts again", path, type(error).__name__)
            kept = {}
        if kept.get("of") == of:
            cast(ScoringModule, pl_module).take_up(kept["scores"])
            log.info("ranking continues: %d pairs were scored before", sum(_num_scored(scores) for scores in kept["scores"].values()))
        self._of = of

    def on_test_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *args: Any, **kwargs: Any) -> None:
        if time.monotonic() - self._written > SECONDS_BETWEEN_SAVES:
            self._write(pl_module)

    def on_exception(self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException) -> None:
        if self._of:  # before that, the file belongs to another attempt
            self._write(pl_module)

    def _write(self, module: pl.LightningModule) -> None:
        kept = {"of": self._of, "scores": cast(ScoringModule, module).scored_so_far()}
        WholeCheckpoints().save_checkpoint(kept, part_of_test(self._folder, rank_and_world_size()[0]))
        self._written = time.monotonic()


def _num_scored(scores: Float[Tensor, "pair *class"]) -> int:
    return int((~scores.isnan()).reshape(len(scores), -1).all(1).sum())
