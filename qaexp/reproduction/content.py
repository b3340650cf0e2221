"""Reads the YAML files of `experiments/<paper>/`. With `like: table3` a table inherits from another table, and a row from another row."""

import os
import pickle
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from yaml import MarkedYAMLError, YAMLError
from yaml.constructor import ConstructorError

from qaexp.errors import ConfigError, first_line, meant

EXPERIMENTS = (Path(__file__).parents[1] / "experiments").resolve()

OWN_EXPERIMENTS = Path("experiments")

INHERITED_BY_TABLE = ("label", "scale", "decimals", "seeds", "fixed_epochs", "common", "quick", "settings", "columns", "rows")
"""A table takes these from the other file if its own leaves them out. Source, caption and notes are not inherited."""
INHERITED_BY_ROW = ("overrides", "setting", "in_setting", "datasets", "vectors", "reads_vectors", "pretrain", "teacher")
"""A row takes these: what it runs. Printed numbers and notes are not inherited."""


def folders_of(folder: Path) -> list[Path]:
    """The folders to read tables from: `folder` and, if it is the project's, also `experiments/` in the current folder."""
    own = OWN_EXPERIMENTS.resolve()
    return [folder, own] if folder == EXPERIMENTS != own else [folder]


def content_of(path: Path) -> Any:
    """The content of a file as plain dicts and lists.

    Raises:
        ConfigError: it is not YAML; names the file.
    """
    return pickle.loads(_parsed(path, path.stat().st_mtime_ns))  # five times as fast as deepcopy


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Rejects a key that stands twice, as OmegaConf's loader does, which takes twenty times as long."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        content: dict[Any, Any] = super().construct_mapping(node, deep)
        if len(content) < len(node.value):
            keys = [key.value for key, _ in node.value]
            twice = next((key for key in keys if keys.count(key) > 1), "a key")
            raise ConstructorError(problem=f"{twice} stands twice", problem_mark=node.start_mark)
        return content


@cache
def _parsed(path: Path, changed: int) -> bytes:
    """The pickled content. Parsed once for as long as the file has not changed."""
    try:
        return pickle.dumps(yaml.load(path.read_text(encoding="utf-8"), _Loader))
    except MarkedYAMLError as error:
        where = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"{path}{where}: {error.problem}") from error
    except (YAMLError, ValueError) as error:
        raise ConfigError(f"{path}: {first_line(error)}") from error


def with_inherited(path: Path, content: dict[str, Any], visited: Sequence[Path] = ()) -> dict[str, Any]:
    """A table's content with what it inherits from tables beside it (`table3`) or of another paper (`../ggsa/table3`).

    `like: table3` in a file without `rows` takes all rows of that table that run. `like: table3` in a row takes what the row of the same
    label runs there, and `like: {table3: GGSA}` what the row GGSA runs.

    Raises:
        ConfigError: there is no such table or row, or a table inherits from itself.
    """
    visited = [*visited, path.resolve()]
    parent = _parent(path, name, visited) if (name := content.pop("like", None)) else {}
    rows = [_with_inherited_run(path, row, visited) for row in content["rows"]] if "rows" in content else _runs_of(parent)
    return {**{each: parent[each] for each in INHERITED_BY_TABLE if each in parent}, **content, "rows": rows}


def _parent(path: Path, name: str, visited: Sequence[Path]) -> dict[str, Any]:
    """The content of the other file, with what it inherits itself."""
    places = [Path(os.path.normpath(folder / path.parent.name / f"{name}.yaml")) for folder in (path.parents[1], EXPERIMENTS)]
    if not (found := [place for place in places if place.is_file()]):  # a file of the user's own may inherit from ours
        there = {each.stem for place in places for each in place.parent.glob("*.yaml")}
        papers = {each.parent.name for each in EXPERIMENTS.glob("*/*.yaml")}
        remedy = meant(places[0].stem, sorted(there)) if there else f"papers: {', '.join(sorted(papers))}"
        raise ConfigError(f"like: {name}: there is no {places[0]}; {remedy}")
    other = found[0]
    if other.resolve() in visited:
        raise ConfigError(f"like: {name}: a table cannot inherit from itself")
    return with_inherited(other, content_of(other), visited)


def _with_inherited_run(path: Path, row: dict[str, Any], visited: Sequence[Path]) -> dict[str, Any]:
    if (like := row.pop("like", None)) is None:
        return row
    named = like if isinstance(like, dict) else {like: row["label"]}
    if len(named) != 1:
        raise ConfigError(f"row {row['label']!r}: like: needs one table, and one row of it, as in `like: {{table3: GGSA}}`")
    [(name, label)] = named.items()
    runs = {run["label"]: run for run in _runs_of(_parent(path, name, visited))}
    if label not in runs:
        raise ConfigError(f"row {row['label']!r} is like {label!r} of {name}, which runs no such row; {meant(label, runs)}")
    return {**runs[label], **row}


def _runs_of(content: dict[str, Any]) -> list[dict[str, Any]]:
    """The label and the inherited options of each row that runs."""
    running = [row for row in content["rows"] if row.get("overrides") is not None]
    return [{name: row[name] for name in ("label", *INHERITED_BY_ROW) if name in row} for row in running]
