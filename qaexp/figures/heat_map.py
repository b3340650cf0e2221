"""Attention weights, gates and grids of one pair, drawn over its words.

python -m qaexp.figures.heat_map RUN --question "..." --answer "..." --to FOLDER
"""

import argparse
import logging
import sys
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.patches import Rectangle

import qaexp
from qaexp.errors import QaexpError
from qaexp.figures.heats import Heat, frame, heats
from qaexp.figures.style import INK, SEQUENTIAL, save

FONT = FontProperties(family="monospace", size=8)
PLAIN: Any = {"va": "center", "parse_math": False, "fontproperties": FONT}
"""How words are written: a dollar sign is no formula."""
COLOURS = matplotlib.colormaps[SEQUENTIAL]
INCHES = 8.0
CHARACTERS = 110
"""Of a line of words."""
COLUMNS = 36
"""Words of an answer beside each other over a grid; further ones go below."""
LINE, CELL, SPACE = 0.2, 0.16, 0.3


def draw(placed: Sequence[Heat], title: str) -> Figure:
    """One figure with everything that was placed, words on coloured ground and grids, from dark blue (low) to yellow (high).

    Uses neither pyplot nor matplotlib's global settings: any thread may draw.
    """
    parts = [part for heat in placed for part in _parts(heat)]
    heights = [_height(part) for part in parts]
    figure = Figure(figsize=(INCHES, sum(heights) + SPACE * (len(parts) + 2)), facecolor="none", dpi=150)
    tall = figure.get_figheight()
    figure.text(
        0.02, 1 - SPACE / 2 / tall, _printable(title), va="center", parse_math=False, fontproperties=FONT, color=INK, fontweight="bold"
    )
    top = tall - SPACE
    for part, height in zip(parts, heights, strict=True):
        name = f"{part.name}: {part.values.min():.3g} to {part.values.max():.3g}"
        figure.text(0.02, (top - SPACE / 2) / tall, name, color=INK, **PLAIN)
        top -= SPACE + height
        if part.rows:
            width = 0.17 * len(part.columns)
            _grid(figure.add_axes((1.3 / INCHES, (top + 0.75) / tall, width / INCHES, (height - 0.75) / tall)), part)
        else:
            _line(figure.add_axes((0.02, top / tall, 0.96, height / tall)), part)
    return figure


def png(figure: Figure) -> bytes:
    """The figure as a PNG file's content."""
    content = BytesIO()
    figure.savefig(content, format="png", facecolor="none")
    return content.getvalue()


def _parts(heat: Heat) -> list[Heat]:
    """A grid over more words than fit beside each other, cut into grids that do."""
    if not heat.rows:
        return [heat]
    return [
        Heat(heat.name, heat.rows, heat.columns[start : start + COLUMNS], heat.values[:, start : start + COLUMNS])
        for start in range(0, len(heat.columns), COLUMNS)
    ]


def _height(heat: Heat) -> float:
    """In inches."""
    return CELL * len(heat.rows) + 0.75 if heat.rows else LINE * (_places(heat.columns)[-1][1] + 1)


def _places(words: Sequence[str]) -> list[tuple[int, int]]:
    """Where each word begins: character and line.

    >>> _places(["how", "hot"]), _places(["x" * 100, "y" * 20])
    ([(0, 0), (4, 0)], [(0, 0), (0, 1)])
    """
    places, at, line = [], 0, 0
    for word in words:
        if at and at + len(word) > CHARACTERS:
            at, line = 0, line + 1
        places.append((at, line))
        at += len(word) + 1
    return places


def _line(axes: Axes, heat: Heat) -> None:
    """Words one after the other, as in Figures 5 and 6 of dos Santos et al. 2016."""
    places = _places(heat.columns)
    shades = _shades(heat)
    for (at, line), word, value in zip(places, heat.columns, heat.values[0], strict=True):
        colour = COLOURS(shades(value))
        axes.add_patch(Rectangle((at - 0.4, line + 0.05), len(word) + 0.8, 0.9, facecolor=colour, linewidth=0))
        ink = "black" if shades(value) > 0.5 else "white"
        axes.text(at, line + 0.55, _printable(word), color=ink, **PLAIN)
    axes.set(xlim=(-0.5, CHARACTERS + 1), ylim=(places[-1][1] + 1, 0))
    axes.set_axis_off()


def _grid(axes: Axes, heat: Heat) -> None:
    """The question's words down, the answer's across, as in Figure 3 of Liu et al. 2016."""
    axes.imshow(_shades(heat)(heat.values), cmap=COLOURS, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    axes.spines[:].set_visible(False)
    for axis, words in ((axes.xaxis, heat.columns), (axes.yaxis, heat.rows)):
        axis.set_ticks(
            range(len(words)), [_shortened(_printable(word)) for word in words], parse_math=False, fontproperties=FONT, color=INK
        )
        axis.set_tick_params(length=0)
    axes.tick_params(axis="x", labelrotation=90)


def _shades(heat: Heat) -> Normalize:
    """Weights are shaded from 0, anything with negative values from the lowest of them."""
    low, high = min(0.0, float(heat.values.min())), float(heat.values.max())
    return Normalize(low, high if high > low else low + 1)


def _shortened(word: str) -> str:
    return word if len(word) <= 12 else word[:11] + "…"


def _printable(text: str) -> str:
    """With a box for each character that the font has not."""
    known = get_font(findfont(FONT)).get_charmap()
    return "".join(character if ord(character) in known else "□" for character in text)


def main(arguments: Sequence[str]) -> int:
    """The exit status: 0, or 2 where there is nothing to draw."""
    parser = argparse.ArgumentParser(
        prog="python -m qaexp.figures.heat_map",
        description="Draw what a trained model shows of a pair: PNG, SVG, and the numbers as CSV.",
    )
    parser.add_argument("run", type=Path, help="a run's folder, or a checkpoint")
    parser.add_argument("--question", required=True)
    parser.add_argument("--answer", required=True)
    parser.add_argument("--to", type=Path, required=True, metavar="FOLDER", help="where heat_map.png, .svg and .csv go")
    parser.add_argument("--show", nargs="+", metavar="NAME", help="only these, such as pair.attention (default: everything over words)")
    parser.add_argument("--unit", type=int, help="of a grid, this slice or neuron, from 0 (default: their mean)")
    options = parser.parse_args(arguments)
    try:
        ranker = qaexp.load(options.run)
        shown = ranker.read_out(options.question, options.answer)
        question, answer = ranker.words(options.question, options.answer)
        placed = [heat for heat in heats(shown, question, answer, options.unit) if not options.show or heat.name in options.show]
        if not placed:
            there = ", ".join(dict.fromkeys(heat.name for heat in heats(shown, question, answer, options.unit)))
            raise QaexpError(f"{options.run} shows {there or 'nothing over words'}; choose of these with --show, or another model")
        figure = draw(placed, f"{options.run.name}: score {np.round(shown['score'].tolist(), 4)}")
        paths = save(figure, frame(placed), options.to, "heat_map")
    except QaexpError as error:
        logging.getLogger(__name__).error("%s", error)
        return 2
    sys.stdout.write(f"{', '.join(heat.name for heat in placed)}: {', '.join(map(str, paths))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
