"""Heat maps: the attention weights, gates and grids of one pair, drawn over its words.

qaexp figures heat_map RUN --to FOLDER
qaexp figures heat_map RUN --question "..." --answer "..." --to FOLDER
"""

import argparse
from collections.abc import Iterator, Sequence
from io import BytesIO
from math import ceil
from textwrap import fill
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle
from torch import Tensor

from qaexp.errors import ConfigError
from qaexp.explain.drawing import DIVERGING, INK, SEQUENTIAL, printable, save
from qaexp.explain.heats import Heat, frame, heats
from qaexp.explain.run_data import Pair, beginning_of_title, data_of, pairs_of
from qaexp.runs.ranker import Ranker, load

FONT = FontProperties(family="monospace", size=9)
TEXT_STYLE: Any = {"va": "center", "parse_math": False, "fontproperties": FONT}
"""The style of words. With `parse_math`, dollar signs would begin a formula."""
WEIGHTS, SIGNED = matplotlib.colormaps[SEQUENTIAL], matplotlib.colormaps[DIVERGING]
LIGHTNESS = (0.299, 0.587, 0.114)
"""The weights of red, green and blue in the lightness of a colour."""
LINE_CHARACTERS = 97
"""The most characters in a line of words."""
GRID_COLUMNS = 36
"""The most words beside each other over a grid; the others continue in a grid below."""
LINE, CELL, SPACE, MARGIN, CHARACTER = 0.2, (0.17, 0.16), 0.3, 0.16, 0.078
"""Sizes in inches; a cell has a width and a height."""
SCALE_WIDTH = 0.8
"""The width in inches of a colour scale, to the right of each name."""


def draw(heats: Sequence[Heat], title: str) -> Figure:
    """One figure of all these heats: words on coloured ground and grids, each with its colour scale.

    Weights go from dark blue (low) to yellow (high), signed values from blue over white (0) to red.
    Thread-safe: uses neither pyplot nor matplotlib's global settings.
    """
    parts = [(part, _shades(heat), name) for heat in heats for part, name in _parts(heat)]
    heights = [_height(part) for part, _, _ in parts]
    high = max(len(_ends(shades)[1]) for _, shades, _ in parts)
    characters = min(LINE_CHARACTERS + 1, max(_width(part, f"{name} {_ends(shades)[0]}", high) for part, shades, name in parts))
    said = fill(printable(title, FONT), characters)
    head = SPACE + LINE * said.count("\n")
    wide, tall = 2 * MARGIN + CHARACTER * characters, sum(heights) + SPACE * (len(parts) + 0.5) + head
    figure = Figure(figsize=(wide, tall), facecolor="none", dpi=150)
    figure.text(MARGIN / wide, 1 - head / 2 / tall, said, color=INK, fontweight="bold", **TEXT_STYLE)
    top = tall - head
    for (part, shades, name), height in zip(parts, heights, strict=True):
        middle = (top - SPACE / 2) / tall
        figure.text(MARGIN / wide, middle, printable(name, FONT), color=INK, **TEXT_STYLE)
        _scale(figure, middle, shades, high)
        top -= SPACE + height
        if part.rows:
            left, foot = MARGIN + _room(part.rows), _room(part.columns)
            width = CELL[0] * len(part.columns)
            _grid(figure.add_axes((left / wide, (top + foot) / tall, width / wide, (height - foot) / tall)), part, shades)
        else:
            _line(figure.add_axes((MARGIN / wide, top / tall, 1 - 2 * MARGIN / wide, height / tall)), part, shades, characters)
    return figure


def png(figure: Figure) -> bytes:
    """The content of a PNG file of the figure."""
    content = BytesIO()
    figure.savefig(content, format="png", facecolor="none")
    return content.getvalue()


def _parts(heat: Heat) -> list[tuple[Heat, str]]:
    """The parts in which a heat is drawn, each with its heading. A grid that is too wide is cut into several parts."""
    name = f"{in_words(heat.name)}: {heat.values.min():.3g} to {heat.values.max():.3g}"
    if not heat.rows:
        return [(heat, name)]
    return [
        (
            Heat(heat.name, heat.rows, heat.columns[start : start + GRID_COLUMNS], heat.values[:, start : start + GRID_COLUMNS]),
            f"{in_words(heat.name)}, continued" if start else name,
        )
        for start in range(0, len(heat.columns), GRID_COLUMNS)
    ]


def in_words(name: str) -> str:
    """The name of a shown tensor in words. For a tensor of one text, it begins with the side: question or candidate.

    >>> in_words("pair.question_attention"), in_words("question.gate 1")
    ('question attention', 'question: gate 1')
    """
    side, _, what = name.partition(".")
    return (what if side == "pair" else f"{side}: {what}").replace("_", " ")


def _height(heat: Heat) -> float:
    """In inches. The words below a grid stand upright."""
    return CELL[1] * len(heat.rows) + _room(heat.columns) if heat.rows else LINE * (_places(heat.columns)[-1][1] + 1)


def _width(heat: Heat, name: str, high: int) -> int:
    """In characters: the wider of the words or grid, and of the heading with its colour scale."""
    if heat.rows:
        below = ceil((_room(heat.rows) + CELL[0] * len(heat.columns)) / CHARACTER)
    else:
        below = max(at + len(word) for (at, _), word in zip(_places(heat.columns), heat.columns, strict=True)) + 1
    return max(below, len(name) + 3 + ceil(SCALE_WIDTH / CHARACTER) + high)


def _room(words: Sequence[str]) -> float:
    """The inches that the words of a grid take beside or below it."""
    return CHARACTER * (max(len(_shortened(word)) for word in words) + 1)


def _places(words: Sequence[str]) -> list[tuple[int, int]]:
    """The character and line where each word begins.

    >>> _places(["how", "hot"]), _places(["x" * 100, "y" * 20])
    ([(0, 0), (4, 0)], [(0, 0), (0, 1)])
    """
    places, at, line = [], 0, 0
    for word in words:
        if at and at + len(word) > LINE_CHARACTERS:
            at, line = 0, line + 1
        places.append((at, line))
        at += len(word) + 1
    return places


def _line(axes: Axes, heat: Heat, shades: Normalize, characters: int) -> None:
    """Words in a row, as in Figures 5 and 6 of dos Santos et al. 2016."""
    places = _places(heat.columns)
    for (at, line), word, value in zip(places, heat.columns, heat.values[0], strict=True):
        colour = _colours(shades)(shades(value))
        axes.add_patch(Rectangle((at - 0.4, line + 0.05), len(word) + 0.8, 0.9, facecolor=colour, linewidth=0))
        ink = "black" if np.dot(colour[:3], LIGHTNESS) > 0.5 else "white"
        axes.text(at, line + 0.55, printable(word, FONT), color=ink, **TEXT_STYLE)
    axes.set(xlim=(-0.5, characters - 0.5), ylim=(places[-1][1] + 1, 0))
    axes.set_axis_off()


def _grid(axes: Axes, heat: Heat, shades: Normalize) -> None:
    """A grid with the question's words down and the answer's words across, as in Figure 3 of Liu et al. 2016."""
    axes.imshow(shades(heat.values), cmap=_colours(shades), vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    axes.spines[:].set_visible(False)
    for axis, words in ((axes.xaxis, heat.columns), (axes.yaxis, heat.rows)):
        axis.set_ticks(
            range(len(words)), [_shortened(printable(word, FONT)) for word in words], parse_math=False, fontproperties=FONT, color=INK
        )
        axis.set_tick_params(length=0)
    axes.tick_params(axis="x", labelrotation=90)


def _scale(figure: Figure, middle: float, shades: Normalize, high: int) -> None:
    """The colour scale, between its lowest and its highest value; the latter has room for `high` characters."""
    wide, tall = figure.get_size_inches()
    width, height, gap = SCALE_WIDTH / wide, LINE / 2 / tall, CHARACTER / wide
    left = 1 - MARGIN / wide - (high + 1) * gap - width
    strip = figure.add_axes((left, middle - height / 2, width, height), label="scale")
    strip.imshow(np.linspace(0, 1, 128)[None], cmap=_colours(shades), vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    strip.set_axis_off()
    for end, at, side in zip(_ends(shades), (left - gap, left + width + gap), ("right", "left"), strict=True):
        figure.text(at, middle, end, color=INK, ha=side, **TEXT_STYLE)


def _ends(shades: Normalize) -> tuple[str, str]:
    """The values of the darkest and of the brightest shade."""
    return f"{shades.vmin:.3g}", f"{shades.vmax:.3g}"


def _shades(heat: Heat) -> Normalize:
    """Maps values to shades, from the lowest to the highest value. If values have both signs, the range is symmetric about 0."""
    low, high = float(heat.values.min()), float(heat.values.max())
    if low < 0 < high:
        return Normalize(-max(-low, high), max(-low, high))
    return Normalize(low, high if high > low else low + 1)


def _colours(shades: Normalize) -> Colormap:
    return SIGNED if shades.vmin == -shades.vmax else WEIGHTS  # type: ignore[operator]


def _shortened(word: str) -> str:
    return word if len(word) <= 12 else word[:11] + "…"


def write_figures(options: argparse.Namespace) -> Iterator[str]:
    """`qaexp figures heat_map`: for each pair, a line with the names of its heats and its files."""
    ranker = load(options.run)
    pairs = _pairs(ranker, options)
    for number, pair in enumerate(pairs, 1):
        shown = pair.shown(ranker)
        placed = _chosen(heats(shown, pair.question, pair.answer, options.unit), options)
        figure = draw(placed, f"{beginning_of_title(options.run)}{pair.name}{_score(ranker, shown['score'])}")
        paths = save(figure, frame(placed), options.to, f"heat_map{number if len(pairs) > 1 else ''}")
        yield f"{', '.join(heat.name for heat in placed)}: {', '.join(map(str, paths))}"


def _score(ranker: Ranker, score: Tensor) -> str:
    """The score of a pair, or that of each class."""
    if ranker.classes:
        return ", ".join(f"{name} {value:.2f}" for name, value in zip(ranker.classes, score.flatten().tolist(), strict=True))
    return f"score {score.item():.4f}"


def _pairs(ranker: Ranker, options: argparse.Namespace) -> list[Pair]:
    """The pair of texts in the options, or pairs of the run's own data.

    Raises:
        ConfigError: there is an answer without a question; or as `pairs_of`.
    """
    if options.answer is None:
        questions = [] if options.question is None else [options.question]
        found = pairs_of(options.run, data_of(options.run, options.data).read_by(ranker.scorer.subwords), questions, options.pairs)
        return [Pair(f"{pair.name}, ", pair.question, pair.answer) for pair in found]
    if options.question is None:
        raise ConfigError("--answer is drawn beside a question; give its text with --question")
    return [Pair("", *ranker.words(options.question, options.answer))]


def _chosen(placed: Sequence[Heat], options: argparse.Namespace) -> list[Heat]:
    """The heats that `--show` names.

    Raises:
        ConfigError: there is nothing to draw, or no heat of this name.
    """
    if not placed:
        raise ConfigError(
            f"{options.run} shows nothing over words: its model has no attention, gates or grid; name a run of one that has, such as "
            "ap_cnn, ggsa or tc_lstm"
        )
    names = list(dict.fromkeys(heat.name for heat in placed))
    if unknown := [name for name in options.show or () if name not in names]:
        raise ConfigError(f"{options.run} shows no {unknown[0]}, but {', '.join(names)}; choose from these with --show, or another model")
    return [heat for heat in placed if not options.show or heat.name in options.show]
