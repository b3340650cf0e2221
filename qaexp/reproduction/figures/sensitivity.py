"""Figure 8 of Xu et al. 2019: a metric against each hyper-parameter."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from omegaconf import OmegaConf

from qaexp.config import compose
from qaexp.errors import ConfigError
from qaexp.evaluation.measures import heading
from qaexp.explain.drawing import COLOURS, MARKERS, is_logarithmic, new_figure
from qaexp.reproduction.figures.picture import drawn_intervals, run_columns, write_footer
from qaexp.reproduction.ledger import Ledger
from qaexp.reproduction.measured import CellState, Measured
from qaexp.reproduction.spec import Row

PANEL, VALUE, COLUMN, OURS = "panel", "value", "column", "ours"


class Sensitivity:
    """A panel for each hyper-parameter, in it a line for each of the figure's columns.

    `panels` maps each hyper-parameter to its place in the configuration. A row that overrides this place is a point of the panel. The row
    `default` is a point of every panel, at the value in its composed configuration. The row `baseline` is a horizontal line in every panel.
    """

    def __init__(self, panels: Mapping[str, str], default: str, baseline: str) -> None:
        self.panels, self.default, self.baseline = panels, default, baseline

    def frame(self, measured: Measured, ledger: Ledger) -> pd.DataFrame:
        if not any(state.entries for state in measured.states.values()):
            return pd.DataFrame()
        table = measured.table
        labels = [row.label for row in table.rows]
        if unknown := [label for label in (self.default, self.baseline) if label not in labels]:
            raise ConfigError(f"{table.title} has no row {unknown[0]!r}; rows: {', '.join(labels)}")
        lines = list[dict[str, Any]]()
        for panel, place in self.panels.items():
            points = [point for row in table.rows if self._shows(row, place) for point in self._points(measured, panel, place, row)]
            lines += sorted(points, key=lambda point: (point[COLUMN] != next(iter(table.columns)), point[COLUMN], point[VALUE] or 0))
        return pd.DataFrame(lines)

    def _shows(self, row: Row, place: str) -> bool:
        return row.label in (self.default, self.baseline) or any(o.startswith(f"{place}=") for o in row.overrides or ())

    def _points(self, measured: Measured, panel: str, place: str, row: Row) -> Iterator[dict[str, Any]]:
        for (name, column), printed in zip(measured.table.columns.items(), row.published, strict=True):
            state = measured.state_in(row.label, name)
            if state is None:
                continue
            ours = state.interval(column)
            yield {
                PANEL: panel,
                VALUE: None if row.label == self.baseline else _value(state, place),
                measured.table.label: row.label,
                COLUMN: name,
                "split": (measured.table.metric_of(column, state.cell.dataset) or "").partition("/")[0],
                OURS: ours and round(ours.mean, 4),
                "ci95": ours and round(ours.half, 4),
                "paper": printed or None,
                **run_columns(state),
            }

    def draw(self, measured: Measured, frame: pd.DataFrame) -> Figure:
        figure, [row] = new_figure(width=6.4, height=3.1, columns=len(self.panels), sharey=True)
        panels = dict(iter(frame.dropna(subset=[OURS]).groupby(PANEL)))
        for axes, panel in zip(row, self.panels, strict=True):
            if panel in panels:
                self._panel(axes, panels[panel])
            axes.set_xlabel(panel)
        metrics = dict.fromkeys(heading((column.metric or "").rpartition("/")[2]) for column in measured.table.columns.values())
        row[0].set_ylabel(f"{' and '.join(metrics)}, percent")
        handles = {label: handle for axes in row for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
        figure.legend(handles.values(), handles, loc="outside upper center", ncols=2)
        write_footer(figure, measured, intervals=True)
        return figure

    def _panel(self, axes: Axes, points: pd.DataFrame) -> None:
        """A numeric axis, logarithmic if that spreads the values more evenly. A point of one seed has no interval and is a cross."""
        values = sorted(points[VALUE].dropna().unique())
        if values and is_logarithmic(values):
            axes.set_xscale("log")
        for (_, of_column), colour, marker in zip(points.groupby(COLUMN), COLOURS, MARKERS, strict=False):
            label = " and ".join(dict.fromkeys(of_column["split"]))
            line = of_column.dropna(subset=[VALUE])
            axes.plot(line[VALUE], line[OURS], color=colour, zorder=1)
            alone = line["ci95"].isna()
            several = line[~alone]
            style: Any = {"color": colour, "linestyle": "none"}
            intervals = drawn_intervals(several["ci95"], several["seeds"])
            axes.errorbar(several[VALUE], several[OURS], intervals, marker=marker, label=f"{self.default}, {label}", **style)
            if len(several) < len(line):
                axes.plot(line[VALUE][alone], line[OURS][alone], marker="x", label=f"{self.default}, {label}, one seed", **style)
            for height in of_column.drop(line.index)[OURS]:
                axes.axhline(height, color=colour, linestyle="--", linewidth=1.0, label=f"{self.baseline}, {label}")
        axes.set_xticks(values, [f"{value:g}" for value in values])
        axes.minorticks_off()
        axes.margins(x=0.1)


def _value(state: CellState, place: str) -> float:
    """The value at a place of a row's configuration. Most rows override it; composing the others takes a tenth of a second each."""
    overridden = dict(override.split("=", 1) for override in state.cell.overrides)
    return float(overridden[place] if place in overridden else OmegaConf.select(compose(state.cell.overrides), place))
