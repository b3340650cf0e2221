"""What the papers say in words of which model is above which, `experiments/<paper>/claims.yaml`, each said of a table or a figure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from qaexp.errors import ConfigError
from qaexp.reproduction.paper_table import EXPERIMENTS, FAULTS, content_of, fault_in, filled
from qaexp.reproduction.read import result_figures, result_tables
from qaexp.reproduction.spec import Table


@dataclass(frozen=True)
class Statement:
    """What a paper says in one sentence: each row of `above` has more than each of `below`, in each of `columns`."""

    claim: str
    where: str
    """Where in the paper it is said."""
    columns: list[str]
    above: list[str]
    below: list[str]
    table: int | None = None
    figure: int | None = None
    """What it is said of: a table, or a figure whose points are runs."""
    note: str = ""
    """What else there is to say of it, such as why no test can be made."""

    @property
    def place(self) -> str:
        return f"Table {self.table}" if self.figure is None else f"Figure {self.figure}"

    def claims(self) -> Iterator["Claim"]:
        for column, above, below in product(self.columns, self.above, self.below):
            yield Claim(self, column, above, below)

    def fault(self, table: Table | None) -> str:
        """What it names that is not there; empty when all is."""
        if (self.table is None) == (self.figure is None):
            return "it needs a table or a figure, and not both"
        if table is None:
            return f"the paper has no {self.place} of runs"
        labels = [row.label for row in table.rows]
        for what, named, there in (("column", self.columns, list(table.columns)), ("row", [*self.above, *self.below], labels)):
            if missing := [name for name in named if name not in there]:
                return f"{table.title} has no {what} {missing[0]!r}; {what}s: {', '.join(there)}"
        return ""


@dataclass(frozen=True)
class Claim:
    """Of a statement, that row `above` has more than row `below` in a column."""

    said: Statement
    column: str
    above: str
    below: str


def claims(paper: str, folder: Path = EXPERIMENTS) -> list[Claim]:
    """A paper's claims, one for each two rows that a statement compares; none where it has no file of them.

    Raises:
        ConfigError: a statement's table or figure, column or row does not exist; names it.
    """
    path = folder / paper / "claims.yaml"
    if not path.is_file():
        return []
    places = {each.title: each for each in [*result_tables(folder), *result_figures(folder)]}
    try:
        statements = [_statement(content) for content in content_of(path)]
    except FAULTS as error:
        raise ConfigError(f"{path}: it is not a list of statements: {fault_in(error)}") from error
    for statement in statements:
        if fault := statement.fault(places.get(f"{paper}, {statement.place}")):
            raise ConfigError(f"{path}: claim {statement.claim!r}: {fault}")
    return [claim for statement in statements for claim in statement.claims()]


def _statement(content: Mapping[str, Any]) -> Statement:
    for name in ("columns", "above", "below"):
        if isinstance(content.get(name), str):
            raise ConfigError(f"{name}: {content[name]!r} is not a list; write [{content[name]}]")
    return filled(Statement, content)
