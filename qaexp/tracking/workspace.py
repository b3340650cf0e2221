"""The project's W&B workspace, and the panels that reports share with it. Needs wandb-workspaces, the extra `dashboard`."""

from collections.abc import Sequence
from typing import Any

import wandb_workspaces.expr as expr
import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.workspaces as ws
from wandb_workspaces.reports.v2.interface import Layout

NAME = "Papers' tables"
VIEW = "nw-qaexp-v"
"""The view's name at W&B. It stays the same, so that building it again replaces it. Its address ends in `?nw=qaexp`."""

# names that runs log (`qaexp.training.callbacks`, `qaexp.tracking.logger`, `qaexp.explain.log_heat_maps`)
EPOCH = "epoch"
DEV = ("dev/map", "dev/mrr", "dev/p@1", "dev/p@5", "dev/accuracy")
FINAL = ("test/map", "test/mrr", "test/p@1", "test1/p@1", "test2/p@1", "test/accuracy")
TRAINING = ("train/learning_rate", "train/gradient_norm", "train/gradient_norm_max")
SPEED = ("speed/examples_per_second", "speed/tokens_per_second")
HEAT_MAPS = ("heat maps/1", "heat maps/2", "heat maps/3")
PINNED = ("summary:test/map", "summary:test/mrr", "summary:test/p@1", "summary:dev/map", "summary:best_epoch", "run:tags")


def workspace(entity: str, project: str) -> ws.Workspace:
    """Results, learning curves, training, speed and the hardest questions. Runs are grouped by table, then by row; runs without a table
    by model."""
    sections = [
        ws.Section("Results", [bars(metric) for metric in FINAL], is_open=True),
        ws.Section("Learning", [curve("train/loss"), *map(curve, DEV)], is_open=True),
        ws.Section("Training", [curve(metric, log_y="norm" in metric) for metric in TRAINING]),
        ws.Section("Speed", [curve(metric) for metric in SPEED]),
        ws.Section("Hardest questions", [pictures(), *(logged_table(f"hardest/{split}") for split in ("dev", "test", "test1", "test2"))]),
        ws.Section("Each question", [logged_table(f"questions/{split}") for split in ("dev", "test", "test1", "test2")]),
    ]
    built = ws.Workspace(
        entity=entity,
        project=project,
        name=NAME,
        sections=sections,
        settings=ws.WorkspaceSettings(x_axis=EPOCH, max_runs=50, tooltip_number_of_runs="all_runs"),
        runset_settings=ws.RunsetSettings(
            groupby=[expr.Metric("Group"), expr.Config("labels.row"), expr.Config("choices.model")], pinned_columns=list(PINNED)
        ),
    )
    built._internal_name = VIEW
    return built


def curve(metric: str, group_by: str | None = None, log_y: bool = False) -> wr.LinePlot:
    """A metric by epoch: a line for each run, or the mean and deviation of a group."""
    return wr.LinePlot(title=metric, x=EPOCH, y=[metric], title_x=EPOCH, log_y=log_y or None, **_grouped(group_by))


def bars(metric: str, group_by: str | None = None) -> wr.BarPlot:
    """A final metric: a bar for each run, or the mean and deviation of a group."""
    return wr.BarPlot(title=metric, metrics=[metric], max_bars_to_show=40, **_grouped(group_by))


def _grouped(group_by: str | None) -> Any:
    """Groups the runs that have the same value of this option."""
    return {"groupby": wr.Config(group_by), "groupby_aggfunc": "mean", "groupby_rangefunc": "stddev"} if group_by else {}


def pictures() -> wr.MediaBrowser:
    return wr.MediaBrowser(title="heat maps of the hardest questions", media_keys=list(HEAT_MAPS), num_columns=1)


def logged_table(name: str) -> wr.WeavePanelSummaryTable:
    """A table that runs logged: `questions/test`, `hardest/dev`."""
    return wr.WeavePanelSummaryTable(table_name=name)


def laid_out(panels: Sequence[Any], columns: int) -> list[Any]:
    """The panels in this many columns, over the 24 units of a report's width."""
    width, height = 24 // columns, 8
    for number, panel in enumerate(panels):
        panel.layout = Layout(x=number % columns * width, y=number // columns * height, w=width, h=height)
    return list(panels)
