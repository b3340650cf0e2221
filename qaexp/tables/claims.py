"""What the papers say in words of which model is above which, `experiments/<paper>/claims.yaml`, each said of a table or a figure."""

from dataclasses import dataclass
from pathlib import Path

from omegaconf import OmegaConf

from qaexp.errors import ConfigError
from qaexp.paper_table import FAULTS, fault_in, filled
from qaexp.tables.spec import EXPERIMENTS, Table, result_figures, result_tables


@dataclass(frozen=True)
class Claim:
    """Row `above` has more than row `below` in a column of a table, or of a figure whose points are runs."""

    claim: str
    where: str
    """Where in the paper it is said."""
    column: str
    above: str
    below: str
    table: int | None = None
    figure: int | None = None
    note: str = ""
    """What else there is to say of it, such as why no test can be made."""

    @property
    def place(self) -> str:
        """What it is said of, such as `Table 2`."""
        return f"Table {self.table}" if self.figure is None else f"Figure {self.figure}"


def claims(paper: str, folder: Path = EXPERIMENTS) -> list[Claim]:
    """A paper's claims; none where it has no file of them.

    Raises:
        ConfigError: a claim's table or figure, column or row does not exist; names it.
    """
    path = folder / paper / "claims.yaml"
    if not path.is_file():
        return []
    places = {each.title: each for each in [*result_tables(folder), *result_figures(folder)]}
    try:
        found = [filled(Claim, content) for content in OmegaConf.to_container(OmegaConf.load(path))]  # type: ignore[arg-type]
    except FAULTS as error:
        raise ConfigError(f"{path}: it is not a list of claims: {fault_in(error)}") from error
    for claim in found:
        if fault := _fault(claim, places.get(f"{paper}, {claim.place}")):
            raise ConfigError(f"{path}: claim {claim.claim!r}: {fault}")
    return found


def _fault(claim: Claim, table: Table | None) -> str:
    """What the claim names that is not there; empty when all is."""
    if (claim.table is None) == (claim.figure is None):
        return "it needs a table or a figure, and not both"
    if table is None:
        return f"the paper has no {claim.place} of runs"
    if claim.column not in table.columns:
        return f"{table.title} has no column {claim.column!r}; columns: {', '.join(table.columns)}"
    labels = [row.label for row in table.rows]
    missing = [label for label in (claim.above, claim.below) if label not in labels]
    return f"{table.title} has no row {missing[0]!r}; rows: {', '.join(labels)}" if missing else ""
