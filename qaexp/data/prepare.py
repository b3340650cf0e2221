"""Reads a data set once: the token files are kept in the cache and memory-mapped ever after."""

import hashlib
import json
import logging
import os
import shutil
import tempfile
from dataclasses import asdict, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from qaexp.data.corpus import RankingCorpus
from qaexp.data.files import digest
from qaexp.errors import OutputError

log = logging.getLogger(__name__)

LAYOUT = 2
"""Raise it when the prepared files change their format; older ones are then left alone and never read."""


@runtime_checkable
class Reader(Protocol):
    """A dataclass whose fields are its settings; one per corpus, in `qaexp/data/datasets/`."""

    version: int

    def files(self) -> list[Path]: ...

    def read(self) -> RankingCorpus: ...


def prepared(reader: Reader, cache: Path) -> RankingCorpus:
    """The corpus of `reader`, from the cache when the very same files were read with the same settings before.

    Raises:
        MissingDataError, BadDataError: from the reader.
        OutputError: the cache cannot be written.
    """
    folder = cache / "corpora" / f"{type(reader).__name__.removesuffix('Reader').lower()}-{_key(reader)}"
    if not folder.is_dir():
        log.info("reading %s (once; kept in %s)", ", ".join(str(path) for path in reader.files()) or "the embedded data", folder)
        corpus = reader.read()
        with installing(folder) as staging:
            corpus.save(staging)
    return RankingCorpus.load(folder)


class installing:  # noqa: N801
    """A context for filling a folder that appears whole or not at all, whoever else is making the same one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> Path:
        try:
            self._folder.parent.mkdir(parents=True, exist_ok=True)
            self._staging = Path(tempfile.mkdtemp(prefix=f".{self._folder.name}-", dir=self._folder.parent))
        except OSError as error:
            raise self._output_error(error) from error
        return self._staging

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        try:
            if kind is None:
                os.replace(self._staging, self._folder)
        except OSError as refused:
            if not self._folder.is_dir():  # otherwise another process was first, with the same content
                raise self._output_error(refused) from refused
        finally:
            shutil.rmtree(self._staging, ignore_errors=True)
        if isinstance(error, OSError):
            raise self._output_error(error) from error

    def _output_error(self, error: OSError) -> OutputError:
        return OutputError(
            f"cannot write {self._folder}: {error.strerror or error}. Free some space there, or name another place with cache_dir=FOLDER"
        )


def _key(reader: Reader) -> str:
    """Reader, version, settings and content of the files; their place on the disk is left out."""
    settings = asdict(reader) if is_dataclass(reader) else {}
    for name in ("folder", "vocabulary"):
        settings.pop(name, None)
    facts = [LAYOUT, type(reader).__name__, reader.version, settings, [digest(path) for path in reader.files()]]
    return hashlib.sha256(json.dumps(facts, default=_spell, sort_keys=True).encode()).hexdigest()[:16]


def _spell(setting: Any) -> str:
    function = setting.func if isinstance(setting, partial) else setting
    return f"{function.__module__}.{function.__qualname__}"
