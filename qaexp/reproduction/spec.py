"""The files of `experiments/<paper>/`: tables, figures and tunings, how they are read, checked and inherit from each other.

`read_all` reads every kind of table: results (here), settings (`settings.py`) and data statistics (`statistics.py`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from itertools import chain
from pathlib import Path
from types import NoneType
from typing import Any, ClassVar, TypeVar, get_args

from qaexp.config import choices, in_hydra
from qaexp.errors import ConfigError, meant
from qaexp.evaluation.conventions import METRICS
from qaexp.evaluation.measures import ACCURACY, find_measure, is_measure
from qaexp.reproduction.content import EXPERIMENTS, content_of, folders_of, with_inherited
from qaexp.reproduction.ledger import PARAMETERS, SECONDS

TABLE_KINDS = ("results", "configuration", "statistics")
"""Values of `kind:` in a table's file."""
RUN_METRICS = (PARAMETERS, f"{SECONDS} batch", f"{SECONDS} epoch")
"""Metrics of a run as a whole. All others are `split/metric`."""
TUNING = "tuning"
"""The beginning of a tuning's file name, as in `tuning_trecqa.yaml`, and its number on the command line: `--table tuning`."""
UNPRINTED = ""
"""Takes the place of a printed number where a row is run and the paper prints none."""

READING_ERRORS = (ConfigError, KeyError, TypeError, AttributeError)
"""Errors that a file causes when its content is not that of its kind of table."""

SHAPES = {
    "columns": "{MAP: {metric: test/map}}",
    "settings": "{wikiqa: {datasets: [wikiqa]}}",
    "values": '{"0.1": [optimizer.lr=0.1]}',
    "rows": "[{label: GGSA, overrides: [model=ggsa]}]",
}
"""The parts of a file, each with an example."""

Printed = str | int | float | None
T = TypeVar("T")
Kind = TypeVar("Kind", bound="PaperTable")
Results = TypeVar("Results", bound="Table")


def as_printed(value: Printed, decimals: int | None) -> str:
    """A paper's number with its table's decimals, if these are known; blank if it prints none.

    >>> as_printed(68.1, 2), as_printed(65, 2), as_printed("1800x2", 2), as_printed(0.5, None), as_printed(None, 2)
    ('68.10', '65.00', '1800x2', '0.5', '')
    """
    if value is None:
        return ""
    return str(value) if isinstance(value, str) or decimals is None else f"{value:.{decimals}f}"


class PaperTable:
    """A table of a paper, of any kind. A kind says which classes its columns and rows are, and what can be wrong in it."""

    kind: ClassVar[str] = TABLE_KINDS[0]
    described: ClassVar[str]
    """As error messages call it."""
    files: ClassVar[str] = "table*"
    column_type: ClassVar[type]
    row_type: ClassVar[type]

    paper: str
    name: str
    """The name of its file, such as table6."""
    columns: Mapping[str, Any]
    rows: Sequence[Any]

    @property
    def number(self) -> str:
        return self.name.removeprefix(self.files[:-1])

    @property
    def place(self) -> str:
        """Such as `Table 6`."""
        return f"{self.files[:-1].capitalize()} {self.number}"

    @property
    def title(self) -> str:
        return f"{self.paper}, {self.place}"

    @classmethod
    def prepared(cls, path: Path, content: dict[str, Any]) -> dict[str, Any]:
        """The content of a file with what this kind of table adds to it."""
        return content

    def fault(self) -> str:
        """What is wrong in it; empty if nothing is."""
        return ""


@dataclass(frozen=True)
class Setting:
    """The data and word vectors of some cells."""

    datasets: Sequence[str]
    """Choices of `dataset=`. The first is the paper's; the first one on disk is used."""
    vectors: Sequence[str] = ()
    """Choices of `dataset/vectors=`; the first one on disk is used. Empty: those of the data set's own YAML."""
    paper_vectors: str = ""
    """The paper's choice, or a description of it if none of our choices is the paper's. Empty: word vectors do not matter here."""
    overrides: Sequence[str] = ()


@dataclass(frozen=True)
class Column:
    """A column as printed. `metric` is `split/metric` of a record or one of RUN_METRICS; null if only the paper has numbers."""

    metric: str | None
    setting: str = ""
    """Empty: the row's setting, or the table's only one."""
    decimals: int | None = None
    scale: int | float | None = None
    unit: str = ""
    """Printed after a number, such as K."""
    metric_on: Mapping[str, str] = field(default_factory=dict)
    """Choice of `dataset=` to its metric, for data sets with other splits than the paper's."""

    @property
    def is_timed(self) -> bool:
        """Whether its numbers are seconds, which depend on the machine."""
        return (self.metric or "").startswith(SECONDS)


@dataclass(frozen=True)
class Row:
    """A row as printed. Its `overrides` follow the table's common ones; without `overrides` it is published only."""

    label: str
    published: Sequence[Printed]
    """One number for each column. A file may leave it out, as for a table of your own."""
    overrides: Sequence[str] | None = None
    setting: str = ""
    in_setting: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Setting to the row's further overrides in it."""
    datasets: Sequence[str] = ()
    vectors: Sequence[str] = ()
    """These two replace the setting's."""
    reads_vectors: bool = True
    """False if word vectors make no difference, as for BM25."""
    pretrain: Sequence[str] | None = None
    """Overrides of the pre-training run that this row is fine-tuned from."""
    teacher: str | None = None
    """The label of the row that teaches this one: its run with the same seed becomes `loss.teacher`."""
    note: str = ""
    """How the row was read, or why it is published only."""


@dataclass(frozen=True)
class Table(PaperTable):
    """A table with results. Printed numbers are metrics times `scale`, with `decimals`."""

    described: ClassVar[str] = "a table of results"
    column_type: ClassVar[type] = Column
    row_type: ClassVar[type] = Row

    paper: str
    name: str
    source: str
    caption: str
    settings: Mapping[str, Setting]
    columns: Mapping[str, Column]
    rows: Sequence[Row]
    label: str = "Model"
    """Heading of the first column, as printed."""
    scale: int | float = 100
    decimals: int = 2
    seeds: Sequence[int] = (1, 2, 3)
    common: Sequence[str] = ()
    quick: Sequence[str] = ("trainer=short",)
    """Further overrides of a quick run."""
    notes: Sequence[str] = ()
    fixed_epochs: bool = False
    """Whether the paper fixes the number of epochs. If so, a run that ends there is not cut short."""

    @classmethod
    def prepared(cls, path: Path, content: dict[str, Any]) -> dict[str, Any]:
        content = with_inherited(path, content)
        _require_lists(content)
        blank = [UNPRINTED] * len(content["columns"])
        rows = [{"published": blank, **row, "label": str(row["label"])} for row in content["rows"]]
        settings = {str(name): filled(Setting, setting) for name, setting in content["settings"].items()}
        common = [*_measuring(content["columns"]), *content.get("common", ())]
        return {**content, "common": common, "settings": settings, "rows": rows}

    def fault(self) -> str:
        return _fault_of(self)

    def decimals_of(self, column: Column) -> int:
        return self.decimals if column.decimals is None else column.decimals

    def scale_of(self, column: Column) -> int | float:
        return self.scale if column.scale is None else column.scale

    def metric_of(self, column: Column, dataset: str) -> str | None:
        return column.metric_on.get(dataset, column.metric)

    def setting_of(self, row: Row, column: Column) -> str:
        """The name of the setting under which a row gives a column its number."""
        return column.setting or row.setting or next(iter(self.settings))

    def shown(self, column: Column, value: float, sign: str = "") -> str:
        """A metric's value as the column shows it. With the `sign` "+", a positive number has a plus."""
        return f"{value * self.scale_of(column):{sign}.{self.decimals_of(column)}f}{column.unit}"

    def settings_of(self, row: Row) -> list[str]:
        """The settings that a row is run under: those of the columns for which the paper prints a number."""
        if row.overrides is None:
            return []
        pairs = zip(row.published, self.columns.values(), strict=True)
        used = {self.setting_of(row, column) for printed, column in pairs if printed is not None and column.metric is not None}
        return [name for name in self.settings if name in used]

    def named(self, label: str, setting: str) -> str:
        """A row under one of the settings, such as `QRNN (TRAIN)`; its label alone if there is only one setting."""
        return f"{label} ({setting})" if len(self.settings) > 1 else label


@dataclass(frozen=True, kw_only=True)
class Figure(Table):
    """A figure whose points are runs: a table and how it is drawn. A row without `published` has no number in the paper's figure."""

    described: ClassVar[str] = "a figure of runs"
    files: ClassVar[str] = "figure*"

    draw: Mapping[str, Any]
    """The `_target_` and options of its `Picture`."""


@dataclass(frozen=True, kw_only=True)
class Tuning(Table):
    """A grid that was tuned on dev: the rows of a paper's tables, with a column and a setting for each value. The paper prints no number.

    In the file, `values` maps names to overrides. All values share `metric`, `datasets` and `vectors`."""

    described: ClassVar[str] = "what a paper tuned"
    files: ClassVar[str] = f"{TUNING}_*"

    @classmethod
    def prepared(cls, path: Path, content: dict[str, Any]) -> dict[str, Any]:
        content = with_inherited(path, content)
        values, metric = content.pop("values"), content.pop("metric")
        data = {"datasets": content.pop("datasets"), "vectors": content.pop("vectors", ())}
        settings = {name: {**data, "overrides": overrides} for name, overrides in values.items()}
        columns = {name: {"metric": metric, "setting": str(name)} for name in values}
        return super().prepared(path, {**content, "settings": settings, "columns": columns})

    @property
    def number(self) -> str:
        return TUNING

    @property
    def title(self) -> str:
        return f"{self.paper}, {self.name.replace('_', ' on ', 1).replace('_', ' ')}"


def result_tables(folder: Path = EXPERIMENTS) -> list[Table]:
    """Every paper's tables of results, by paper and number; raises as `read_all` does."""
    return _by_number(read_all(Table, folder))


def result_figures(folder: Path = EXPERIMENTS) -> list[Figure]:
    """Every paper's figures of runs, by paper and number; raises as `read_all` does."""
    return _by_number(read_all(Figure, folder))


def tunings(folder: Path = EXPERIMENTS) -> list[Tuning]:
    """Every paper's `tuning_<data>.yaml`, by paper; raises as `read_all` does."""
    return read_all(Tuning, folder)


def _by_number(found: Sequence[Results]) -> list[Results]:
    for table in found:
        if not table.number.isdecimal():
            raise ConfigError(
                f"experiments/{table.paper}/{table.name}.yaml: a file of a table or figure is named by its number, as table1.yaml"
            )
    return sorted(found, key=lambda table: (table.paper, int(table.number)))


# Reading: from a file to a table of any kind.


def read_all(kind: type[Kind], folder: Path = EXPERIMENTS) -> list[Kind]:
    """Every paper's tables of one kind, in the order of their files: ours, and those in `experiments/` of the current folder.

    Raises:
        ConfigError: names the file and what is wrong in it.
    """
    folders = folders_of(folder)
    changed = tuple((path, path.stat().st_mtime_ns) for place in folders for path in sorted(place.glob("*/*.yaml")))
    return list(_read_all(kind, tuple(folders), changed))


@cache
def _read_all(kind: type[Kind], folders: Sequence[Path], changed: tuple[tuple[Path, int], ...]) -> Sequence[Kind]:
    """Read once for as long as no file below the folders has changed."""
    files = {path.relative_to(place): path for place in folders for path in sorted(place.glob(f"*/{kind.files}.yaml"))}
    found = [(path, content_of(path)) for path in files.values()]
    return [_read(path, content, kind) for path, content in found if _kind(path, content) == kind.kind]


def _kind(path: Path, content: dict[str, Any]) -> str:
    """Takes `kind` out of a table's content; results if there is none."""
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: it holds no options, such as columns: and rows:")
    if (kind := content.pop("kind", TABLE_KINDS[0])) not in TABLE_KINDS:
        raise ConfigError(f"{path}: there is no kind {kind!r}; {meant(str(kind), TABLE_KINDS)}")
    return kind


def _read(path: Path, content: dict[str, Any], kind: type[Kind]) -> Kind:
    try:
        _require_shape(content)
        content = kind.prepared(path, content)
        columns = {str(name): filled(kind.column_type, column) for name, column in content["columns"].items()}
        rows = [filled(kind.row_type, row) for row in content["rows"]]
        table = filled(kind, {"paper": path.parent.name, "name": path.stem, **content, "columns": columns, "rows": rows})
        fault = table.fault() or _row_of_wrong_length(table)
    except READING_ERRORS as error:
        raise ConfigError(f"{path}: it is not {kind.described}: {describe(error)}") from error
    if fault:
        raise ConfigError(f"{path}: {fault}")
    return table


def _require_shape(content: Mapping[str, Any]) -> None:
    """Raises: ConfigError, if its parts are not options by name, or its rows not a list of such."""
    for name in ("columns", "settings", "values"):
        if name in content and not (isinstance(content[name], Mapping) and content[name]):
            raise ConfigError(f"{name}: needs options by name, such as {SHAPES[name]}")
    rows = content.get("rows", [])
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) and "label" in row for row in rows):
        raise ConfigError(f"rows: needs a list of rows, each with a label, such as {SHAPES['rows']}")


def _row_of_wrong_length(table: PaperTable) -> str:
    columns = len(table.columns)
    wrong = (row for row in table.rows if len(row.published) != columns)
    return next((f"row {row.label!r} has {len(row.published)} printed numbers for {columns} columns" for row in wrong), "")


def filled(kind: type[T], content: Mapping[str, Any]) -> T:
    """An object of a dataclass with the content of a file.

    Raises:
        ConfigError: a field is missing or unknown; names it, without the file.
    """
    required = {each.name: each.default is MISSING and each.default_factory is MISSING for each in fields(kind)}  # type: ignore[arg-type]
    what = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.__name__).lower()
    for name in content:
        if name not in required:
            raise ConfigError(f"nothing reads {name!r} in a {what}; {meant(str(name), list(required))}")
    if lacking := [name for name, needed in required.items() if needed and name not in content]:
        raise ConfigError(f"a {what} lacks {' and '.join(map(repr, lacking))}")
    types = {each.name: each.type for each in fields(kind)}  # type: ignore[arg-type]
    if empty := [name for name, value in content.items() if value is None and NoneType not in get_args(types[name])]:
        raise ConfigError(f"{empty[0]!r} is empty in a {what}; fill it in, or leave it out")
    return kind(**content)


def describe(error: Exception) -> str:
    """One of the READING_ERRORS in words.

    >>> describe(KeyError("columns"))
    "it lacks 'columns'"
    """
    return f"it lacks {error}" if isinstance(error, KeyError) else str(error)


# Checks of tables of results.


def _measuring(columns: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The option that adds what columns show to the measures that every run has, as for `test/nDCG@5`; none if nothing is added."""
    metrics = [metric for column in columns.values() for metric in (column.get("metric"), *column.get("metric_on", {}).values())]
    names = {str(metric).rpartition("/")[2]: None for metric in metrics if metric not in (*RUN_METRICS, None)}
    added = [name for name in names if is_measure(name) and name != ACCURACY and find_measure(name).key not in METRICS]
    return [f"dataset.measures={in_hydra(added)}"] if added else []


def _require_lists(content: Mapping[str, Any]) -> None:
    """Raises: ConfigError, if a single value stands in place of a list."""
    such = {"seeds": "[1, 2, 3]", "notes": '["as in our paper"]', "published": "[66.12]", "datasets": "[wikiqa]", "vectors": "[glove300]"}
    holders = [("", content), *((f"row {row['label']!r}: ", row) for row in content["rows"])]
    holders += [(f"setting {name!r}: ", each) for name, each in content["settings"].items()]
    options = ("seeds", "common", "quick", "notes", "overrides", "pretrain", "published", "datasets", "vectors")
    listed = [(f"{where}{name}", holder.get(name), such.get(name, "[model=ggsa]")) for where, holder in holders for name in options]
    for what, value, example in listed:
        if value is not None and not isinstance(value, list):
            raise ConfigError(f"{what}: {value!r} is not a list, such as {example}")


def _fault_of(table: Table) -> str:
    """A name in it that does not exist, or something that its rows lack; empty if all is well."""
    return next(chain(_faults_of_names(table), _faults_of_rows(table)), "")


def _faults_of_names(table: Table) -> Iterator[str]:
    """Settings, choices and metrics that do not exist."""
    rows, columns = table.rows, table.columns.values()
    if not table.settings or not all(setting.datasets for setting in table.settings.values()):
        yield "each of its settings names a data set or several, as in datasets: [wikiqa]"
    for name in {column.setting for column in columns} | {row.setting for row in rows} | {name for row in rows for name in row.in_setting}:
        if name and name not in table.settings:
            yield f"there is no setting {name!r}; settings: {', '.join(table.settings)}"
    for group, option in (("dataset", "datasets"), ("dataset/vectors", "vectors")):
        there = choices(group)
        for name in {name for where in (*table.settings.values(), *rows) for name in getattr(where, option)}:
            if name not in there:
                yield f"there is no {group}={name}; {meant(name, there)}"
    for metric in {each for column in columns for each in (column.metric, *column.metric_on.values()) if each is not None}:
        if not _is_metric(metric):
            yield f"there is no metric {metric!r}; name a measure of a split, as in test/nDCG@5, or one of {', '.join(RUN_METRICS)}"


def _faults_of_rows(table: Table) -> Iterator[str]:
    """Rows that cannot run or cannot be told apart, and seeds and overrides of the wrong form."""
    if not table.rows:
        yield "it has no rows"
    for row in table.rows:
        if row.teacher is not None and (fault := _fault_of_teacher(row, table.rows)):
            yield f"row {row.label!r}: {fault}"
        if row.overrides is None and set(row.published) == {UNPRINTED}:
            yield f"row {row.label!r} has neither overrides nor printed numbers"
    if any(type(seed) is not int for seed in table.seeds) or len(set(table.seeds)) < len(table.seeds):
        yield f"seeds: {list(table.seeds)} are not whole numbers, each once, such as [1, 2, 3]"
    for where, options in _overrides_in(table):
        if faulty := [option for option in options if "=" not in str(option)]:
            yield f"{where}: {faulty[0]!r} is not an option, such as model=ggsa"
    labels = [row.label for row in table.rows]
    if twice := sorted(label for label in labels if labels.count(label) > 1):
        yield f"two rows are called {twice[0]!r}; a claim could not tell them apart"


def _fault_of_teacher(student: Row, rows: Sequence[Row]) -> str:
    """Why a row cannot learn from the one that it names; empty if it can."""
    label = str(student.teacher)
    teacher = next((row for row in rows if row.label == label), None)
    if teacher is None:
        return f"teacher: there is no row {label!r}; {meant(label, [row.label for row in rows])}"
    if teacher.overrides is None or teacher.pretrain is not None or teacher.teacher is not None:
        return f"teacher: {label!r} runs after another run, or not at all; name a row of one run"
    if teacher.datasets != student.datasets or teacher.setting != student.setting:
        return f"teacher: {label!r} reads other data; name a row with the same datasets and setting"
    return ""


def _overrides_in(table: Table) -> Iterator[tuple[str, Sequence[str]]]:
    """Each place that has overrides, in words, and its overrides."""
    yield from (("common", table.common), ("quick", table.quick))
    yield from ((f"setting {name!r}", setting.overrides) for name, setting in table.settings.items())
    for row in table.rows:
        special = [option for options in row.in_setting.values() for option in options]
        yield f"row {row.label!r}", [*(row.overrides or ()), *(row.pretrain or ()), *special]


def _is_metric(name: str) -> bool:
    split, _, metric = name.rpartition("/")
    return name in RUN_METRICS or (bool(split) and is_measure(metric))
