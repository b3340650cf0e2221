"""Giving a run up when its dev metric has no prospects among the other runs of its sweep."""

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import optuna
import pytorch_lightning as pl
from hydra.utils import instantiate
from optuna.trial import TrialState, create_trial
from pytorch_lightning.callbacks import Callback

from qaexp.errors import PrunedError
from qaexp.results.record import RunRecord


class PruneByDev(Callback):
    """Asks an Optuna pruner after each epoch. The other runs' curves come from their records, the run's own from what was just measured.

    The runs beside the folder are the ones compared with: no study is kept, so there is nothing that a killed worker could leave half
    written. For the same reason only pruners that read other trials' curves apply (MedianPruner, PercentilePruner, PatientPruner).
    """

    def __init__(self, pruner: Mapping[str, Any], folder: Path) -> None:
        self._pruner: optuna.pruners.BasePruner = instantiate(pruner)
        self._folder = folder
        optuna.logging.set_verbosity(optuna.logging.ERROR)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        record = RunRecord.load(self._folder)  # the callback that keeps the history comes first
        chosen = record.config["dataset"]["selection_metric"]
        study = optuna.create_study(direction="maximize", pruner=self._pruner)
        for other in sorted(self._folder.parent.glob("*/record.json")):
            curve = finished_curve(other, chosen)
            if curve and other.parent != self._folder:
                study.add_trial(create_trial(state=TrialState.COMPLETE, value=max(curve), intermediate_values=dict(enumerate(curve, 1))))
        trial = study.ask()
        for epoch in record.history:
            trial.report(float(epoch[chosen]), int(epoch["epoch"]))
        if trial.should_prune():
            raise PrunedError(
                f"given up after epoch {trainer.current_epoch + 1}: {chosen} {record.history[-1][chosen]:.4f} has no prospects beside the "
                "other runs; hydra.sweeper.pruner=null lets every run finish"
            )


def finished_curve(path: Path, chosen: str) -> tuple[float, ...]:
    """Dev metric by epoch of a finished run; empty for any other. Read again only when the file has changed."""
    try:
        return _curve(path, path.stat().st_mtime_ns, chosen)
    except OSError:
        return ()


@lru_cache(maxsize=10_000)
def _curve(path: Path, changed: int, chosen: str) -> tuple[float, ...]:
    record = json.loads(path.read_text(encoding="utf-8"))
    return tuple(epoch[chosen] for epoch in record["history"]) if record["status"] == "finished" else ()
