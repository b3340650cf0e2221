"""A sweep in two pictures and a table, as W&B shows it: parallel coordinates, and what each hyper-parameter does to the dev score."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from qaexp.drawing import write_picture
from qaexp.errors import QaexpError, RecordError
from qaexp.results.record import RunRecord
from qaexp.run_folder import RECORD
from qaexp.sweep.job import dev_score
from qaexp.whole_files import OF_FIGURES, write_whole

SHOWN = ("finished", "pruned")


def draw_sweep(folder: Path, to: Path) -> list[Path]:
    """Write `parallel.png`, `effects.png` and `sweep.csv`; returns their paths.

    Raises:
        QaexpError: the folder has no two runs that differ.
        OutputError: the files cannot be written.
    """
    runs, metric = sweep_table(folder)
    paths = [to / "parallel.png", to / "effects.png", to / "sweep.csv"]
    write_picture(parallel_coordinates(runs, metric), paths[0], dpi=150)
    write_picture(effects(runs, metric), paths[1], dpi=150)
    write_whole(paths[2], runs.to_csv(index=False), OF_FIGURES)
    return paths


def sweep_table(folder: Path) -> tuple[pd.DataFrame, str]:
    """A row a run, best first: its options that differ from other runs', dev score, best epoch, status, seconds. And the score's name."""
    rows, metric = [], ""
    for path in sorted(folder.rglob(RECORD)):
        try:
            record = RunRecord.load(path.parent)
        except RecordError:
            continue
        score = dev_score(record)
        if record.status in SHOWN and score is not None:
            metric = record.config["dataset"]["selection_metric"]
            options = {name: value for name, _, value in (option.partition("=") for option in record.command.split())}
            facts = {"dev score": score, "best epoch": record.best_epoch, "epochs": len(record.history), "status": record.status}
            rows.append({**options, **facts, "seconds": record.seconds.get("total"), "run": path.parent.name})
    if len(rows) < 2:
        raise QaexpError(f"{folder} holds {len(rows)} finished runs, and a picture compares some; name the folder that a sweep has printed")
    runs = pd.DataFrame(rows)
    facts = ["dev score", "best epoch", "epochs", "status", "seconds", "run"]
    axes = [name for name in runs.columns if name not in facts and len(set(runs[name])) > 1]
    if not axes:
        raise QaexpError(f"the {len(rows)} runs in {folder} have the same options: there is no hyper-parameter to draw")
    best_first = np.argsort(-runs["dev score"].to_numpy(dtype=float), kind="stable")
    return runs.loc[best_first, axes + facts].reset_index(drop=True), metric


def hyper_parameters(runs: pd.DataFrame) -> list[str]:
    return list(runs.columns[: list(runs.columns).index("dev score")])


def ranks(values: Sequence[str]) -> tuple[list[float], list[str]]:
    """Each value's place on an axis, and the axis' labels: numbers by size, words by name, every value as far from the next.

    >>> ranks(["1e-3", "1e-5", "1e-4"])
    ([1.0, 0.0, 0.5], ['1e-5', '1e-4', '1e-3'])
    """
    labels = sorted(set(values), key=_by_size)
    last = max(1, len(labels) - 1)
    return [labels.index(value) / last for value in values], labels


def _by_size(value: str) -> tuple[int, float, str]:
    try:
        return 0, float(value), value
    except ValueError:
        return 1, 0.0, value


def parallel_coordinates(runs: pd.DataFrame, metric: str) -> Figure:
    """A line a run across one axis for each hyper-parameter, to its dev score; the best run is drawn last and thick."""
    names = hyper_parameters(runs)
    figure = Figure(figsize=(2.0 * len(names) + 3, 5), layout="constrained")
    axes = figure.subplots()
    scores = runs["dev score"].to_numpy(dtype=float)
    low, high = scores.min(), scores.max()
    heights = [ranks(runs[name].astype(str).tolist()) for name in names]
    lines = np.column_stack([*(places for places, _ in heights), (scores - low) / max(high - low, 1e-12)])  # (run, axis)
    colours = mpl.colormaps["viridis"]
    for line, status in list(zip(lines, runs["status"], strict=True))[::-1]:
        axes.plot(line, color=colours(line[-1]), alpha=0.6, linewidth=1, linestyle="-" if status == "finished" else ":")
    axes.plot(lines[0], color="crimson", linewidth=2.5, label=f"best: {metric} {100 * high:.2f}")
    for place, (name, (_, labels)) in enumerate(zip(names, heights, strict=True)):
        axes.vlines(place, 0, 1, color="black", linewidth=0.8)
        for rank, label in enumerate(labels):
            axes.text(
                place + 0.03, rank / max(1, len(labels) - 1), label, fontsize=8, va="center", bbox={"fc": "white", "ec": "none", "pad": 1}
            )
        axes.text(place, 1.05 + 0.05 * (place % 2), name, ha="center", fontsize=8)
    axes.vlines(len(names), 0, 1, color="black", linewidth=0.8)
    for share in np.linspace(0, 1, 5):
        axes.text(len(names) + 0.03, share, f"{100 * (low + share * (high - low)):.1f}", fontsize=8, va="center")
    axes.text(len(names), 1.05 + 0.05 * (len(names) % 2), metric, ha="center", fontsize=8)
    axes.set(xticks=[], yticks=[], ylim=(-0.12, 1.2), xlim=(-0.3, len(names) + 0.4))
    axes.set_frame_on(False)
    axes.legend(loc="lower center", fontsize=8, frameon=False)
    return figure


def effects(runs: pd.DataFrame, metric: str) -> Figure:
    """For each hyper-parameter, every run's dev score at its value, and the median of each value."""
    names = hyper_parameters(runs)
    columns = min(4, len(names))
    figure = Figure(figsize=(3.6 * columns, 3.2 * -(-len(names) // columns)), layout="constrained")
    grid = figure.subplots(-(-len(names) // columns), columns, sharey=True, squeeze=False)
    for name, axes in zip(names, grid.flat, strict=False):
        _effect(axes, runs, name)
    for axes in grid.flat[len(names) :]:
        axes.set_visible(False)
    for row in grid:
        row[0].set_ylabel(f"{metric}, percent")
    return figure


def _effect(axes: Axes, runs: pd.DataFrame, name: str) -> None:
    _, labels = ranks(runs[name].astype(str).tolist())
    places = np.array([labels.index(value) for value in runs[name].astype(str)])
    scores = 100 * runs["dev score"].to_numpy(dtype=float)
    by_value = [scores[places == place] for place in range(len(labels))]
    axes.scatter(places, scores, s=12, alpha=0.5)
    axes.plot([np.median(some) for some in by_value], "k-o", markersize=4, linewidth=1.2, label="median")
    axes.plot([some.max() for some in by_value], color="crimson", linewidth=1, label="best")
    shown = labels if len(labels) <= 12 else [label if place % (len(labels) // 8) == 0 else "" for place, label in enumerate(labels)]
    axes.set_xticks(range(len(labels)), shown, fontsize=7, rotation=30, ha="right")
    axes.set_title(name, fontsize=9)
    axes.legend(fontsize=7)
