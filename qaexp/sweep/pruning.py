"""Giving a run up when its dev metric has no prospects among the other runs of its sweep."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import optuna
import pytorch_lightning as pl
from hydra.utils import instantiate
from optuna.trial import TrialState, create_trial
from pytorch_lightning.callbacks import Callback

from qaexp.errors import PrunedError
from qaexp.runs.folder import RECORD
from qaexp.runs.record import RunRecord


class PruneByDev(Callback):
    """Asks an Optuna pruner after each epoch. The other runs' curves come from their records, the run's own from what was just measured.

    The finished runs beside the folder are the ones compared with, but for those over data that are no longer there: no study is kept, so
    there is nothing that a killed worker could leave half written. For the same reason only pruners that read other trials' curves apply
    (MedianPruner, PercentilePruner, PatientPruner).
    """

    def __init__(self, pruner: Mapping[str, Any], folder: Path) -> None:
        self._pruner: optuna.pruners.BasePruner = instantiate(pruner)
        self._folder = folder
        optuna.logging.set_verbosity(optuna.logging.ERROR)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        record = RunRecord.load(self._folder)  # the callback that keeps the history comes first
        chosen = record.config["dataset"]["selection_metric"]
        study = optuna.create_study(direction="maximize", pruner=self._pruner)
        for path in sorted(self._folder.parent.glob(f"*/{RECORD}")):
            other = finished(path, chosen)
            if other and other.curve and path.parent != self._folder and other.shares_data_with(record):
                values = dict(enumerate(other.curve, 1))
                study.add_trial(create_trial(state=TrialState.COMPLETE, value=max(other.curve), intermediate_values=values))
        trial = study.ask()
        for epoch in record.history:
            trial.report(float(epoch[chosen]), int(epoch["epoch"]))
        if trial.should_prune():
            raise PrunedError(
                f"given up after epoch {trainer.current_epoch + 1}: {chosen} {record.history[-1][chosen]:.4f} has no prospects beside the "
                "other runs; hydra.sweeper.pruner=null lets every run finish"
            )


@dataclass(frozen=True)
class Finished:
    """What a finished run is compared by: dev metric by epoch, its texts' fingerprint, and whence its word vectors are, with their files'
    digests where they are known."""

    curve: Sequence[float]
    texts: str
    vectors: str
    files: Sequence[str] | None

    def shares_data_with(self, record: RunRecord) -> bool:
        """Whether both are over the same texts, and not over two states of the same vectors. Other vectors may be an axis of the sweep."""
        return record.is_over(self.texts, self.files if self.vectors == record.vectors else None)


def finished(path: Path, chosen: str) -> Finished | None:
    """The run of a record; None for one that is not finished. Read again only when the file has changed."""
    try:
        return _finished(path, path.stat().st_mtime_ns, chosen)
    except OSError:
        return None


@lru_cache(maxsize=10_000)
def _finished(path: Path, changed: int, chosen: str) -> Finished | None:
    if record := RunRecord.with_status(path.parent, "finished"):
        curve = tuple(float(epoch[chosen]) for epoch in record.history if chosen in epoch)
        return Finished(curve, record.data["fingerprint"], record.vectors, record.data["vectors"].get("files"))
    return None
