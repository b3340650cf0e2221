"""What all tables of `experiments/` have in common: where their files lie, how these are read, and what a table is called."""

import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import MarkedYAMLError, YAMLError

from qaexp.config import CONF
from qaexp.errors import ConfigError, meant

EXPERIMENTS = CONF.parent / "experiments"

FAULTS = (ConfigError, KeyError, TypeError, AttributeError)
"""What comes up where a file does not hold what its kind of table has."""

T = TypeVar("T")


class PaperTable:
    """A table of a paper; `name` is that of its file, such as table6."""

    paper: str
    name: str

    @property
    def number(self) -> str:
        return self.name.removeprefix("table")

    @property
    def title(self) -> str:
        return f"{self.paper}, Table {self.number}"


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


def name_of(path: Path) -> dict[str, str]:
    """What a table's file says by where it lies.

    >>> name_of(Path("experiments/ctrn/table6.yaml"))
    {'paper': 'ctrn', 'name': 'table6'}
    """
    return {"paper": path.parent.name, "name": path.stem}


def fault_in(error: Exception) -> str:
    """One of the FAULTS in words.

    >>> fault_in(KeyError("columns"))
    "it lacks 'columns'"
    """
    return f"it lacks {error}" if isinstance(error, KeyError) else str(error)
