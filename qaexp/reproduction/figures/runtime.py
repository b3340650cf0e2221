"""Figure 3 of Tay et al. 2018: seconds per training epoch of each model."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from qaexp.errors import ConfigError
from qaexp.explain.drawing import COLOURS, INK, new_figure
from qaexp.reproduction.figures.picture import drawn_intervals, run_columns, write_footer
from qaexp.reproduction.ledger import Ledger
from qaexp.reproduction.measured import CellState, Measured


class Runtime:
    """A bar for each row of the figure's one column, the shortest first.

    Seconds depend on the machine, so the data also have ratios: the seconds of a row over those of another row on the same machine.
    `against` maps each such other row to the ratios that the paper states, by row.
    """

    def __init__(self, against: Mapping[str, Mapping[str, float]]) -> None:
        self.against = against

    def frame(self, measured: Measured, ledger: Ledger) -> pd.DataFrame:
        table = measured.table
        [(name, column)] = table.columns.items()
        states = {row.label: state for row in table.rows if (state := measured.state_in(row.label, name))}
        if unknown := [label for label in self.against if label not in states]:
            raise ConfigError(f"{table.title} has no row {unknown[0]!r} to compare with; rows: {', '.join(states)}")
        if not any(state.entries for state in states.values()):
            return pd.DataFrame()
        seconds = {label: state.interval(column) for label, state in states.items()}
        machines = {label: _machines(state) for label, state in states.items()}
        lines = []
        for label, state in states.items():
            ours = seconds[label]
            line = {table.label: label, name: ours and round(ours.mean, 3), f"{name} ci95": ours and round(ours.half, 3)}
            for other, printed in self.against.items():
                theirs = seconds[other] if machines[label] == machines[other] else None
                line[f"times {other}"] = ours and theirs and round(ours.mean / theirs.mean, 3)
                line[f"times {other} (paper)"] = printed.get(label)
            lines.append({**line, "machine": machines[label], **run_columns(state)})
        return pd.DataFrame(lines)

    def draw(self, measured: Measured, frame: pd.DataFrame) -> Figure:
        table = measured.table
        [name] = table.columns
        first = f"times {next(iter(self.against))}"
        shown = frame.dropna(subset=[name]).sort_values(name)
        figure, [[axes]] = new_figure(width=5.4, height=0.36 * len(shown) + 1.1)
        lengths = axes.barh(shown[table.label], shown[name], height=0.6, color=COLOURS[0])
        intervals = drawn_intervals(shown[f"{name} ci95"], shown["seeds"])
        if intervals is not None:
            axes.errorbar(shown[name], shown[table.label], xerr=intervals, fmt="none", ecolor=INK)
        said = [
            f"{seconds:,.1f} s" + ("" if pd.isna(times) else f", {times:.1f} × {first.removeprefix('times ')}")
            for seconds, times in zip(shown[name], shown[first], strict=True)
        ]
        axes.bar_label(lengths, said, padding=6)
        axes.margins(x=0.45)
        axes.set_xlim(left=0)
        axes.invert_yaxis()
        axes.set_xlabel(name)
        places = ", ".join(dict.fromkeys(where for where in shown["machine"] if where))
        write_footer(figure, measured, f"; timed on {places}", intervals=True)
        return figure


def _machines(state: CellState) -> str:
    """The machines on which its runs were timed."""
    return "; ".join(dict.fromkeys(entry.machine for entry in state.timed))
