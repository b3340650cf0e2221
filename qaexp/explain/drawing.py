"""The look of every figure: no background of its own, and only colours that can be told from white paper and from a dark page alike.

    figure, [[axes]] = new_figure(width=5.0, height=3.0)
    axes.plot(table["step"], table["mrr"], color=COLOURS[0])
    save(figure, table, folder, "pretraining")

What is added to a figure later, such as a second axis, takes the look on within `with look():`.

Figures are made without `pyplot`: nothing is global, and no display is needed.
"""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font

from qaexp.files import FIGURES_REMEDY, atomic_write, atomic_write_text

INK = "#767676"
"""Of text, axes and ticks: as far from white as from a dark page."""

COLOURS = ("#2f81c7", "#D55E00", "#009E73", "#c2578d", "#a07000", "#8a6fd1")
"""Of lines and bars, in this order; the first three are also told apart by readers who see no red or no green."""

SEQUENTIAL = "cividis"
"""Of heat maps, whose cells cover the page: from dark blue (little) to yellow (much), in even steps of lightness."""

MARKERS = ("o", "s", "^", "D", "v", "P")
"""Beside the colours, for readers without any."""

LOOK: Any = {
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "errorbar.capsize": 2,
    "svg.hashsalt": "qaexp",
}


KINDS = ("png", "svg", "csv")
"""Of the files of a figure."""


def look() -> AbstractContextManager[None]:
    """Within it, everything that matplotlib makes has the look."""
    return matplotlib.rc_context(LOOK)


def new_figure(width: float, height: float, rows: int = 1, columns: int = 1, **subplots: Any) -> tuple[Figure, list[list[Axes]]]:
    """A figure, sizes in inches, and its axes by row and column; more arguments go to matplotlib's `subplots`."""
    with look():
        figure = Figure(figsize=(width, height), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False, **subplots)
    return figure, [list(row) for row in grid]


def printable(text: str, font: FontProperties) -> str:
    """With a box for each character that the font has not.

    >>> printable("café 漢字", FontProperties())
    'café □□'
    """
    known = get_font(findfont(font)).get_charmap()
    return "".join(character if ord(character) in known else "□" for character in text)


def write_picture(figure: Figure, path: Path, **options: Any) -> None:
    """Write a picture of the kind that the file's name ends in.

    Raises:
        OutputError: the folder is full or read-only.
    """
    with atomic_write(path, FIGURES_REMEDY) as staging:
        figure.savefig(staging, format=path.suffix.removeprefix("."), **options)


def save(figure: Figure, data: pd.DataFrame, folder: Path, name: str) -> list[Path]:
    """Write `<name>.png`, `<name>.svg` and, with what is drawn in them, `<name>.csv`. Equal figures give equal files.

    Raises:
        OutputError: the folder is full or read-only.
    """
    paths = [folder / f"{name}.{kind}" for kind in KINDS]
    with look():
        write_picture(figure, paths[0], dpi=200, metadata={"Software": None})
        write_picture(figure, paths[1], metadata={"Date": None})
    atomic_write_text(paths[2], data.to_csv(index=False), FIGURES_REMEDY)
    return paths
