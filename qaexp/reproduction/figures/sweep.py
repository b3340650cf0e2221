"""A sweep in two pictures, as W&B shows it: parallel coordinates, and the effect of each hyper-parameter on the dev score."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from qaexp.config import split_options
from qaexp.errors import QaexpError
from qaexp.evaluation.measures import metric_key
from qaexp.explain.drawing import COLOURS, INK, look, new_figure, save
from qaexp.runs.record import RunRecord, measured_options, records_below
from qaexp.sweep.job import JobResult, dev_score

DRAWN_STATUSES = ("finished", "pruned")

WORST_ALPHA = 0.15
"""The opacity of the worst run's line; the best run's is 1."""

MAX_PLACES = 12
"""An axis with at most this many values has an equal place for each. With more numbers than these, an axis is a continuous scale."""

NUM_RANGES = 5
"""The number of ranges that summarise a continuous axis, with equally many runs each."""

UNSET = "–"
"""Stands for the value of a run that does not set an option."""


def write_figures(options: argparse.Namespace) -> list[Path]:
    """`python -m qaexp.figures sweep`: writes `parallel` and `effects`; returns their paths.

    Raises:
        QaexpError: the folder has no two runs that differ.
        OutputError: the files cannot be written.
    """
    runs, metric = sweep_table(options.folder)
    to = options.to or options.folder
    with look():
        parallel, effect = parallel_coordinates(runs, metric), effects(runs, metric)
    return save(parallel, runs, to, "parallel") + save(effect, effects_table(runs), to, "effects")


def sweep_table(folder: Path) -> tuple[pd.DataFrame, str]:
    """A row for each run, best first: the options in which runs differ, dev score, best epoch, status, seconds. And the score's name.

    A seed is no hyper-parameter: runs that differ only in their seeds are several lines through the same values. Among runs with the same
    options only the last is shown: the others were set aside because their data have changed.
    """
    latest: dict[frozenset[str], tuple[Path, RunRecord]] = {}
    for run, record in records_below(folder):
        same = frozenset(measured_options(split_options(record.command)))
        if same not in latest or record.started > latest[same][1].started:
            latest[same] = run, record
    rows, metric, measures = [], "", set[str]()
    for same, (run, record) in latest.items():
        score = dev_score(record)
        if record.status in DRAWN_STATUSES and score is not None:
            metric = metric_key(record.config["dataset"]["selection_metric"])
            measures.add(JobResult.of(0, "kept", (), run, record).measure)
            meant = (option.partition("=") for option in split_options(record.command) if option in same)
            options = {name: value for name, _, value in meant if name != "seed"}
            facts = {"dev score": score, "best epoch": record.best_epoch, "epochs": len(record.history), "status": record.status}
            rows.append({**options, **facts, "seconds": record.seconds.get("total"), "run": run.name})
    if len(measures) > 1:
        listed = "; ".join(sorted(measures))
        raise QaexpError(
            f"the runs in {folder} are measured in {len(measures)} ways, and a picture has one axis for their scores: {listed}"
        )
    if len(rows) < 2:
        raise QaexpError(f"{folder} holds {len(rows)} finished runs, and a picture needs two; name the folder that a sweep has printed")
    runs = pd.DataFrame(rows)
    facts = ["dev score", "best epoch", "epochs", "status", "seconds", "run"]
    axes = [name for name in runs.columns if name not in facts and len(set(runs[name])) > 1]
    if not axes:
        raise QaexpError(f"the {len(rows)} runs in {folder} have the same options: there is no hyper-parameter to draw")
    best_first = np.argsort(-runs["dev score"].to_numpy(dtype=float), kind="stable")
    return runs.loc[best_first, axes + facts].reset_index(drop=True), metric


def hyper_parameters(runs: pd.DataFrame) -> list[str]:
    return list(runs.columns[: list(runs.columns).index("dev score")])


@dataclass(frozen=True)
class Scale:
    """The axis of one hyper-parameter, from 0 to 1."""

    heights: list[float]
    """The height of each run's value."""
    marks: list[tuple[float, str]]
    """Heights and their labels."""
    groups: list[str]
    """Each run's value, or the range that it is in."""

    @property
    def in_order(self) -> list[str]:
        """The distinct groups by height."""
        return sorted(set(self.groups), key=lambda group: self.height_of(group))

    def height_of(self, group: str) -> float:
        """The mean height of its runs."""
        return float(np.mean([height for height, of in zip(self.heights, self.groups, strict=True) if of == group]))


def scale(values: Sequence[object]) -> Scale:
    """Up to `MAX_PLACES` values stand at equal distances, numbers by size and words by name; runs that do not set the option stand last.
    More numbers lie on a continuous scale, logarithmic if that spreads them more evenly; runs that do not set the option stand at its foot.

    >>> scale(["1e-3", "1e-5", "1e-4"]).heights
    [1.0, 0.0, 0.5]
    >>> scale(["2", None, "10"]).marks
    [(0.0, '2'), (0.5, '10'), (1.0, '–')]
    """
    words = [UNSET if value is None or value != value else str(value) for value in values]
    labels = sorted(set(words), key=_by_size)
    if len(labels) > MAX_PLACES and all(_number(label) is not None for label in labels if label != UNSET):
        return _continuous(words)
    last = max(1, len(labels) - 1)
    return Scale([labels.index(word) / last for word in words], [(place / last, label) for place, label in enumerate(labels)], words)


def _continuous(words: Sequence[str]) -> Scale:
    numbers = np.array([np.nan if word == UNSET else float(word) for word in words])
    powers = bool(np.nanmin(numbers) > 0) and abs(_middle(np.log10(numbers)) - 0.5) < abs(_middle(numbers) - 0.5)
    along = np.log10(numbers) if powers else numbers
    first, last = np.nanmin(along), np.nanmax(along)
    lacking = np.isnan(numbers)
    foot = 0.15 if lacking.any() else 0.0
    heights = np.where(lacking, 0.0, foot + (1 - foot) * (along - first) / (last - first))
    places = np.linspace(0, 1, 5)
    at = first + places * (last - first)
    marks = [(foot + (1 - foot) * place, f"{10**number if powers else number:.2g}") for place, number in zip(places, at, strict=True)]
    group = np.searchsorted(np.nanquantile(numbers, np.linspace(0, 1, NUM_RANGES + 1))[1:-1], numbers)
    ends = {of: numbers[~lacking & (group == of)] for of in set(group[~lacking].tolist())}
    ranges = {of: f"{has.min():.2g} to {has.max():.2g}" for of, has in ends.items()}
    groups = [UNSET if lacks else ranges[of] for of, lacks in zip(group.tolist(), lacking.tolist(), strict=True)]
    return Scale(heights.tolist(), ([(0.0, UNSET)] if foot else []) + marks, groups)


def _middle(numbers: np.ndarray) -> float:
    """The position of the median between the least (0) and the greatest (1)."""
    return float((np.nanmedian(numbers) - np.nanmin(numbers)) / (np.nanmax(numbers) - np.nanmin(numbers)))


def _number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


def _by_size(value: str) -> tuple[int, float, str]:
    number = _number(value)
    return (2 if value == UNSET else 1, 0.0, value) if number is None else (0, number, value)


def parallel_coordinates(runs: pd.DataFrame, metric: str) -> Figure:
    """A line for each run across an axis for each hyper-parameter, to its dev score. Better runs have stronger lines; the best is thick."""
    names = hyper_parameters(runs)
    figure, [[axes]] = new_figure(2.0 * len(names) + 3, 5.0)
    scores = runs["dev score"].to_numpy(dtype=float)
    low, high = scores.min(), scores.max()
    scales = [scale(runs[name].tolist()) for name in names]
    ends = (scores - low) / (high - low) if high > low else np.full_like(scores, 0.5)
    marks = np.linspace(0, 1, 5) if high > low else [0.5]
    lines = np.column_stack([*(each.heights for each in scales), ends])  # (run, axis)
    for line, status in list(zip(lines, runs["status"], strict=True))[::-1]:
        strength = WORST_ALPHA + (1 - WORST_ALPHA) * line[-1]
        axes.plot(line, color=COLOURS[0], alpha=strength, linewidth=1, linestyle="-" if status == "finished" else ":")
    axes.plot(lines[0], color=COLOURS[1], linewidth=2.5, label=f"best: {metric} {100 * high:.2f}")
    for place, (name, each) in enumerate(zip(names, scales, strict=True)):
        _upright(axes, place, name, each.marks)
    decimals = 1 if high - low > 0.004 or high == low else 2 if high - low > 0.0004 else 3  # enough for five different marks
    _upright(axes, len(names), metric, [(mark, f"{100 * (low + mark * (high - low)):.{decimals}f}") for mark in marks])
    axes.set(xticks=[], yticks=[], ylim=(-0.12, 1.2), xlim=(-0.3, len(names) + 0.4))
    axes.set_frame_on(False)
    axes.legend(loc="lower center")
    return figure


def _upright(axes: Axes, place: int, name: str, labels: Sequence[tuple[float, str]]) -> None:
    """One axis of the parallel coordinates, with its name and labels."""
    axes.vlines(place, 0, 1, color=INK, linewidth=0.8)
    axes.text(place, 1.05 + 0.05 * (place % 2), name, ha="center", parse_math=False)
    for height, label in labels:
        axes.text(place + 0.03, height + 0.01, label, parse_math=False)  # lines run beneath it


def effects(runs: pd.DataFrame, metric: str) -> Figure:
    """A panel for each hyper-parameter: every run's dev score at its value, and the median and best score of each value."""
    names = hyper_parameters(runs)
    columns = min(4, len(names))
    figure, grid = new_figure(3.6 * columns, 3.2 * -(-len(names) // columns), -(-len(names) // columns), columns, sharey=True)
    places = [axes for row in grid for axes in row]
    for name, axes in zip(names, places, strict=False):
        _effect(axes, runs, name)
    for axes in places[len(names) :]:
        axes.set_visible(False)
    for row in grid:
        row[0].set_ylabel(f"{metric}, percent")
    places[0].legend()
    return figure


def effects_table(runs: pd.DataFrame) -> pd.DataFrame:
    """The data of `effects`: for each value (or range) of each hyper-parameter, the number of runs and their median and best dev score."""
    rows = []
    for name in hyper_parameters(runs):
        each = scale(runs[name].tolist())
        for group in each.in_order:
            scores = runs.loc[np.array(each.groups) == group, "dev score"]
            rows.append({"option": name, "value": group, "runs": len(scores), "median": scores.median(), "best": scores.max()})
    return pd.DataFrame(rows)


def _effect(axes: Axes, runs: pd.DataFrame, name: str) -> None:
    each = scale(runs[name].tolist())
    summary = effects_table(runs.filter([name, "dev score"]))
    middles = [each.height_of(group) for group in each.in_order]
    axes.scatter(each.heights, 100 * runs["dev score"], s=12, alpha=0.5, color=COLOURS[0])
    axes.plot(middles, 100 * summary["median"], "-o", color=INK, label="median")
    axes.plot(middles, 100 * summary["best"], "--", color=COLOURS[1], label="best")
    crowded = len(each.marks) > MAX_PLACES
    shown = [label if not crowded or place % (len(each.marks) // 8) == 0 else "" for place, (_, label) in enumerate(each.marks)]
    axes.set_xticks([height for height, _ in each.marks], shown, rotation=30, ha="right", parse_math=False)
    axes.set_title(name, fontsize="medium", parse_math=False)
