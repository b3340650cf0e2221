"""The look of all figures: a transparent background, and colours that stand out on white and on dark pages.

    figure, [[axes]] = new_figure(width=5.0, height=3.0)
    axes.plot(table["step"], table["mrr"], color=COLOURS[0])
    save(figure, table, folder, "pretraining")

Add later parts of a figure, such as a second axis, within `with look():`.

Figures do without `pyplot`: there is no global state, and no display is needed.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font

from qaexp.files import FIGURES_REMEDY, atomic_write, atomic_write_text, csv_text

INK = "#767676"
"""The colour of text, axes and ticks: the same contrast with white and with dark pages."""

COLOURS = ("#2f81c7", "#D55E00", "#009E73", "#c2578d", "#a07000", "#8a6fd1")
"""The colours of lines and bars, in this order. Readers with red-green blindness can tell the first three apart."""

SEQUENTIAL = "cividis"
"""The colour map of weights: from dark blue (low) to yellow (high), in even steps of lightness."""

DIVERGING = "RdBu_r"
"""The colour map of signed values: blue below 0, white at 0, red above."""

MARKERS = ("o", "s", "^", "D", "v", "P")
"""One for each colour, for readers who see no colours."""

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

FILE_KINDS = ("png", "svg", "csv")
"""Each figure is written as these."""


def look() -> AbstractContextManager[None]:
    """A block in which everything that matplotlib makes has the look."""
    return matplotlib.rc_context(LOOK)


def new_figure(width: float, height: float, rows: int = 1, columns: int = 1, **subplots: Any) -> tuple[Figure, list[list[Axes]]]:
    """A figure and its axes by row and column. Sizes are in inches; other arguments go to matplotlib's `subplots`."""
    with look():
        figure = Figure(figsize=(width, height), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False, **subplots)
    return figure, [list(row) for row in grid]


def thousands(number: float, _place: object = None) -> str:
    """A formatter of axes that count steps.

    >>> thousands(3000.0), thousands(2500.0), thousands(500.0)
    ('3k', '2.5k', '500')
    """
    return f"{number / 1000:g}k" if abs(number) >= 1000 else f"{number:g}"


def is_logarithmic(values: Iterable[float]) -> bool:
    """Whether a logarithmic axis spreads the values more evenly: it brings their median nearer to the middle of the axis than a linear one.

    >>> is_logarithmic([0.0001, 0.001, 0.01]), is_logarithmic([1.0, 2.0, 3.0]), is_logarithmic([0.0, 1.0, 100.0])
    (True, False, False)
    """
    numbers = np.asarray(list(values), dtype=float)
    return bool(numbers.min() > 0) and _off_middle(np.log10(numbers)) < _off_middle(numbers)


def _off_middle(numbers: np.ndarray) -> float:
    """The distance of the median from the middle of the axis, as a part of the axis."""
    low, high = numbers.min(), numbers.max()
    return float(abs((np.median(numbers) - low) / (high - low) - 0.5)) if high > low else 0.0


def printable(text: str, font: FontProperties) -> str:
    """The text with a box for each character that the font lacks.

    >>> printable("café 漢字", FontProperties())
    'café □□'
    """
    known = get_font(findfont(font)).get_charmap()
    return "".join(character if ord(character) in known else "□" for character in text)


def write_picture(figure: Figure, path: Path, **options: Any) -> None:
    """Write a picture; the ending of the file's name chooses the format.

    Raises:
        OutputError: the folder is full or read-only.
    """
    with atomic_write(path, FIGURES_REMEDY) as staging:
        figure.savefig(staging, format=path.suffix.removeprefix("."), **options)


def save(figure: Figure, data: pd.DataFrame, folder: Path, name: str) -> list[Path]:
    """Write `<name>.png`, `<name>.svg`, and the drawn data as `<name>.csv`. Equal figures give equal files.

    Raises:
        OutputError: the folder is full or read-only.
    """
    paths = [folder / f"{name}.{kind}" for kind in FILE_KINDS]
    with look():
        write_picture(figure, paths[0], dpi=200, metadata={"Software": None})
        write_picture(figure, paths[1], metadata={"Date": None})
    atomic_write_text(paths[2], csv_text(data), FIGURES_REMEDY)
    return paths
