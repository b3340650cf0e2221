"""From the files in `experiments/<paper>/` to tables, figures and tunings, with everything checked that a file can have wrong."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from qaexp.config import choices
from qaexp.errors import ConfigError, meant
from qaexp.reproduction.ledger import PARAMETERS, SECONDS
from qaexp.reproduction.like import completed
from qaexp.reproduction.paper_table import EXPERIMENTS, FAULTS, content_of, fault_in, filled, name_of
from qaexp.reproduction.spec import TUNING, UNPRINTED, Column, Figure, Row, Setting, Table, Tuning
from qaexp.runs.table import MEASURES

KIND = "results"
KINDS = (KIND, "configuration", "statistics")
"""Of tables: with runs, of settings, and of what data sets hold."""
OF_A_RUN = (PARAMETERS, f"{SECONDS} batch", f"{SECONDS} epoch")

Kind = TypeVar("Kind", bound=Table)


def result_tables(folder: Path = EXPERIMENTS) -> list[Table]:
    """Every paper's tables of results, by paper and number.

    Raises:
        ConfigError: naming the file and what is wrong in it.
    """
    found = [(path, content_of(path)) for path in folder.glob("*/table*.yaml")]
    return _by_number([_read(path, content, Table, "a table of results") for path, content in found if _kind(path, content) == KIND])


def result_figures(folder: Path = EXPERIMENTS) -> list[Figure]:
    """Every paper's figures of runs, by paper and number.

    Raises:
        ConfigError: naming the file and what is wrong in it.
    """
    return _by_number([_read(path, content_of(path), Figure, "a figure of runs") for path in folder.glob("*/figure*.yaml")])


def tunings(folder: Path = EXPERIMENTS) -> list[Tuning]:
    """Every paper's `tuning_<data>.yaml`, by paper.

    Raises:
        ConfigError: naming the file and what is wrong in it.
    """
    return [_read(path, content_of(path), Tuning, "what a paper tuned") for path in sorted(folder.glob(f"*/{TUNING}_*.yaml"))]


def _kind(path: Path, content: dict[str, Any]) -> str:
    """Taken out of a table's content; a table is one of results where it does not say."""
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: it holds no options, such as columns: and rows:")
    if (kind := content.pop("kind", KIND)) not in KINDS:
        raise ConfigError(f"{path}: there is no kind {kind!r}; {meant(str(kind), KINDS)}")
    return kind


def _by_number(found: Sequence[Kind]) -> list[Kind]:
    for table in found:
        if not table.number.isdecimal():
            raise ConfigError(
                f"experiments/{table.paper}/{table.name}.yaml: a file of a table or figure is named by its number, as table1.yaml"
            )
    return sorted(found, key=lambda table: (table.paper, int(table.number)))


def _read(path: Path, content: dict[str, Any], kind: type[Kind], named: str) -> Kind:
    try:
        content = completed(path, content)
        table = _filled(kind, {**name_of(path), **(_spread(content) if kind is Tuning else content)})
    except FAULTS as error:
        raise ConfigError(f"{path}: it is not {named}: {fault_in(error)}") from error
    if fault := _fault_of(table):
        raise ConfigError(f"{path}: {fault}")
    return table


def _spread(content: Mapping[str, Any]) -> dict[str, Any]:
    """A tuning's `values`, which are columns and settings in one, of the same `metric`, `datasets` and `vectors`."""
    content = dict(content)
    values, metric = content.pop("values"), content.pop("metric")
    data = {"datasets": content.pop("datasets"), "vectors": content.pop("vectors", ())}
    settings = {name: {**data, "overrides": overrides} for name, overrides in values.items()}
    return {**content, "settings": settings, "columns": {name: {"metric": metric, "setting": str(name)} for name in values}}


def _filled(kind: type[Kind], content: Mapping[str, Any]) -> Kind:
    _require_lists(content)
    settings = {str(name): filled(Setting, setting) for name, setting in content["settings"].items()}
    columns = {str(name): filled(Column, column) for name, column in content["columns"].items()}
    rows = [filled(Row, {"published": [UNPRINTED] * len(columns), **row, "label": str(row["label"])}) for row in content["rows"]]
    return filled(kind, {**content, "settings": settings, "columns": columns, "rows": rows})


def _require_lists(content: Mapping[str, Any]) -> None:
    """Raises: ConfigError, where a single value stands in place of a list."""
    such = {"seeds": "[1, 2, 3]", "notes": '["as in our paper"]', "published": "[66.12]", "datasets": "[wikiqa]", "vectors": "[glove300]"}
    holders = [("", content), *((f"row {row['label']!r}: ", row) for row in content["rows"])]
    holders += [(f"setting {name!r}: ", each) for name, each in content["settings"].items()]
    options = ("seeds", "common", "quick", "notes", "overrides", "published", "datasets", "vectors")
    listed = [(f"{where}{name}", holder.get(name), such.get(name, "[model=ggsa]")) for where, holder in holders for name in options]
    for what, value, example in listed:
        if value is not None and not isinstance(value, list):
            raise ConfigError(f"{what}: {value!r} is not a list, such as {example}")


def _fault_of(table: Table) -> str:
    """What it names that does not exist, or what its rows lack; empty where all is well."""
    rows, columns = table.rows, table.columns.values()
    if not table.settings or not all(setting.datasets for setting in table.settings.values()):
        return "each of its settings names a data set or several, as in datasets: [wikiqa]"
    for name in {column.setting for column in columns} | {row.setting for row in rows} | {name for row in rows for name in row.in_setting}:
        if name and name not in table.settings:
            return f"there is no setting {name!r}; settings: {', '.join(table.settings)}"
    for group, option in (("dataset", "datasets"), ("dataset/vectors", "vectors")):
        there = choices(group)
        for name in {name for where in (*table.settings.values(), *rows) for name in getattr(where, option)}:
            if name not in there:
                return f"there is no {group}={name}; {meant(name, there)}"
    for metric in {each for column in columns for each in (column.metric, *column.metric_on.values()) if each is not None}:
        if not _is_metric(metric):
            return f"there is no metric {metric!r}; there are {', '.join(MEASURES)} of a split, as in test/map, or {', '.join(OF_A_RUN)}"
    if not rows:
        return "it has no rows"
    if any(type(seed) is not int for seed in table.seeds) or len(set(table.seeds)) < len(table.seeds):
        return f"seeds: {list(table.seeds)} are not whole numbers, each once, such as [1, 2, 3]"
    for where, options in _overrides_in(table):
        if faulty := [option for option in options if "=" not in str(option)]:
            return f"{where}: {faulty[0]!r} is no option, such as model=ggsa"
    for row in rows:
        if len(row.published) != len(columns):
            return f"row {row.label!r} has {len(row.published)} printed numbers for {len(columns)} columns"
        if row.overrides is None and set(row.published) == {UNPRINTED}:
            return f"row {row.label!r} has neither overrides nor printed numbers"
    labels = [row.label for row in rows]
    twice = sorted(label for label in labels if labels.count(label) > 1)
    return f"two rows are called {twice[0]!r}; a claim could not tell them apart" if twice else ""


def _overrides_in(table: Table) -> Iterator[tuple[str, Sequence[str]]]:
    """Where options stand, and which."""
    yield from (("common", table.common), ("quick", table.quick))
    yield from ((f"setting {name!r}", setting.overrides) for name, setting in table.settings.items())
    for row in table.rows:
        yield f"row {row.label!r}", [*(row.overrides or ()), *(option for options in row.in_setting.values() for option in options)]


def _is_metric(name: str) -> bool:
    split, _, metric = name.rpartition("/")
    return name in OF_A_RUN or (bool(split) and metric in MEASURES)
