"""Stops a run whose dev metric is worse than those of the sweep's other runs, by an Optuna pruner."""

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
from qaexp.runs.sources import Sources


class PruneByDev(Callback):
    """Asks an Optuna pruner after each epoch. It compares the run with the sweep's finished runs that were measured on the same data.

    No Optuna study is stored, so a killed worker leaves nothing half written. Only pruners that read other trials' curves work
    (MedianPruner, PercentilePruner, PatientPruner).
    """

    def __init__(self, pruner: Mapping[str, Any], folder: Path) -> None:
        self._pruner: optuna.pruners.BasePruner = instantiate(pruner)
        self._folder = folder
        optuna.logging.set_verbosity(optuna.logging.ERROR)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        record = RunRecord.load(self._folder)  # the callback that writes the history ran before this one
        chosen = record.selection_metric
        study = optuna.create_study(direction="maximize", pruner=self._pruner)
        for path in sorted(self._folder.parent.glob(f"*/{RECORD}")):
            other = finished(path, chosen)
            if other and other.curve and path.parent != self._folder and other.is_measured_like(record):
                values = dict(enumerate(other.curve, 1))
                study.add_trial(create_trial(state=TrialState.COMPLETE, value=max(other.curve), intermediate_values=values))
        trial = study.ask()
        for epoch in record.history:
            trial.report(float(epoch[chosen]), int(epoch["epoch"]))
        if trial.should_prune():
            raise PrunedError(
                f"stopped after epoch {trainer.current_epoch + 1}: {chosen} {record.history[-1][chosen]:.4f} is low compared "
                "with the other runs; hydra.sweeper.pruner=null lets every run finish"
            )


@dataclass(frozen=True)
class Finished:
    """A finished run: dev metric by epoch and its convention, number of dev's pairs, fingerprint of its texts, source of its word vectors,
    and digests of their files if known."""

    curve: Sequence[float]
    convention: str
    dev_pairs: int | None
    texts: str
    vectors: str
    files: Sequence[str] | None

    def is_measured_like(self, record: RunRecord) -> bool:
        """Whether convention, pairs and texts are the same. Word vectors of the same source must come from the same files; another source
        is allowed, since it may be an axis of the sweep."""
        if (self.convention, self.dev_pairs) != (record.convention, record.pairs_of_dev):
            return False
        return record.has_read(Sources(self.texts, self.files if self.vectors == record.vectors else None))


def finished(path: Path, chosen: str) -> Finished | None:
    """The run of a record file, or None when it is not finished. Cached until the file changes."""
    try:
        return _finished(path, path.stat().st_mtime_ns, chosen)
    except OSError:
        return None


@lru_cache(maxsize=10_000)
def _finished(path: Path, changed: int, chosen: str) -> Finished | None:
    record = RunRecord.with_status(path.parent, "finished")
    if record and path.parent.name.endswith(record.key):  # not a run that was set aside
        curve = tuple(float(epoch[chosen]) for epoch in record.history if chosen in epoch)
        data = record.data
        return Finished(curve, record.convention, record.pairs_of_dev, data["fingerprint"], record.vectors, data["vectors"].get("files"))
    return None
