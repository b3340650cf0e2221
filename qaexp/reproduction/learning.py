"""Runs `make learn`: trains named models briefly on real data, and says which of them are above the baselines on dev."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from qaexp.config import choices, compose
from qaexp.data.missing_files import require_files
from qaexp.errors import ConfigError, QaexpError, meant
from qaexp.files import atomic_write_text, csv_text, name_another_place
from qaexp.reproduction.spec import EXPERIMENTS, content_of, filled
from qaexp.runs.record import RunRecord
from qaexp.runs.store import run_overrides

log = logging.getLogger(__name__)

PLAN = EXPERIMENTS / "learn.yaml"


@dataclass(frozen=True)
class Plan:
    """The models to train, on which data, for how long: `experiments/learn.yaml`."""

    datasets: Sequence[str]
    max_epochs: int
    baselines: Sequence[str]
    common: Sequence[str]
    """Overrides of every model that is trained."""
    groups: Sequence[Mapping[str, Sequence[str]]]
    """`models`, and their `overrides` after the common ones."""
    left_out: Sequence[str]
    """Models that cannot be trained on these data sets."""

    @classmethod
    def load(cls, path: Path = PLAN) -> "Plan":
        return filled(cls, content_of(path))

    def overrides(self, model: str, dataset: str) -> list[str]:
        """The command line of one run."""
        if model in self.baselines:
            return [f"model={model}", f"dataset={dataset}"]
        special = [override for group in self.groups if model in group["models"] for override in group["overrides"]]
        return [f"model={model}", f"dataset={dataset}", f"trainer.max_epochs={self.max_epochs}", *self.common, *special]


def learning_curve(record: RunRecord, dataset: str) -> list[dict[str, Any]]:
    """A row for each epoch. The dev metrics of a model without training are epoch 0."""
    seconds = record.seconds.get("fit", 0.0) / max(1, len(record.history))
    facts = {
        "dataset": dataset,
        "model": record.config["choices"]["model"],
        "options": record.command,
        "parameters": record.parameters["trainable without word embeddings"],
        "seconds an epoch": round(seconds, 1),
        "commit": record.commit,
    }
    epochs = record.history or [{"epoch": 0, **{f"dev/{name}": record.metrics["dev"][name] for name in ("map", "mrr")}}]
    return [{**facts, "epoch": e["epoch"], "dev map": e["dev/map"], "dev mrr": e["dev/mrr"], "loss": e.get("train/loss")} for e in epochs]


def verdicts(curves: pd.DataFrame, baselines: Sequence[str]) -> pd.DataFrame:
    """A row for each model and data set: its best epoch's dev MAP and MRR, and the baselines that reach as much."""
    best = curves.loc[curves.groupby(["dataset", "model"], sort=False)["dev map"].idxmax()]
    rows = []
    for _, row in best.iterrows():
        others = best[(best["dataset"] == row["dataset"]) & best["model"].isin(baselines)].sort_values("dev map", ascending=False)
        better = [] if row["model"] in baselines else others.loc[others["dev map"] >= row["dev map"], "model"].tolist()
        percent = {name: f"{100 * row[name]:.2f}" for name in ("dev map", "dev mrr")}
        rows.append({name: row[name] for name in ("dataset", "model", "parameters", "epoch")} | percent | {"not above": ", ".join(better)})
    return pd.DataFrame(rows)


def with_others(curves: pd.DataFrame, csv: Path, datasets: Sequence[str], models: Sequence[str]) -> pd.DataFrame:
    """These curves, and those of other models that are in the file already; in the order of data sets and models."""
    both = curves
    if csv.is_file():
        before = pd.read_csv(csv)
        made = set(zip(curves["dataset"], curves["model"], strict=True))
        kept = [run not in made for run in zip(before["dataset"], before["model"], strict=True)]
        both = pd.concat([before[kept], curves]) if any(kept) else curves
    place = {(dataset, model): (i, j) for i, dataset in enumerate(datasets) for j, model in enumerate(models)}
    runs = list(zip(both["dataset"], both["model"], strict=True))
    return both.iloc[sorted(range(len(runs)), key=lambda row: place.get(runs[row], (len(datasets), 0)))]


def compare(plan: Plan, models: Sequence[str], csv: Path, runs: Path) -> tuple[pd.DataFrame, list[str]]:
    """Train these models (none: all) and the baselines: the verdicts, and the runs that failed.

    Raises:
        ConfigError: a model does not exist or cannot be trained on these data sets, or the CSV file holds something else.
        MissingDataError: the files of a data set are missing.
        QaexpError: no run was finished.
    """
    known = choices("model")
    for name in models:
        if name not in known:
            raise ConfigError(f"model={name} is not among the choices: {meant(name, known)}")
    _require_learning_curves(csv)
    if left_out := [name for name in models if name in plan.left_out]:
        raise ConfigError(f"model={left_out[0]} cannot be trained on {' or '.join(plan.datasets)}; leave it out")
    others = [name for name in models or known if name not in (*plan.baselines, *plan.left_out)]
    order = [*plan.baselines, *(name for name in known if name not in plan.baselines)]
    for dataset in plan.datasets:
        require_files(compose(plan.overrides((others or plan.baselines)[0], dataset)))
    curves, failed = _learn(plan, [*plan.baselines, *others], order, csv, runs)
    return verdicts(curves, plan.baselines), failed


def _require_learning_curves(csv: Path) -> None:
    """Raises: ConfigError, if the file exists and holds something else."""
    if not csv.is_file():
        return
    try:
        columns = set(pd.read_csv(csv, nrows=0))
    except ValueError:  # it is empty, or no text
        columns = set[str]()
    if not {"dataset", "model", "epoch", "dev map"} <= columns:
        raise ConfigError(f"{csv} holds something else than learning curves and would be overwritten; name another file with --csv FILE")


def _learn(plan: Plan, models: Sequence[str], order: Sequence[str], csv: Path, runs: Path) -> tuple[pd.DataFrame, list[str]]:
    """All curves, and the runs that failed. The file is written after each run."""
    rows: list[dict[str, Any]] = []
    failed: list[str] = []
    for dataset in plan.datasets:
        for model in models:
            overrides = [*plan.overrides(model, dataset), "logger=none"]
            log.info("%s", " ".join(overrides[:-1]))
            outcome = run_overrides(overrides, runs)
            if outcome.record:
                rows += learning_curve(outcome.record, dataset)
            else:  # the other models still run
                log.error("model=%s dataset=%s %s: %s", model, dataset, outcome.status, outcome.error or outcome.folder)
                failed.append(f"{model} on {dataset}")
            if rows:
                shown = with_others(pd.DataFrame(rows), csv, plan.datasets, order)
                atomic_write_text(csv, csv_text(shown), name_another_place("--csv FILE"))
    if not rows:
        raise QaexpError("no run was finished; the messages above say why")
    return pd.DataFrame(rows), failed
