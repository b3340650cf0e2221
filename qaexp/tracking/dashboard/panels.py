"""The panels that the workspace and the reports share. Names are those that runs log (`qaexp.training.epochs`, `.conclusion`)."""

from collections.abc import Sequence
from typing import Any

import wandb_workspaces.reports.v2 as wr
from wandb_workspaces.reports.v2.interface import Layout

EPOCH = "epoch"
DEV = ("dev/map", "dev/mrr", "dev/p@1", "dev/p@5", "dev/accuracy")
TRAINING = ("train/learning_rate", "train/gradient_norm", "train/gradient_norm_max")
SPEED = ("speed/examples_per_second", "speed/tokens_per_second")
HEAT_MAPS = ("heat maps/1", "heat maps/2", "heat maps/3")


def curve(metric: str, group_by: str | None = None, log_y: bool = False) -> wr.LinePlot:
    """A metric by epoch: a line a run, or the mean and deviation of a group."""
    return wr.LinePlot(title=metric, x=EPOCH, y=[metric], title_x=EPOCH, log_y=log_y or None, **_grouped(group_by))


def bars(metric: str, group_by: str | None = None) -> wr.BarPlot:
    """What runs measured in the end: a bar a run, or the mean and deviation of a group."""
    return wr.BarPlot(title=metric, metrics=[metric], max_bars_to_show=40, **_grouped(group_by))


def _grouped(group_by: str | None) -> Any:
    """Of the runs that have a configuration's value in common."""
    return {"groupby": wr.Config(group_by), "groupby_aggfunc": "mean", "groupby_rangefunc": "stddev"} if group_by else {}


def pictures() -> wr.MediaBrowser:
    return wr.MediaBrowser(title="heat maps of the hardest questions", media_keys=list(HEAT_MAPS), num_columns=1)


def table(name: str) -> wr.WeavePanelSummaryTable:
    """A table that runs logged: `questions/test`, `hardest/dev`."""
    return wr.WeavePanelSummaryTable(table_name=name)


def laid_out(panels: Sequence[Any], columns: int) -> list[Any]:
    """Beside and below each other, over the 24 units of a report's width."""
    width, height = 24 // columns, 8
    for number, panel in enumerate(panels):
        panel.layout = Layout(x=number % columns * width, y=number // columns * height, w=width, h=height)
    return list(panels)
