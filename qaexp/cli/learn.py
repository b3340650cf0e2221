"""`make learn`: trains every named model briefly on real data, and says which learn more than the baselines know.

python -m qaexp.learn [MODEL ...] [--csv results/learn.csv]
"""

import argparse
import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from qaexp.cli.command import exit_code
from qaexp.config import CONF, choices
from qaexp.errors import ConfigError, QaexpError, meant
from qaexp.files import atomic_write_text, name_another_place
from qaexp.logs import silence_libraries
from qaexp.reproduction.paper_table import content_of, filled
from qaexp.runs.record import RunRecord
from qaexp.runs.store import run_overrides

log = logging.getLogger(__name__)

PLAN = CONF.parent / "experiments" / "learn.yaml"


@dataclass(frozen=True)
class Plan:
    """What is trained, on what, for how long; `experiments/learn.yaml`."""

    datasets: Sequence[str]
    max_epochs: int
    baselines: Sequence[str]
    common: Sequence[str]
    """Overrides of every model that is trained."""
    groups: Sequence[Mapping[str, Sequence[str]]]
    """`models`, and the `overrides` that these have after the common ones."""
    left_out: Sequence[str]
    """Models that these data sets cannot serve."""

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
    """A row for each epoch; a model that is not trained has its dev metrics as epoch 0."""
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
    """A row for each model and data set: its best epoch's dev MAP and MRR, and the best baseline that reaches as much."""
    best = curves.loc[curves.groupby(["dataset", "model"], sort=False)["dev map"].idxmax()]
    rows = []
    for _, row in best.iterrows():
        others = best[(best["dataset"] == row["dataset"]) & best["model"].isin(baselines)].sort_values("dev map", ascending=False)
        better = [] if row["model"] in baselines else others.loc[others["dev map"] >= row["dev map"], "model"].tolist()
        percent = {name: f"{100 * row[name]:.2f}" for name in ("dev map", "dev mrr")}
        rows.append({name: row[name] for name in ("dataset", "model", "parameters", "epoch")} | percent | {"not above": ", ".join(better)})
    return pd.DataFrame(rows)


def with_others(curves: pd.DataFrame, csv: Path, datasets: Sequence[str], models: Sequence[str]) -> pd.DataFrame:
    """These curves, and of models that are not among them what the file has already; by data set and model, in these orders."""
    both = curves
    if csv.is_file():
        before = pd.read_csv(csv)
        made = set(zip(curves["dataset"], curves["model"], strict=True))
        kept = [run not in made for run in zip(before["dataset"], before["model"], strict=True)]
        both = pd.concat([before[kept], curves]) if any(kept) else curves
    place = {(dataset, model): (i, j) for i, dataset in enumerate(datasets) for j, model in enumerate(models)}
    runs = list(zip(both["dataset"], both["model"], strict=True))
    return both.iloc[sorted(range(len(runs)), key=lambda row: place.get(runs[row], (len(datasets), 0)))]


def main(arguments: Sequence[str]) -> int:
    """The exit status: 0, 1 where a model failed or is not above a baseline, 2 for a mistake of the user, 130 after Ctrl-C."""
    plan, known = Plan.load(), choices("model")
    parser = argparse.ArgumentParser(
        prog="python -m qaexp.learn",
        description=f"Train named models for {plan.max_epochs} epochs on {' and '.join(plan.datasets)}, and compare them with "
        f"{', '.join(plan.baselines)}. Finished runs are kept: the same command goes on where it was interrupted.",
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help="choices of model= (default: all)")
    parser.add_argument(
        "--csv",
        type=Path,
        default=Path("results/learn.csv"),
        help="dev metrics by epoch; what it has of other models stays (default: %(default)s)",
    )
    parser.add_argument("--runs", type=Path, default=Path("results/runs/learn"), help="where the runs are kept (default: %(default)s)")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    silence_libraries()
    return exit_code(lambda: _compare(plan, known, options), "the same command goes on where it stopped")


def _compare(plan: Plan, known: Sequence[str], options: argparse.Namespace) -> int:
    """Train, print the verdicts, and say by 1 that a model failed or is not above a baseline."""
    for name in options.models:
        if name not in known:
            raise ConfigError(f"model={name} is not among the choices: {meant(name, known)}")
    _require_ours(options.csv)
    if left_out := [name for name in options.models if name in plan.left_out]:
        raise ConfigError(f"model={left_out[0]} cannot be served by {' or '.join(plan.datasets)}; leave it out")
    others = [m for m in options.models or known if m not in (*plan.baselines, *plan.left_out)]
    order = [*plan.baselines, *(name for name in known if name not in plan.baselines)]
    curves, failed = _learn(plan, [*plan.baselines, *others], order, options)
    table = verdicts(curves, plan.baselines)
    sys.stdout.write(table.to_string(index=False) + "\n")
    return int(bool(failed) or bool((table["not above"] != "").any()))


def _require_ours(csv: Path) -> None:
    """Raises: ConfigError, when the file is there and does not hold learning curves."""
    if not csv.is_file():
        return
    try:
        columns = set(pd.read_csv(csv, nrows=0))
    except ValueError:  # it is empty, or no text
        columns = set[str]()
    if not {"dataset", "model", "epoch", "dev map"} <= columns:
        raise ConfigError(f"{csv} holds no learning curves, and would be written over; name another file with --csv FILE")


def _learn(plan: Plan, models: Sequence[str], order: Sequence[str], options: argparse.Namespace) -> tuple[pd.DataFrame, list[str]]:
    """All curves, written after each run, and the runs that failed."""
    rows: list[dict[str, Any]] = []
    failed: list[str] = []
    for dataset in plan.datasets:
        for model in models:
            overrides = [*plan.overrides(model, dataset), "logger=none"]
            log.info("%s", " ".join(overrides[:-1]))
            outcome = run_overrides(overrides, options.runs)
            if outcome.record:
                rows += learning_curve(outcome.record, dataset)
            else:  # the others go on
                log.error("model=%s dataset=%s %s: %s", model, dataset, outcome.status, outcome.error or outcome.folder)
                failed.append(f"{model} on {dataset}")
            if rows:
                shown = with_others(pd.DataFrame(rows), options.csv, plan.datasets, order)
                atomic_write_text(options.csv, shown.to_csv(index=False), name_another_place("--csv FILE"))
    if not rows:
        raise QaexpError("no run was finished; the messages above say why")
    return pd.DataFrame(rows), failed
