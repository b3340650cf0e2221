"""Makes one table of many records: a row for each configuration, mean ± deviation over its seeds."""

import logging
import re
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pandas as pd

from qaexp.config import join_options, split_options, without_keys
from qaexp.errors import ConfigError, QaexpError, meant
from qaexp.evaluation.conventions import METRICS
from qaexp.evaluation.measures import heading, is_measure
from qaexp.runs.folder import RECORD
from qaexp.runs.identity import config_key, measured_options
from qaexp.runs.other_runs import OTHER_RUNS, other_runs, with_other_runs
from qaexp.runs.record import RunRecord, records_below

log = logging.getLogger(__name__)


def read_records(folder: Path) -> list[RunRecord]:
    """All finished runs below a folder, oldest first.

    Raises:
        QaexpError: there is none.
    """
    records = [record for run, record in records_below(folder) if record.status == "finished" and _can_be_shown(record, run)]
    if not records:
        raise QaexpError(f"{folder} holds no finished run; `qaexp` makes one")
    return sorted(records, key=lambda record: record.started)


def _can_be_shown(record: RunRecord, run: Path) -> bool:
    try:
        for split in record.metrics:
            _line(record, split, [])
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        fault = f"has no {error}" if isinstance(error, KeyError) else f"is damaged ({error})"
        log.warning("left out: %s %s; delete its folder, then repeat the command that made it", run / RECORD, fault)
        return False
    return True


def row_name(record: RunRecord) -> str:
    """The command that makes the row, without seed and folders. The path of another run is replaced by the command of that run."""
    named = [f"{option}=({_lasting(run['command'])})" for option, run in other_runs(record.config).items()]
    return " ".join([_lasting(record.command), *named]).strip()


def _lasting(command: str) -> str:
    options = without_keys(measured_options(split_options(command)), ["seed"])
    return join_options([option for option in options if option.lstrip("+").partition("=")[0] not in OTHER_RUNS])


def run_table(records: Sequence[RunRecord], split: str) -> pd.DataFrame:
    """One line for each run that has the split: its options, seed, metrics in [0, 1], epochs and seconds.

    Raises:
        ConfigError: no run has it.
    """
    if records and not any(split in record.metrics for record in records):
        splits = dict.fromkeys(name for record in records for name in record.metrics)
        raise ConfigError(f"--split {split}: no run has it; {meant(split, splits)}")
    measured = measured_by(records, split)
    lines = [_line(record, split, measured) for record in records if split in record.metrics]
    return pd.DataFrame(lines).drop_duplicates(["key", "data"], keep="last")


def _line(record: RunRecord, split: str, measured: Sequence[str]) -> dict[str, Any]:
    return {
        "dataset": record.dataset_title + _look(record),
        "model": record.config["choices"]["model"],
        "options": row_name(record),
        "seed": record.seed,
        **{metric: record.metrics[split].get(metric) for metric in measured},
        **({} if split == "dev" else _chosen_by(record)),
        "questions": record.metrics[split].get("questions", record.metrics[split].get("pairs")),
        "best epoch": record.best_epoch,
        "epochs": len(record.history),
        "seconds": record.seconds["total"],
        "convention": record.convention,
        "vectors": record.vectors,
        "commit": record.commit,
        "key": config_key(record.config),
        "data": record.data["fingerprint"][:8],
        "configuration": _configuration(record),
    }


def _chosen_by(record: RunRecord) -> dict[str, float | None]:
    """The dev metric that chose the epoch."""
    split, _, name = record.selection_metric.partition("/")
    return {f"{split}/{name}": record.metrics[split].get(name)} if name and split in record.metrics else {}


def _look(record: RunRecord) -> str:
    """Marks a debug run, and a run of `reproduce --quick`, which trains on a few batches."""
    batches = (record.config.get("trainer") or {}).get("limit_train_batches")
    quick = f"quick: {batches} batches an epoch" if type(batches) is int else ""  # a share of them is a protocol of its own
    return f" ({record.debug or quick})" if record.debug or quick else ""


def measured_by(records: Sequence[RunRecord], split: str) -> list[str]:
    """All measures that any of the runs has of a split; the standard ones (`METRICS`) come first."""
    found = dict.fromkeys(metric for record in records for metric in record.metrics.get(split, {}) if is_measure(metric))
    return sorted(found, key=lambda metric: metric not in METRICS)


def by_row(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean and deviation over the seeds of each configuration, metrics in percent; its options are as the first run's command has them.

    `data` distinguishes files of the same name, and `configuration` what the same options meant before and after a change of conf/; both
    are left out if they distinguish nothing.
    """
    data, configuration = _several(runs, ["dataset"], "data"), _several(runs, ["dataset", "model", "options"], "configuration")
    named = ["dataset", *data, "model", "options", *configuration]
    columns = runs.columns.tolist()
    measured = columns[columns.index("seed") + 1 : columns.index("questions")]
    rows = []
    for _, group in runs.groupby(["dataset", "data", "configuration"], sort=False):
        row = {**group.iloc[0][named].to_dict(), "seeds": group["seed"].nunique()}
        row |= {_heading(metric): _percent(group[metric].dropna().tolist()) for metric in measured}
        rows.append({**row, "questions": group["questions"].iloc[0], "seconds": round(group["seconds"].mean())})
    return pd.DataFrame(rows)


def _heading(metric: str) -> str:
    """
    >>> _heading("map"), _heading("dev/map")
    ('MAP', 'dev MAP')
    """
    split, _, name = metric.rpartition("/")
    return f"{split} {heading(name)}".strip()


def _several(runs: pd.DataFrame, same: Sequence[str], column: str) -> list[str]:
    """The column, if it distinguishes rows that are otherwise the same."""
    return [column] if len(runs[[*same, column]].drop_duplicates()) > len(runs[[*same]].drop_duplicates()) else []


def _configuration(record: RunRecord) -> str:
    """A key that is the same for all seeds of a row.

    Each seed may have another teacher or another pre-trained run, so these are compared by their commands and not by their keys.
    """
    config, named = _seedless(record.config), other_runs(record.config)
    commands = {option: _lasting(run["command"]) for option, run in named.items()}
    return config_key({**with_other_runs(config, dict.fromkeys(named)), "other runs": commands} if named else config)[:8]


def _seedless(node: Any) -> Any:
    """
    >>> _seedless({"seed": 1, "dataset": {"seed": 1, "batch_size": 5}})
    {'dataset': {'batch_size': 5}}
    """
    return {name: _seedless(value) for name, value in node.items() if name != "seed"} if isinstance(node, dict) else node


def _percent(values: Sequence[int | float]) -> str:
    """
    >>> _percent([0.5]), _percent([0.5, 0.6]), _percent([])
    ('50.00', '55.00 ± 7.07', '')
    """
    if not values:
        return ""
    spread = f" ± {100 * stdev(values):.2f}" if len(values) > 1 else ""
    return f"{100 * mean(values):.2f}{spread}"


def markdown(table: pd.DataFrame) -> str:
    """A frame as a Markdown table.

    >>> print(markdown(pd.DataFrame({"model": ["ggsa"], "MAP": ["66.12"], "|θ|": ["400K"]})))
    | model | MAP | \\|θ\\| |
    |---|---|---|
    | ggsa | 66.12 | 400K |
    """
    lines = [table.columns, *table.itertuples(index=False)]
    rows = ["| " + " | ".join(_cell(str(value)) for value in line) + " |" for line in lines]
    return "\n".join([rows[0], "|" + "---|" * len(table.columns), *rows[1:]])


def _cell(text: str) -> str:
    """A text of one line that is shown as it is: it neither ends its cell nor begins HTML, emphasis or code.

    >>> print(_cell("a|b <img src=x>\\n2 < 3 *x* `y` _z_ num_filters"))
    a\\|b &lt;img src=x> 2 < 3 \\*x\\* \\`y\\` \\_z\\_ num_filters
    """
    text = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", " ".join(text.split()))
    return re.sub(r"[|*`~]|(?<!\w)_|_(?!\w)", r"\\\g<0>", text)
