"""The papers' tables of settings and sizes (`kind: configuration`): our configuration beside the printed values."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import pandas as pd
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from qaexp.config import compose
from qaexp.errors import ConfigError
from qaexp.reproduction.cells import alternatives
from qaexp.reproduction.content import EXPERIMENTS
from qaexp.reproduction.spec import PaperTable, Printed, Table, read_all, result_tables

COUNTED = ("all", "matrices")
THOUSANDS = {"": 1.0, "K": 1e3, "M": 1e6}


@dataclass(frozen=True)
class Column:
    """A path in the configuration, a number of parameters, or the width of word vectors; none of these if only the paper has values."""

    paths: Sequence[str] = ()
    """The first one that exists in a row's configuration counts."""
    factor: int | float = 1
    """Multiplies the configured number: 0.5 for the λ of a weight decay of 2λ."""
    counts: Mapping[str, str] = field(default_factory=dict)
    """Module of the scorer to the parameters that count: `all` trainable ones, or `matrices`, without biases."""
    width_of_vectors: bool = False


@dataclass(frozen=True)
class Row:
    """A model as configured by `overrides`, or by rows of the paper's tables of results."""

    label: str
    published: Sequence[Printed]
    overrides: Sequence[str] = ()
    cells: Sequence[Mapping[str, str | int]] = ()
    """`{table: 3, row: AP-CNN}` each, on the paper's own data. Different values are joined by a slash, as in print."""
    counts: Mapping[str, str] = field(default_factory=dict)
    """Replaces the column's."""
    note: str = ""


@dataclass(frozen=True)
class ConfigurationTable(PaperTable):
    """A table of settings, a row for each model, whichever way the paper prints it."""

    kind: ClassVar[str] = "configuration"
    described: ClassVar[str] = "a table of settings"
    column_type: ClassVar[type] = Column
    row_type: ClassVar[type] = Row

    paper: str
    name: str
    source: str
    caption: str
    label: str
    columns: Mapping[str, Column]
    rows: Sequence[Row]
    notes: Sequence[str] = ()

    def fault(self) -> str:
        for row in self.rows:
            if bool(row.overrides) == bool(row.cells):
                return f"row {row.label!r} needs either overrides or cells, rows of the paper's tables of results"
        counted = {what for each in (*self.columns.values(), *self.rows) for what in each.counts.values()}
        unknown = sorted(counted - set(COUNTED))
        return f"{unknown[0]!r} cannot be counted; what can: {', '.join(COUNTED)}" if unknown else ""

    def frame(self) -> pd.DataFrame:
        """A line for each row: our value and the printed one of every column, and whether they agree.

        Raises:
            ConfigError: a row cannot be composed or counted.
        """
        return pd.DataFrame([self._line(row) for row in self.rows])

    def _line(self, row: Row) -> dict[str, str]:
        line, agree = {self.label: row.label}, dict[str, bool]()
        configurations = [compose(overrides) for overrides in self._runs(row)]
        for (name, column), printed in zip(self.columns.items(), row.published, strict=True):
            found = [value for cfg in configurations if (value := self._value(row, column, cfg)) is not None]
            line[name] = "/".join(dict.fromkeys(f"{value:g}" if value < 1 else f"{value:.10g}" for value in found))
            line[f"{name} (paper)"] = "" if printed is None else str(printed)
            if found and printed is not None:
                agree[name] = agrees(list(dict.fromkeys(found)), printed)
        differ = [name for name, same in agree.items() if not same]
        return {**line, "agrees": f"no: {', '.join(differ)}" if differ else "yes" if agree else ""}

    def _runs(self, row: Row) -> Iterator[Sequence[str]]:
        if row.overrides:
            yield row.overrides
        tables = {table.name: table for table in result_tables() if table.paper == self.paper} if row.cells else {}
        for cell in row.cells:
            yield _overrides(tables.get(f"table{cell['table']}"), str(cell["row"]), f"{self.title}, row {row.label!r}")

    def _value(self, row: Row, column: Column, cfg: DictConfig) -> float | None:
        if column.width_of_vectors:
            return float(vector_width(cfg))
        if column.counts:
            return float(_count(cfg, row.counts or column.counts, f"{self.title}, row {row.label!r}"))
        values = [OmegaConf.select(cfg, path) for path in column.paths]
        return next((column.factor * float(value) for value in values if value is not None), None)


def configuration_tables(folder: Path = EXPERIMENTS) -> list[ConfigurationTable]:
    """Every paper's tables of settings; raises as `read_all` does."""
    return read_all(ConfigurationTable, folder)


def vector_width(cfg: DictConfig) -> int:
    """The width of the configured word vectors: their `dim`, or the last number in the name of their file.

    >>> vector_width(OmegaConf.create({"dataset": {"vectors": {"path": "data/GoogleNews-vectors-negative300.bin"}}}))
    300
    """
    vectors = cfg.dataset.vectors
    return int(vectors.dim) if "dim" in vectors else int(re.findall(r"\d+", Path(vectors.path).name)[-1])


def agrees(ours: Sequence[float], printed: str | int | float) -> bool:
    """Whether the numbers are the printed ones. Those printed in K or M are rounded as printed; `141x2` is 141 in each of two directions.

    >>> agrees([1794176.0], "1.79M"), agrees([3.0, 4.0], "3/4"), agrees([4.0], 3), agrees([2 * 2.5e-5], 5e-5)
    (True, True, False, True)
    """
    parts = str(printed).split("/")
    return len(parts) == len(ours) and all(_agrees(value, part) for value, part in zip(ours, parts, strict=True))


def _agrees(value: float, printed: str) -> bool:
    found = re.fullmatch(r"([\d.]+(?:e-?\d+)?)(?:x2)?([KM]?)", printed.strip())
    if found is None:
        return False
    number, unit = found.groups()
    decimals = len(number.partition(".")[2]) if unit else 12
    return round(value / THOUSANDS[unit], decimals) == float(number)


def _overrides(table: Table | None, label: str, whose: str) -> Sequence[str]:
    """The overrides of a row of a table of results, on the paper's own data."""
    row = next((row for row in table.rows if row.label == label), None) if table else None
    if table is None or row is None or not (settings := table.settings_of(row)):
        raise ConfigError(f"{whose}: there is no row {label!r} that runs in {table.title if table else 'such a table of results'}")
    return next(alternatives(table, row, settings[0])).overrides


def _count(cfg: DictConfig, counts: Mapping[str, str], whose: str) -> int:
    import torch  # takes seconds, and reading or writing tables does not need it

    scorer: torch.nn.Module = instantiate(cfg.model, vectors=torch.zeros(3, vector_width(cfg)))
    try:
        modules = {scorer.get_submodule(name): what for name, what in counts.items()}
    except AttributeError as error:
        raise ConfigError(f"{whose}: {error}; the scorer has {', '.join(name for name, _ in scorer.named_children())}") from error
    weights = [(p, what) for module, what in modules.items() for p in module.parameters() if p.requires_grad]
    return sum(p.numel() for p, what in weights if what == "all" or p.ndim > 1)
