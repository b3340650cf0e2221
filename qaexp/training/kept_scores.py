"""What a test had scored when it was stopped, so that the run that goes on does not score it again."""

import logging
import time
from pathlib import Path
from typing import Any, cast

import pytorch_lightning as pl
import torch
from jaxtyping import Float
from pytorch_lightning.callbacks import Callback
from torch import Tensor

from qaexp.data.files import digest
from qaexp.ddp import rank_and_world_size
from qaexp.runs.checkpoint import WholeCheckpoints, part_of_test
from qaexp.runs.folder import BEST
from qaexp.runs.record import RunRecord
from qaexp.training.module import ScoringModule

log = logging.getLogger(__name__)

SECONDS = 60.0
"""So much of a test a killed process loses; one that Ctrl-C or an error stops loses nothing."""


class KeepScores(Callback):
    """Writes down now and then what a test has scored. It counts for the same weights and data alone."""

    def __init__(self, folder: Path, record: RunRecord) -> None:
        self._folder, self._record = folder, record
        self._of, self._written = "", 0.0

    def on_test_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        best = self._folder / BEST
        of = f"weights {digest(best) if best.is_file() else 'untrained'}, data {self._record.data['fingerprint']}"
        self._written = time.monotonic()
        path = part_of_test(self._folder, rank_and_world_size()[0])
        kept = torch.load(path, weights_only=True) if path.is_file() else {}
        if kept.get("of") == of:
            cast(ScoringModule, pl_module).take_up(kept["scores"])
            log.info("ranking goes on: %d pairs were scored before", sum(_num_scored(scores) for scores in kept["scores"].values()))
        self._of = of

    def on_test_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *args: Any, **kwargs: Any) -> None:
        if time.monotonic() - self._written > SECONDS:
            self._write(pl_module)

    def on_exception(self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException) -> None:
        if self._of:  # before that, what is there is another attempt's
            self._write(pl_module)

    def _write(self, module: pl.LightningModule) -> None:
        kept = {"of": self._of, "scores": cast(ScoringModule, module).scored_so_far()}
        WholeCheckpoints().save_checkpoint(kept, part_of_test(self._folder, rank_and_world_size()[0]))
        self._written = time.monotonic()


def _num_scored(scores: Float[Tensor, "pair *class"]) -> int:
    return int((~scores.isnan()).reshape(len(scores), -1).all(1).sum())
