"""A W&B report for each table of the papers: what is printed, what we measured, and the finished runs behind it.

Needs wandb-workspaces, the extra `dashboard`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import wandb_workspaces.expr as expr
import wandb_workspaces.reports.v2 as wr
from wandb_workspaces.reports.v2.interface import Report, Runset

from qaexp.errors import QaexpError
from qaexp.evaluation.measures import metric_key
from qaexp.reproduction.settings import configuration_tables
from qaexp.reproduction.spec import Table, as_printed, result_tables
from qaexp.reproduction.statistics import StatisticsTable
from qaexp.reproduction.statistics import tables as statistics_tables
from qaexp.runs.record import RunRecord
from qaexp.runs.table import markdown, read_records
from qaexp.tracking.workspace import bars, curve, laid_out, logged_table, pictures

ROW = "labels.row"


@dataclass(frozen=True)
class Measurement:
    """One setting of a table: runs whose numbers can be compared."""

    title: str
    datasets: Sequence[str]
    metrics: Sequence[str]
    """Names in a run's summary, such as `test/map`."""


@dataclass(frozen=True)
class ReportedTable:
    """A table of a paper, of any kind. `printed` has a line for each row. Only tables of results have measurements."""

    paper: str
    name: str
    source: str
    caption: str
    printed: pd.DataFrame
    measurements: Sequence[Measurement] = ()

    @property
    def group(self) -> str:
        """The group of its runs in W&B."""
        return f"{self.paper}/{self.name}"


def paper_tables(experiments: Path) -> list[ReportedTable]:
    """Every paper's tables of all kinds, by paper and number.

    Raises:
        ConfigError: a file does not fit its kind.
    """
    tables = [*result_tables(experiments), *configuration_tables(experiments), *statistics_tables(experiments)]
    found = []
    for table in sorted(tables, key=lambda table: (table.paper, table.number.zfill(2))):
        label, caption = ("", "") if isinstance(table, StatisticsTable) else (table.label, table.caption)
        decimals, measurements = [None] * len(table.columns), []
        if isinstance(table, Table):
            decimals, measurements = [table.decimals_of(column) for column in table.columns.values()], _measurements(table)
        lines = [[row.label, *map(as_printed, row.published, decimals)] for row in table.rows]
        printed = pd.DataFrame(lines, columns=[label, *map(str, table.columns)])
        found.append(ReportedTable(table.paper, table.name, table.source, caption, printed, measurements))
    return found


def _measurements(table: Table) -> list[Measurement]:
    """The settings with at least one column that a run's summary has, on any of their data sets."""
    found = []
    for name, setting in table.settings.items():
        rows = [row for row in table.rows if name in table.settings_of(row)]
        datasets = dict.fromkeys([*setting.datasets, *(dataset for row in rows for dataset in row.datasets)])
        metrics = dict.fromkeys(
            metric_key(metric)
            for row in rows
            for column in table.columns.values()
            if table.setting_of(row, column) == name
            for dataset in row.datasets or setting.datasets
            if (metric := table.metric_of(column, dataset)) and "/" in metric
        )
        if metrics:
            found.append(Measurement(name, list(datasets), list(metrics)))
    return found


def our_numbers(table: ReportedTable, results: Path) -> pd.DataFrame | None:
    """`results/<paper>/table<N>.csv`: our numbers beside the printed ones. None if it does not exist yet."""
    path = results / table.paper / f"{table.name}.csv"
    return (
        pd.read_csv(path, dtype=str, keep_default_na=False).drop(columns=["command", "records"], errors="ignore")
        if path.is_file()
        else None
    )


def finished_runs(runs: Path) -> list[RunRecord]:
    """All finished runs below a folder, oldest first; none if there is no such folder."""
    try:
        return read_records(runs)
    except QaexpError:
        return []


def run_lines(table: ReportedTable, records: Sequence[RunRecord]) -> pd.DataFrame:
    """A line for each finished run of a table: its metrics in percent, and its seed, commit and data."""
    metrics = list(dict.fromkeys(metric for measurement in table.measurements for metric in measurement.metrics))
    lines = []
    for record in records:
        labels = record.config.get("labels", {})
        if (labels.get("paper"), labels.get("table")) == (table.paper, table.name):
            values = [record.metrics.get(split, {}).get(name) for split, _, name in (metric.partition("/") for metric in metrics)]
            lines.append(
                {
                    "row": labels["row"],
                    "data set": record.dataset_title,
                    "seed": record.seed,
                    **{m: "" if value is None else f"{100 * value:.2f}" for m, value in zip(metrics, values, strict=True)},
                    "best epoch": "" if record.best_epoch is None else record.best_epoch,
                    "seconds": round(record.seconds["total"]),
                    "commit": record.commit[:7],
                    "data": record.data["fingerprint"][:7],
                }
            )
    return pd.DataFrame(lines)


def report(reported: ReportedTable, ours: pd.DataFrame | None, records: Sequence[RunRecord], entity: str, project: str) -> Report:
    """The report of one table. Its own tables need no run online: they come from the table's file, from `results/` and from records.

    The panels show the runs of the table's group, a grid for each setting.
    """
    blocks = [wr.H2("As printed"), wr.MarkdownBlock(markdown(reported.printed))]
    if ours is not None:
        blocks += [wr.H2("Ours beside it"), wr.MarkdownBlock(markdown(ours))]
    runs = run_lines(reported, records)
    if len(runs):
        blocks += [wr.H2("Finished runs"), wr.MarkdownBlock(markdown(runs))]
    for measurement in reported.measurements:
        blocks += [wr.H2(f"Runs: {measurement.title}"), _grid(reported, measurement)]
    return Report(
        project=project, entity=entity, title=reported.source, description=reported.caption or reported.group, blocks=blocks, width="fluid"
    )


def _grid(reported: ReportedTable, measurement: Measurement) -> wr.PanelGrid:
    splits = dict.fromkeys(metric.partition("/")[0] for metric in measurement.metrics)
    dev = dict.fromkeys(f"dev/{metric.partition('/')[2]}" for metric in measurement.metrics)
    panels = [
        *(bars(metric, ROW) for metric in measurement.metrics),
        *(curve(metric, ROW) for metric in dev),
        curve("train/loss", ROW),
        curve("speed/tokens_per_second", ROW),
        pictures(),
        *(logged_table(f"hardest/{split}") for split in splits),
        wr.RunComparer(diff_only="split"),
    ]
    runs = Runset(
        name=measurement.title,
        filters=expr.And(expr.Metric("Group") == reported.group, expr.Tags().isin(list(measurement.datasets))),
        groupby=[f"config.{ROW}"],
    )
    return wr.PanelGrid(runsets=[runs], panels=laid_out(panels, columns=2))
