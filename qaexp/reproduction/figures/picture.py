"""Figures of a table file's runs: what `draw:` in `experiments/` names, the columns and footer that all share, and their files."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any, Protocol, runtime_checkable

import pandas as pd
from hydra.utils import instantiate
from matplotlib.figure import Figure as Drawn

from qaexp.errors import ConfigError, first_line
from qaexp.explain.drawing import FILE_KINDS, look, save
from qaexp.explain.names import data_set_in_words
from qaexp.reproduction.ledger import Ledger
from qaexp.reproduction.measured import CellState, Measured
from qaexp.reproduction.spec import Figure

CHARACTERS_PER_INCH = 14

MIN_SEEDS = 3
"""The fewest seeds with which a point has an interval. With two seeds, it would be ±12.7 standard errors and hide everything else."""


@runtime_checkable
class Picture(Protocol):
    """The class that `draw:` of a figure's file names. Its constructor takes the other options of `draw:`."""

    def frame(self, measured: Measured, ledger: Ledger) -> pd.DataFrame:
        """The data of the picture, a line for each point, in the paper's unit; empty if nothing was measured."""
        ...

    def draw(self, measured: Measured, frame: pd.DataFrame) -> Drawn:
        """The picture. It is called within `look()`."""
        ...


def picture_of(figure: Figure) -> Picture:
    """Instantiates `draw:` of a figure's file.

    Raises:
        ConfigError: `draw:` names no picture, or an option is missing; names the file.
    """
    place = f"experiments/{figure.paper}/{figure.name}.yaml"
    try:
        picture = instantiate(dict(figure.draw), _convert_="all")
    except Exception as error:
        raise ConfigError(f"{place}: `draw:` does not make a picture: {first_line(error.__cause__ or error)}") from error
    if not isinstance(picture, Picture):
        raise ConfigError(f"{place}: `draw:` does not make a picture; give it the `_target_` of one")
    return picture


def write_figure(measured: Measured, ledger: Ledger, folder: Path) -> Sequence[Path]:
    """Write `figure<N>.png`, `.svg` and `.csv`. If nothing was measured, write none and delete old ones.

    Raises:
        OutputError: the folder cannot be written.
        ConfigError: as `picture_of`.
    """
    figure = measured.table
    assert isinstance(figure, Figure)
    picture = picture_of(figure)
    frame = picture.frame(measured, ledger)
    if not len(frame):
        for kind in FILE_KINDS:
            (folder / f"{figure.name}.{kind}").unlink(missing_ok=True)
        return []
    with look():
        drawn = picture.draw(measured, frame)
    return save(drawn, frame, folder, figure.name)


def run_columns(state: CellState) -> dict[str, str]:
    """The last columns of a figure's data: the number of seeds, the data, the status and the command of a point's runs."""
    return {
        "seeds": str(len(state.entries)),
        "data": state.cell.dataset,
        "status": state.status,
        "command": state.cell.command,
    }


def drawn_intervals(halves: Iterable[Any], seeds: Iterable[Any]) -> list[float] | None:
    """The halves of the intervals to draw, NaN for points of too few seeds; None if none is drawn, so that the legend shows none.

    >>> drawn_intervals([12.7, 2.5], ["2", "3"])
    [nan, 2.5]
    """
    drawn = [float(half) if int(number) >= MIN_SEEDS else math.nan for half, number in zip(halves, seeds, strict=True)]
    return None if all(map(math.isnan, drawn)) else drawn


def write_footer(figure: Drawn, measured: Measured, more: str = "", intervals: bool = False) -> None:
    """Write below a picture: its data, the number of seeds of its points, whether points have `intervals`, and the text `more`."""
    states = [state for state in measured.states.values() if state.entries]
    data = [f"{data_set_in_words(state.cell.dataset)} ({state.status})" for state in states]
    write_footer_line(figure, data, [len(state.entries) for state in states], "95% intervals" if intervals else "", more)


def write_footer_line(figure: Drawn, data: Iterable[str], seeds: Iterable[int], bars: str, more: str = "") -> None:
    """As `write_footer`, given the data and the number of seeds of each point; `bars` names their error bars, if there are any."""
    numbers = sorted(seeds)
    several = f"{'–'.join(str(number) for number in dict.fromkeys([numbers[0], numbers[-1]]))} seed{'s' if numbers[-1] > 1 else ''}"
    which = f"; {bars} of {MIN_SEEDS} seeds or more" if bars and numbers[-1] > 1 else ""
    line = f"{'; '.join(dict.fromkeys(data))}, {several}{which}{more}"
    figure.supxlabel(fill(line, int(CHARACTERS_PER_INCH * figure.get_figwidth())), fontsize="medium")
