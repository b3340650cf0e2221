"""A report for each table of the papers: what it prints, what we measured, and the runs behind it."""

from collections.abc import Sequence

import pandas as pd
import wandb_workspaces.expr as expr
import wandb_workspaces.reports.v2 as wr
from wandb_workspaces.reports.v2.interface import Report, Runset

from qaexp.reproduction.dashboard import Measurement, ReportedTable, run_lines
from qaexp.runs.record import RunRecord
from qaexp.runs.table import markdown
from qaexp.tracking.dashboard.panels import bars, curve, laid_out, pictures, table

ROW = "labels.row"


def report(paper_table: ReportedTable, ours: pd.DataFrame | None, records: Sequence[RunRecord], entity: str, project: str) -> Report:
    """Its tables need no run online: they are from the table's file, from `results/`, and from the records of finished runs.

    The panels show the runs of the table's group, setting by setting.
    """
    shown = paper_table
    blocks = [wr.H2("As printed"), wr.MarkdownBlock(markdown(shown.printed))]
    if ours is not None:
        blocks += [wr.H2("Ours beside it"), wr.MarkdownBlock(markdown(ours))]
    runs = run_lines(shown, records)
    if len(runs):
        blocks += [wr.H2("Finished runs"), wr.MarkdownBlock(markdown(runs))]
    for measurement in shown.measurements:
        blocks += [wr.H2(f"Runs: {measurement.title}"), _grid(shown, measurement, project)]
    return Report(
        project=project, entity=entity, title=shown.source, description=shown.caption or shown.group, blocks=blocks, width="fluid"
    )


def _grid(shown: ReportedTable, measurement: Measurement, project: str) -> wr.PanelGrid:
    splits = dict.fromkeys(metric.partition("/")[0] for metric in measurement.metrics)
    dev = dict.fromkeys(f"dev/{metric.partition('/')[2]}" for metric in measurement.metrics)
    panels = [
        *(bars(metric, ROW) for metric in measurement.metrics),
        *(curve(metric, ROW) for metric in dev),
        curve("train/loss", ROW),
        curve("speed/tokens_per_second", ROW),
        pictures(),
        *(table(f"hardest/{split}") for split in splits),
        wr.RunComparer(diff_only="split"),
    ]
    runs = Runset(
        name=measurement.title,
        filters=expr.And(expr.Metric("Group") == shown.group, expr.Tags().isin(list(measurement.datasets))),
        groupby=[f"config.{ROW}"],
    )
    return wr.PanelGrid(runsets=[runs], panels=laid_out(panels, columns=2))
