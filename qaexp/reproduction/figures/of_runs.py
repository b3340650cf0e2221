"""What figures of runs say beside their points: which data, how many seeds, what repeats them."""

import math
from collections.abc import Iterable
from textwrap import fill
from typing import Any

from matplotlib.figure import Figure

from qaexp.reproduction.measured import CellState, Measured

CHARACTERS = 14
"""Of text in an inch."""

FEWEST = 3
"""Seeds of a point whose interval is drawn: one of two seeds, 12.7 standard errors to either side, would leave nothing else to be seen."""


def about(state: CellState) -> dict[str, str]:
    """The last columns of a figure's data."""
    return {
        "seeds": str(len(state.entries)),
        "data": state.cell.dataset,
        "status": state.status,
        "command": f"python -m qaexp {' '.join(state.cell.overrides)}",
    }


def bars(halves: Iterable[Any], seeds: Iterable[Any]) -> list[float] | None:
    """Of columns of a figure's data: the halves of intervals that are drawn; None where none is, so that no legend shows one.

    >>> bars([12.7, 2.5], ["2", "3"])
    [nan, 2.5]
    """
    drawn = [float(half) if int(number) >= FEWEST else math.nan for half, number in zip(halves, seeds, strict=True)]
    return None if all(map(math.isnan, drawn)) else drawn


def foot(figure: Figure, measured: Measured, more: str = "", intervals: bool = False) -> None:
    """Write below a picture on which data it was measured, of how many seeds each point is a mean, which of them have `intervals`, and
    what else must be known."""
    states = [state for state in measured.states.values() if state.entries]
    data = [f"{state.cell.dataset} ({state.status})" for state in states]
    write_foot(figure, data, [len(state.entries) for state in states], "95% intervals" if intervals else "", more)


def write_foot(figure: Figure, data: Iterable[str], seeds: Iterable[int], reaching: str, more: str = "") -> None:
    """The same of data and numbers of seeds; `reaching` is what stands to either side of points, if anything does."""
    numbers = sorted(seeds)
    several = f"{'–'.join(str(number) for number in dict.fromkeys([numbers[0], numbers[-1]]))} seed{'s' if numbers[-1] > 1 else ''}"
    which = f"; {reaching} of {FEWEST} seeds or more" if reaching and numbers[-1] > 1 else ""
    line = f"{'; '.join(dict.fromkeys(data))}, {several}{which}{more}"
    figure.supxlabel(fill(line, int(CHARACTERS * figure.get_figwidth())), fontsize="medium")


def machine(state: CellState) -> str:
    """Where its runs were timed; several where they differ."""
    return "; ".join(dict.fromkeys(entry.machine for entry in state.timed))
