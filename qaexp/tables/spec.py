"""A paper's table of results as its file in `experiments/<paper>/` has it: columns, rows, printed numbers, and what each row runs.

So is a figure whose points are runs: a table and how it is drawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from qaexp.errors import ConfigError, meant
from qaexp.paper_table import EXPERIMENTS, FAULTS, PaperTable, content_of, fault_in, filled, name_of
from qaexp.results.ledger import PARAMETERS, SECONDS
from qaexp.results.table import MEASURES
from qaexp.tables.like import completed

KIND = "results"
KINDS = (KIND, "configuration", "statistics")
"""Of tables: with runs, of settings, and of what data sets hold."""
TUNING = "tuning"
"""What a tuning's file begins with, as in `tuning_trecqa.yaml`, and what stands in place of a number: `--table tuning`."""
TUNED = "what a paper tuned"
OF_A_RUN = (PARAMETERS, f"{SECONDS} batch", f"{SECONDS} epoch")
UNPRINTED = ""
"""In place of a printed number, where a row is run and the paper prints none."""

Printed = str | int | float | None


def as_printed(value: Printed, decimals: int | None) -> str:
    """A paper's number with its table's decimals, where these are known; blank where it prints none.

    >>> as_printed(68.1, 2), as_printed(65, 2), as_printed("1800x2", 2), as_printed(0.5, None), as_printed(None, 2)
    ('68.10', '65.00', '1800x2', '0.5', '')
    """
    if value is None:
        return ""
    return str(value) if isinstance(value, str) or decimals is None else f"{value:.{decimals}f}"


@dataclass(frozen=True)
class Setting:
    """What the cells of a column, or of a row, are run on."""

    datasets: Sequence[str]
    """Choices of `dataset=`. The first is the paper's; the first that is on disk is taken."""
    vectors: Sequence[str] = ()
    """Choices of `dataset/vectors=`, of which the first on disk is taken; none: what the data set's own YAML says."""
    paper_vectors: str = ""
    """The choice that the paper had, or, where no choice is that, a description of it; empty: vectors do not matter here."""
    overrides: Sequence[str] = ()


@dataclass(frozen=True)
class Column:
    """A column as printed. `metric` is `split/metric` of a record, `parameters`, `seconds per batch`, `seconds per epoch`, or null: only
    the paper's."""

    metric: str | None
    setting: str = ""
    """Empty: the row's, or the table's only one."""
    decimals: int | None = None
    scale: int | float | None = None
    unit: str = ""
    """What is printed behind a number, such as K."""
    metric_on: Mapping[str, str] = field(default_factory=dict)
    """Choice of `dataset=` to the metric there, where it has other splits than the paper's."""


@dataclass(frozen=True)
class Row:
    """A row as printed. Without `overrides` it is published only; otherwise these follow the table's common ones."""

    label: str
    published: Sequence[Printed]
    """A number a column. Left out of the file, none is printed, as in a table of your own."""
    overrides: Sequence[str] | None = None
    setting: str = ""
    in_setting: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Setting to what the row overrides there besides."""
    datasets: Sequence[str] = ()
    vectors: Sequence[str] = ()
    """In place of the setting's."""
    reads_vectors: bool = True
    """False where word vectors make no difference, as for BM25."""
    pretrain: Sequence[str] | None = None
    """Overrides of the pre-training run that this row is fine-tuned from."""
    note: str = ""
    """How the row was read, or why it is published only."""


@dataclass(frozen=True)
class Table(PaperTable):
    """A table with results. Printed numbers are metrics times `scale`, with `decimals`."""

    paper: str
    name: str
    source: str
    caption: str
    label: str
    """Heading of the first column, as printed."""
    scale: int | float
    decimals: int
    seeds: Sequence[int]
    common: Sequence[str]
    quick: Sequence[str]
    """What a quick version overrides besides."""
    settings: Mapping[str, Setting]
    columns: Mapping[str, Column]
    rows: Sequence[Row]
    notes: Sequence[str] = ()

    def decimals_of(self, column: Column) -> int:
        return self.decimals if column.decimals is None else column.decimals

    def scale_of(self, column: Column) -> int | float:
        return self.scale if column.scale is None else column.scale

    def metric_of(self, column: Column, dataset: str) -> str | None:
        return column.metric_on.get(dataset, column.metric)

    def setting_of(self, row: Row, column: Column) -> str:
        """The name of the setting under which a row gives a column its number."""
        return column.setting or row.setting or next(iter(self.settings))

    def settings_of(self, row: Row) -> list[str]:
        """The settings that a row is run under: those of the columns for which the paper prints a number."""
        if row.overrides is None:
            return []
        pairs = zip(row.published, self.columns.values(), strict=True)
        used = {self.setting_of(row, column) for printed, column in pairs if printed is not None and column.metric is not None}
        return [name for name in self.settings if name in used]

    def named(self, label: str, setting: str) -> str:
        """A row under one of the settings, such as `QRNN (TRAIN)`; its label where there is only one."""
        return f"{label} ({setting})" if len(self.settings) > 1 else label


@dataclass(frozen=True, kw_only=True)
class Figure(Table):
    """A figure whose points are runs. `draw` makes its picture (`qaexp.tables.draw.Picture`); a row without `published` has no number in
    the paper's."""

    draw: Mapping[str, Any]

    @property
    def number(self) -> str:
        return self.name.removeprefix("figure")

    @property
    def title(self) -> str:
        return f"{self.paper}, Figure {self.number}"


@dataclass(frozen=True, kw_only=True)
class Tuning(Table):
    """What a paper tuned, on dev: rows of its tables, with a column and a setting for each value. No number of it is printed.

    In its file `values` are names to overrides, and `metric`, `datasets` and `vectors` are those of all values."""

    @property
    def number(self) -> str:
        return TUNING

    @property
    def title(self) -> str:
        return f"{self.paper}, {self.name.replace('_', ' on ')}"


Kind = TypeVar("Kind", bound=Table)


def result_figures(folder: Path = EXPERIMENTS) -> list[Figure]:
    """Every paper's figures of runs, by paper and number.

    Raises:
        ConfigError: naming the file and what is wrong in it.
    """
    return _by_number([_figure(path, content_of(path)) for path in folder.glob("*/figure*.yaml")])


def result_tables(folder: Path = EXPERIMENTS) -> list[Table]:
    """Every paper's tables of results, by paper and number.

    Raises:
        ConfigError: naming the file and what is wrong in it.
    """
    found = [(path, content_of(path)) for path in folder.glob("*/table*.yaml")]
    return _by_number([_table(path, content, Table, "a table of results") for path, content in found if _kind(path, content) == KIND])


def tunings(folder: Path = EXPERIMENTS) -> list[Tuning]:
    """Every paper's `tuning_<data>.yaml`, by paper.

    Raises:
        ConfigError: naming the file and what is wrong in it.
    """
    return [_tuning(path, content_of(path)) for path in sorted(folder.glob(f"*/{TUNING}_*.yaml"))]


def _kind(path: Path, content: dict[str, Any]) -> str:
    """Taken out of a table's content; a table is one of results where it does not say."""
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: it holds no options, such as columns: and rows:")
    if (kind := content.pop("kind", KIND)) not in KINDS:
        raise ConfigError(f"{path}: there is no kind {kind!r}; {meant(str(kind), KINDS)}")
    return kind


def _require_lists(content: dict[str, Any]) -> None:
    """Raises: ConfigError, where a single value stands in place of a list."""
    listed = {name: content.get(name) for name in ("seeds", "common", "quick")}
    for what, value in {**listed, **{f"row {row['label']!r}: overrides": row.get("overrides") for row in content["rows"]}}.items():
        if value is not None and not isinstance(value, list):
            raise ConfigError(f"{what}: {value!r} is not a list, such as {'[1, 2, 3]' if what == 'seeds' else '[model=ggsa]'}")


def _is_metric(name: str) -> bool:
    split, _, metric = name.rpartition("/")
    return name in OF_A_RUN or (bool(split) and metric in MEASURES)


def _by_number(found: Sequence[Kind]) -> list[Kind]:
    for table in found:
        if not table.number.isdecimal():
            raise ConfigError(
                f"experiments/{table.paper}/{table.name}.yaml: a file of a table or figure is named by its number, as table1.yaml"
            )
    return sorted(found, key=lambda table: (table.paper, int(table.number)))


def _figure(path: Path, content: dict[str, Any]) -> Figure:
    return _table(path, content, Figure, "a figure of runs")


def _tuning(path: Path, content: dict[str, Any]) -> Tuning:
    """`values` are columns and settings in one, of the same `metric`, `datasets` and `vectors`."""
    try:
        content = completed(path, content)
        values, metric = content.pop("values"), content.pop("metric")
        data = {"datasets": content.pop("datasets"), "vectors": content.pop("vectors", ())}
        content["settings"] = {name: {**data, "overrides": overrides} for name, overrides in values.items()}
        content["columns"] = {name: {"metric": metric, "setting": str(name)} for name in values}
    except FAULTS as error:
        raise ConfigError(f"{path}: it is not {TUNED}: {fault_in(error)}") from error
    return _table(path, content, Tuning, TUNED)


def _table(path: Path, content: dict[str, Any], kind: type[Kind], named: str) -> Kind:
    try:
        content = completed(path, content)
        _require_lists(content)
        settings = {str(name): filled(Setting, setting) for name, setting in content.pop("settings").items()}
        columns = {str(name): filled(Column, column) for name, column in content.pop("columns").items()}
        rows = [filled(Row, {"published": [UNPRINTED] * len(columns), **row}) for row in content.pop("rows")]
        table = filled(kind, {**name_of(path), "settings": settings, "columns": columns, "rows": rows, **content})
    except FAULTS as error:
        raise ConfigError(f"{path}: it is not {named}: {fault_in(error)}") from error
    for name in {column.setting for column in columns.values()} | {row.setting for row in rows} | {n for r in rows for n in r.in_setting}:
        if name and name not in settings:
            raise ConfigError(f"{path}: there is no setting {name!r}; settings: {', '.join(settings)}")
    for metric in {each for column in columns.values() for each in (column.metric, *column.metric_on.values()) if each is not None}:
        if not _is_metric(metric):
            known = f"{', '.join(MEASURES)} of a split, as in test/map, or {', '.join(OF_A_RUN)}"
            raise ConfigError(f"{path}: there is no metric {metric!r}; there are {known}")
    if not rows:
        raise ConfigError(f"{path}: it has no rows")
    for row in rows:
        if len(row.published) != len(columns):
            raise ConfigError(f"{path}: row {row.label!r} has {len(row.published)} printed numbers for {len(columns)} columns")
        if row.overrides is None and set(row.published) == {UNPRINTED}:
            raise ConfigError(f"{path}: row {row.label!r} has neither overrides nor printed numbers")
    twice = sorted({row.label for row in rows if sum(other.label == row.label for other in rows) > 1})
    if twice:
        raise ConfigError(f"{path}: two rows are called {twice[0]!r}; a claim could not tell them apart")
    return table
