"""The files of `experiments/`: tables, figures and tunings of a paper, how they are read, and what they inherit by `like:`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import MarkedYAMLError, YAMLError

from qaexp.config import CONF, choices
from qaexp.errors import ConfigError, meant
from qaexp.reproduction.ledger import PARAMETERS, SECONDS
from qaexp.runs.table import MEASURES

EXPERIMENTS = CONF.parent / "experiments"

FAULTS = (ConfigError, KeyError, TypeError, AttributeError)
"""What comes up where a file does not hold what its kind of table has."""

KINDS = ("results", "configuration", "statistics")
"""Of tables: with runs, of settings, and of what data sets hold."""

T = TypeVar("T")
Kind = TypeVar("Kind", bound="PaperTable")


class PaperTable:
    """A table of a paper, of any kind. Each kind says what its columns and rows are; one function, `read_all`, reads them all."""

    kind: ClassVar[str] = "results"
    """What its file says: `kind: configuration`."""
    described: ClassVar[str]
    files: ClassVar[str] = "table*"
    column_type: ClassVar[type]
    row_type: ClassVar[type]

    paper: str
    name: str
    """That of its file, such as table6."""
    columns: Mapping[str, Any]
    rows: Sequence[Any]

    @property
    def number(self) -> str:
        return self.name.removeprefix("table")

    @property
    def title(self) -> str:
        return f"{self.paper}, Table {self.number}"

    @classmethod
    def prepared(cls, path: Path, content: dict[str, Any]) -> dict[str, Any]:
        """The content of its file with what this kind of table adds to it."""
        return content

    def fault(self) -> str:
        """What is wrong in it; empty where all is well."""
        return ""


def read_all(kind: type[Kind], folder: Path = EXPERIMENTS) -> list[Kind]:
    """Every paper's tables of one kind, in the order of their files.

    Raises:
        ConfigError: naming the file and what is wrong in it.
    """
    found = [(path, content_of(path)) for path in sorted(folder.glob(f"*/{kind.files}.yaml"))]
    return [_read(path, content, kind) for path, content in found if _kind(path, content) == kind.kind]


def _kind(path: Path, content: dict[str, Any]) -> str:
    """The kind of a table, taken out of its content; a table without one is of results."""
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: it holds no options, such as columns: and rows:")
    if (kind := content.pop("kind", KINDS[0])) not in KINDS:
        raise ConfigError(f"{path}: there is no kind {kind!r}; {meant(str(kind), KINDS)}")
    return kind


def _read(path: Path, content: dict[str, Any], kind: type[Kind]) -> Kind:
    try:
        content = kind.prepared(path, content)
        columns = {str(name): filled(kind.column_type, column) for name, column in content["columns"].items()}
        rows = [filled(kind.row_type, row) for row in content["rows"]]
        table = filled(kind, {"paper": path.parent.name, "name": path.stem, **content, "columns": columns, "rows": rows})
    except FAULTS as error:
        raise ConfigError(f"{path}: it is not {kind.described}: {fault_in(error)}") from error
    if fault := table.fault() or _unequal(table):
        raise ConfigError(f"{path}: {fault}")
    return table


def _unequal(table: PaperTable) -> str:
    """Which row has not one printed number for each column; empty where all have."""
    columns = len(table.columns)
    wrong = (row for row in table.rows if len(row.published) != columns)
    return next((f"row {row.label!r} has {len(row.published)} printed numbers for {columns} columns" for row in wrong), "")


def content_of(path: Path) -> Any:
    """What a file of `experiments/` holds, in plain dicts and lists.

    Raises:
        ConfigError: it is not YAML; names the file.
    """
    return deepcopy(_parsed(path, path.stat().st_mtime_ns))


@cache
def _parsed(path: Path, changed: int) -> Any:
    """Parsing YAML is slow, and every file is asked for several times."""
    try:
        return OmegaConf.to_container(OmegaConf.load(path))
    except MarkedYAMLError as error:
        where = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"{path}{where}: {error.problem}") from error
    except (OmegaConfBaseException, YAMLError, ValueError) as error:
        raise ConfigError(f"{path}: {str(error).splitlines()[0]}") from error


def filled(kind: type[T], content: Mapping[str, Any]) -> T:
    """An object of ours with what stands in a file.

    Raises:
        ConfigError: something is lacking, or nothing reads it; names it, without the file.
    """
    known = {each.name: each.default is MISSING and each.default_factory is MISSING for each in fields(kind)}  # type: ignore[arg-type]
    what = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.__name__).lower()
    for name in content:
        if name not in known:
            raise ConfigError(f"nothing reads {name!r} in a {what}; {meant(str(name), list(known))}")
    if lacking := [name for name, needed in known.items() if needed and name not in content]:
        raise ConfigError(f"a {what} lacks {' and '.join(map(repr, lacking))}")
    return kind(**content)


def fault_in(error: Exception) -> str:
    """One of the FAULTS in words.

    >>> fault_in(KeyError("columns"))
    "it lacks 'columns'"
    """
    return f"it lacks {error}" if isinstance(error, KeyError) else str(error)


OF_A_TABLE = ("label", "scale", "decimals", "seeds", "fixed_epochs", "common", "quick", "settings", "columns", "rows")
"""Taken from the other file where this one leaves it out. Source, caption and notes are a table's own."""
OF_A_ROW = ("overrides", "setting", "in_setting", "datasets", "vectors", "reads_vectors", "pretrain")
"""What a row runs; printed numbers and notes are its own."""


def completed(path: Path, content: dict[str, Any], on_the_way: Sequence[Path] = ()) -> dict[str, Any]:
    """A table's content with what it takes from others, which lie beside it (`table3`) or not (`../ggsa/table3`).

    `like: table3` as a line of the file, without `rows`, is all rows of that table which run. As a line of a row it is what the row of
    the same label runs there, and `like: {table3: GGSA}` that of another label.

    Raises:
        ConfigError: there is no such table or row, or a table is like itself.
    """
    on_the_way = [*on_the_way, path.resolve()]
    there = _beside(path, name, on_the_way) if (name := content.pop("like", None)) else {}
    rows = [_row(path, row, on_the_way) for row in content["rows"]] if "rows" in content else [_run(row) for row in _running(there)]
    return {**{each: there[each] for each in OF_A_TABLE if each in there}, **content, "rows": rows}


def _beside(path: Path, name: str, on_the_way: Sequence[Path]) -> dict[str, Any]:
    """The other file, itself completed."""
    other = path.parent / f"{name}.yaml"
    if not other.is_file():
        raise ConfigError(f"like: {name}: there is no {other}; {meant(name, sorted(each.stem for each in path.parent.glob('*.yaml')))}")
    if other.resolve() in on_the_way:
        raise ConfigError(f"like: {name}: that one is like this one")
    return completed(other, content_of(other), on_the_way)


def _row(path: Path, row: dict[str, Any], on_the_way: Sequence[Path]) -> dict[str, Any]:
    if (like := row.pop("like", None)) is None:
        return row
    named = like if isinstance(like, dict) else {like: row["label"]}
    if len(named) != 1:
        raise ConfigError(f"row {row['label']!r}: like: is one table, and one row of it, as in `like: {{table3: GGSA}}`")
    [(name, label)] = named.items()
    running = {each["label"]: each for each in _running(_beside(path, name, on_the_way))}
    if label not in running:
        raise ConfigError(f"row {row['label']!r} is like {label!r} of {name}, which runs no such row; {meant(label, running)}")
    return {**_run(running[label]), **row}


def _running(content: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in content["rows"] if row.get("overrides") is not None]


def _run(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("label", *OF_A_ROW) if name in row}


TUNING = "tuning"
"""What a tuning's file begins with, as in `tuning_trecqa.yaml`, and what stands in place of a number: `--table tuning`."""
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

    @property
    def is_timed(self) -> bool:
        """Whether it is of seconds, which belong to a machine."""
        return (self.metric or "").startswith(SECONDS)


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
    """A table with results. Printed numbers are metrics times `scale`, with `decimals`. A file may leave out what has a default here."""

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
    """What a quick version overrides besides."""
    notes: Sequence[str] = ()
    fixed_epochs: bool = False
    """Whether the paper says how many epochs there are, so that the end of these cuts no run short."""

    @classmethod
    def prepared(cls, path: Path, content: dict[str, Any]) -> dict[str, Any]:
        """With what it inherits, and with its settings read."""
        content = completed(path, content)
        _require_lists(content)
        blank = [UNPRINTED] * len(content["columns"])
        rows = [{"published": blank, **row, "label": str(row["label"])} for row in content["rows"]]
        settings = {str(name): filled(Setting, setting) for name, setting in content["settings"].items()}
        return {**content, "settings": settings, "rows": rows}

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
    """A figure whose points are runs. `draw` makes its picture (a `Picture`); a row without `published` has no number in the paper's."""

    described: ClassVar[str] = "a figure of runs"
    files: ClassVar[str] = "figure*"

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

    described: ClassVar[str] = "what a paper tuned"
    files: ClassVar[str] = f"{TUNING}_*"

    @classmethod
    def prepared(cls, path: Path, content: dict[str, Any]) -> dict[str, Any]:
        """With a column and a setting for each of its `values`."""
        content = completed(path, content)
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
        return f"{self.paper}, {self.name.replace('_', ' on ')}"


Results = TypeVar("Results", bound=Table)

OF_A_RUN = (PARAMETERS, f"{SECONDS} batch", f"{SECONDS} epoch")


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
