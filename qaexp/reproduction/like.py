"""What a file of `experiments/` leaves for another one to say: `like: table3`, of a whole table or of a row."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from qaexp.errors import ConfigError, meant
from qaexp.reproduction.paper_table import content_of

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
