"""What all tables of `experiments/` have in common: where their files lie, how these are read, and what a table is called."""

from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from qaexp.config import CONF
from qaexp.errors import ConfigError

EXPERIMENTS = CONF.parent / "experiments"


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


def content_of(path: Path) -> dict[str, Any]:
    """What a file of `experiments/` holds.

    Raises:
        ConfigError: it is not YAML; names the file.
    """
    return deepcopy(_parsed(path, path.stat().st_mtime_ns))


@cache
def _parsed(path: Path, changed: int) -> dict[str, Any]:
    """Parsing YAML is slow, and every file is asked for several times."""
    try:
        return OmegaConf.to_container(OmegaConf.load(path))  # type: ignore[return-value]
    except (OmegaConfBaseException, YAMLError, ValueError) as error:
        raise ConfigError(f"{path}: {str(error).splitlines()[0]}") from error
