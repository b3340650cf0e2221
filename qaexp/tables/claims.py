"""What the papers say in words of which model is above which, `experiments/<paper>/claims.yaml`, each to be held against a table."""

from dataclasses import dataclass
from pathlib import Path

from omegaconf import OmegaConf

from qaexp.errors import ConfigError
from qaexp.tables.spec import EXPERIMENTS, Table, result_tables


@dataclass(frozen=True)
class Claim:
    """Row `above` has more than row `below` in a column of a table."""

    claim: str
    where: str
    """Where in the paper it is said."""
    table: int
    column: str
    above: str
    below: str
    note: str = ""
    """What else there is to say of it, such as why no test can be made."""


def claims(paper: str, folder: Path = EXPERIMENTS) -> list[Claim]:
    """A paper's claims.

    Raises:
        ConfigError: the file, or a claim's table, column or row, does not exist; names it.
    """
    path = folder / paper / "claims.yaml"
    if not path.is_file():
        raise ConfigError(
            f"{path}: there is no such file; papers with claims: {', '.join(p.parent.name for p in folder.glob('*/claims.yaml'))}"
        )
    tables = {table.number: table for table in result_tables(folder) if table.paper == paper}
    try:
        found = [Claim(**content) for content in OmegaConf.to_container(OmegaConf.load(path))]  # type: ignore[arg-type]
    except TypeError as error:
        raise ConfigError(f"{path}: it is not a list of claims: {error}") from error
    for claim in found:
        if fault := _fault(claim, tables.get(str(claim.table))):
            raise ConfigError(f"{path}: claim {claim.claim!r}: {fault}")
    return found


def _fault(claim: Claim, table: Table | None) -> str:
    """What the claim names that is not there; empty when all is."""
    if table is None:
        return f"the paper has no table of results {claim.table}"
    if claim.column not in table.columns:
        return f"{table.title} has no column {claim.column!r}; columns: {', '.join(table.columns)}"
    labels = [row.label for row in table.rows]
    missing = [label for label in (claim.above, claim.below) if label not in labels]
    return f"{table.title} has no row {missing[0]!r}; rows: {', '.join(labels)}" if missing else ""
