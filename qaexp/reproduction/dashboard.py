"""What a report says of a paper's table: its file in `experiments/`, our numbers in `results/`, and the finished runs made for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from qaexp.errors import QaexpError
from qaexp.reproduction.spec import Table, as_printed, content_of, result_tables
from qaexp.runs.record import RunRecord
from qaexp.runs.table import read_records


@dataclass(frozen=True)
class Measurement:
    """Runs whose numbers can be put beside each other: one setting of a table."""

    title: str
    datasets: Sequence[str]
    metrics: Sequence[str]
    """As in a run's summary: `test/map`."""


@dataclass(frozen=True)
class ReportedTable:
    """Any table of a paper. `printed` has a line a row; only tables of results have measurements."""

    paper: str
    name: str
    source: str
    caption: str
    printed: pd.DataFrame
    measurements: Sequence[Measurement] = ()

    @property
    def group(self) -> str:
        """Of the W&B runs that were made for it."""
        return f"{self.paper}/{self.name}"


def paper_tables(experiments: Path) -> list[ReportedTable]:
    """Every `<paper>/table<N>.yaml`, whatever its kind.

    Raises:
        ConfigError: a file is not what its kind promises.
    """
    with_results = {(table.paper, table.name): table for table in result_tables(experiments)}
    found = []
    for path in sorted(experiments.glob("*/table*.yaml"), key=lambda path: (path.parent.name, int(path.stem.removeprefix("table")))):
        if table := with_results.get((path.parent.name, path.stem)):
            decimals = [table.decimals_of(column) for column in table.columns.values()]
            lines = [[row.label, *map(as_printed, row.published, decimals)] for row in table.rows]
            printed = pd.DataFrame(lines, columns=[table.label, *table.columns])
            found.append(ReportedTable(table.paper, table.name, table.source, table.caption, printed, _measurements(table)))
        else:
            content = content_of(path)
            lines = [[row["label"], *(as_printed(value, None) for value in row["published"])] for row in content["rows"]]
            printed = pd.DataFrame(lines, columns=[content.get("label", ""), *map(str, content["columns"])])
            found.append(ReportedTable(path.parent.name, path.stem, content["source"], content.get("caption", ""), printed))
    return found


def _measurements(table: Table) -> list[Measurement]:
    """The settings for which a column is printed that a run's summary has, on whichever of their data sets."""
    found = []
    for name, setting in table.settings.items():
        rows = [row for row in table.rows if name in table.settings_of(row)]
        datasets = dict.fromkeys([*setting.datasets, *(dataset for row in rows for dataset in row.datasets)])
        metrics = dict.fromkeys(
            metric
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
    """The table as `results/<paper>/table<N>.csv` has it, beside the printed numbers; None where it was not made yet."""
    path = results / table.paper / f"{table.name}.csv"
    return pd.read_csv(path, dtype=str, keep_default_na=False).drop(columns="command", errors="ignore") if path.is_file() else None


def finished_runs(runs: Path) -> list[RunRecord]:
    """All of them, oldest first; none where there is no such folder."""
    try:
        return read_records(runs)
    except QaexpError:
        return []


def run_lines(table: ReportedTable, records: Sequence[RunRecord]) -> pd.DataFrame:
    """A line for each finished run that was made for a table: what it measured in percent, and what repeats it."""
    metrics = list(dict.fromkeys(metric for measurement in table.measurements for metric in measurement.metrics))
    lines = []
    for record in records:
        labels = record.config.get("labels", {})
        if (labels.get("paper"), labels.get("table")) == (table.paper, table.name):
            values = [record.metrics.get(split, {}).get(name) for split, _, name in (metric.partition("/") for metric in metrics)]
            lines.append(
                {
                    "row": labels["row"],
                    "data set": record.data["name"] + (" (partial data)" if record.data["partial"] else ""),
                    "seed": record.seed,
                    **{m: "" if value is None else f"{100 * value:.2f}" for m, value in zip(metrics, values, strict=True)},
                    "best epoch": "" if record.best_epoch is None else record.best_epoch,
                    "seconds": round(record.seconds["total"]),
                    "commit": record.commit[:7],
                    "data": record.data["fingerprint"][:7],
                }
            )
    return pd.DataFrame(lines)
