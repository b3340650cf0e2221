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
from qaexp.errors import QaexpError, plural
from qaexp.evaluation.significance import Interval
from qaexp.explain.drawing import COLOURS, INK, is_logarithmic, look, new_figure, save
from qaexp.reproduction.figures.picture import drawn_intervals
from qaexp.runs.identity import measured_options
from qaexp.runs.record import RunRecord, records_below
from qaexp.sweep.job import JobResult

DRAWN_STATUSES = ("finished", "pruned")

WORST_ALPHA = 0.15
"""The opacity of the worst run's line; the best run's is 1."""

MAX_PLACES = 12
"""A numeric axis with at most this many values labels each; the values of others are grouped into ranges."""

NUM_RANGES = 5
"""The number of these ranges, with equally many runs each."""

UNSET = "–"
"""Stands for the value of a run that does not set an option."""


def write_figures(options: argparse.Namespace) -> list[Path]:
    """`qaexp figures sweep`: writes `parallel` and `effects`; returns their paths.

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

    A seed is not a hyper-parameter: runs that differ only in their seeds are several lines through the same values. Among runs with the
    same options only the last is shown: the others were set aside because their data have changed.
    """
    latest: dict[frozenset[str], tuple[Path, RunRecord]] = {}
    for run, record in records_below(folder):
        same = frozenset(measured_options(split_options(record.command)))
        if same not in latest or record.started > latest[same][1].started:
            latest[same] = run, record
    rows, metric, measures = [], "", set[str]()
    for same, (run, record) in latest.items():
        score = record.best_on_dev
        if record.status in DRAWN_STATUSES and score is not None:
            metric = record.selection_metric
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
        there = plural(len(rows), "finished run")
        raise QaexpError(f"{folder} holds {there}, and a picture needs two; name the folder that a sweep has printed")
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
        return sorted(set(self.groups), key=self.height_of)

    def height_of(self, group: str) -> float:
        """The mean height of its runs."""
        return float(np.mean([height for height, of in zip(self.heights, self.groups, strict=True) if of == group]))


def scale(values: Sequence[object]) -> Scale:
    """Numbers lie on a numeric scale, logarithmic if that spreads them more evenly; runs that do not set the option, and 0 on a logarithmic
    scale, stand at its lower end. Words stand in alphabetical order at equal distances.

    >>> scale(["1e-3", "1e-5", "1e-4"]).heights
    [1.0, 0.0, 0.5]
    >>> scale(["max", None, "last"]).marks
    [(0.0, 'last'), (0.5, 'max'), (1.0, '–')]
    """
    words = [UNSET if value is None or value != value else str(value) for value in values]
    labels = sorted(set(words), key=_by_size)
    numbers = [label for label in labels if label != UNSET]
    if len(numbers) > 1 and all(_number(label) is not None for label in numbers):
        return _numeric(words)
    last = max(1, len(labels) - 1)
    return Scale([labels.index(word) / last for word in words], [(place / last, label) for place, label in enumerate(labels)], words)


def _numeric(words: Sequence[str]) -> Scale:
    numbers = np.array([np.nan if word == UNSET else float(word) for word in words])
    set_numbers = numbers[~np.isnan(numbers)]
    known = np.unique(set_numbers)
    above = known[known > 0] if known[0] == 0 and len(known) > 2 else known
    powers = is_logarithmic(above)
    at_foot = np.isnan(numbers) | (powers & (numbers == 0))
    along = np.log10(np.where(at_foot, 1.0, numbers)) if powers else numbers
    first, last = along[~at_foot].min(), along[~at_foot].max()
    foot = 0.15 if at_foot.any() else 0.0
    share = (along - first) / (last - first) if last > first else np.full_like(along, 0.5)
    heights = np.where(at_foot, 0.0, foot + (1 - foot) * share)
    named = {
        height: ", ".join(sorted({word for at, word in zip(heights, words, strict=True) if at == height})) for height in np.unique(heights)
    }
    if len(known) <= MAX_PLACES:
        return Scale(heights.tolist(), [(float(height), name) for height, name in named.items()], list(words))
    places = np.linspace(0, 1, 5)
    ends = first + places * (last - first)
    marks = [(foot + (1 - foot) * place, f"{10**end if powers else end:.2g}") for place, end in zip(places, ends, strict=True)]
    inner = np.quantile(set_numbers, np.linspace(0, 1, NUM_RANGES + 1))[1:-1]
    of_range = {int(of): set_numbers[np.searchsorted(inner, set_numbers) == of] for of in np.searchsorted(inner, known)}
    names = {of: f"{has.min():.2g} to {has.max():.2g}" for of, has in of_range.items()}
    groups = [UNSET if word == UNSET else names[int(np.searchsorted(inner, float(word)))] for word in words]
    return Scale(heights.tolist(), ([(0.0, named[0.0])] if foot else []) + marks, groups)


def _apart(marks: Sequence[tuple[float, str]], distance: float) -> list[tuple[float, str]]:
    """Leaves out marks that would lie on the one before them.

    >>> _apart([(0.0, "1"), (0.01, "2"), (1.0, "100")], 0.05)
    [(0.0, '1'), (1.0, '100')]
    """
    shown = list[tuple[float, str]]()
    for mark in marks:
        if not shown or mark[0] - shown[-1][0] >= distance:
            shown.append(mark)
    return shown


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
    for height, label in _apart(labels, 0.04):
        axes.text(place + 0.03, height + 0.01, label, parse_math=False)  # lines run beneath it


def effects(runs: pd.DataFrame, metric: str) -> Figure:
    """A panel for each hyper-parameter: every run's dev score at its value, and the mean of each value, with its 95% interval
    if it has three runs or more, and its best."""
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
    """The data of `effects`: for each value (or range) of each hyper-parameter, the number of runs, the mean of their dev
    scores with half the width of its 95% interval, and the best."""
    rows = []
    for name in hyper_parameters(runs):
        each = scale(runs[name].tolist())
        for group in each.in_order:
            scores = runs.loc[np.array(each.groups) == group, "dev score"]
            of_scores = Interval.of(scores.tolist(), random=True)
            rows.append(
                {"option": name, "value": group, "runs": len(scores), "mean": of_scores.mean, "ci95": of_scores.half, "best": scores.max()}
            )
    return pd.DataFrame(rows)


def _effect(axes: Axes, runs: pd.DataFrame, name: str) -> None:
    each = scale(runs[name].tolist())
    summary = effects_table(runs.filter([name, "dev score"]))
    middles = [each.height_of(group) for group in each.in_order]
    axes.scatter(each.heights, 100 * runs["dev score"], s=12, alpha=0.5, color=COLOURS[0])
    intervals = drawn_intervals(100 * summary["ci95"], summary["runs"])
    axes.errorbar(
        middles, 100 * summary["mean"], intervals, fmt="-o", color=INK, label="mean" if intervals is None else "mean, 95% interval"
    )
    axes.plot(middles, 100 * summary["best"], "--", color=COLOURS[1], label="best")
    marks = _apart(each.marks, 1 / MAX_PLACES)
    axes.set_xticks([height for height, _ in marks], [label for _, label in marks], rotation=30, ha="right", parse_math=False)
    axes.set_title(name, fontsize="medium", parse_math=False)
