"""What figures of runs say beside their points: which data, how many seeds, what repeats them."""

from textwrap import fill

from matplotlib.figure import Figure

from qaexp.tables.build import Measured
from qaexp.tables.state import CellState

CHARACTERS = 14
"""Of text in an inch."""


def about(state: CellState) -> dict[str, str]:
    """The last columns of a figure's data."""
    return {
        "seeds": str(len(state.entries)),
        "data": state.cell.dataset,
        "status": state.status,
        "command": f"python -m qaexp {' '.join(state.cell.overrides)}",
    }


def foot(figure: Figure, measured: Measured, more: str = "") -> None:
    """Write below a picture on which data it was measured, of how many seeds each point is a mean, and what else must be known."""
    states = [state for state in measured.states.values() if state.entries]
    data = dict.fromkeys(f"{state.cell.dataset} ({state.status})" for state in states)
    seeds = sorted({len(state.entries) for state in states})
    several = f"{'–'.join(str(number) for number in dict.fromkeys([seeds[0], seeds[-1]]))} seed{'s' if seeds[-1] > 1 else ''}"
    line = f"{'; '.join(data)}, {several}{more}"
    figure.supxlabel(fill(line, int(CHARACTERS * figure.get_figwidth())), fontsize="medium")


def machine(state: CellState) -> str:
    """Where its runs were timed; several where they differ."""
    return "; ".join(dict.fromkeys(entry.machine for entry in state.entries))
