"""A paper's table of results: columns, rows, printed numbers, and what each row runs.

So is a figure whose points are runs: a table and how it is drawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qaexp.reproduction.ledger import SECONDS
from qaexp.reproduction.paper_table import PaperTable

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
