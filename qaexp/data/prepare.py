"""The cache: token files and word vectors are made once, stored, and memory-mapped from then on."""

import contextlib
import hashlib
import json
import logging
import os
import shutil
import tempfile
import time
import zlib
from collections.abc import Callable, Collection
from dataclasses import asdict, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from qaexp.data.corpus import WRITTEN, RankingCorpus
from qaexp.data.files import digest
from qaexp.errors import ConfigError, MissingDataError, OutputError
from qaexp.files import CACHE_REMEDY, atomic_write_text, file_lock, output_errors

log = logging.getLogger(__name__)

LAYOUT = 7
"""Increase it when the format of the prepared files changes; older ones are then not read."""

MANIFEST = "manifest.json"

DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError)
"""Raised when an entry of the cache is missing or damaged."""

LARGE = 1 << 26
"""In bytes. The digest of a file of at least this size is remembered."""

SETTLED = 2.0
"""Seconds. A digest is remembered only if the file is older, so that a later change shows in its modification time."""

Loaded = TypeVar("Loaded")
Made = TypeVar("Made")


@runtime_checkable
class Reader(Protocol):
    """A dataclass whose fields are its settings; one per corpus, in `qaexp/data/datasets/`."""

    version: int

    def files(self) -> list[Path]: ...

    def read(self) -> RankingCorpus: ...


def require_reader(reader: object) -> None:
    """Raises ConfigError if a user's class lacks a part of a reader."""
    if lacking := [part for part in ("version", "files", "read") if not hasattr(reader, part)]:
        raise ConfigError(
            f"{type(reader).__name__} is not a reader: it lacks {' and '.join(lacking)}. A reader has files(), the paths "
            "that it reads, read(), which returns a RankingCorpus, and a version, increased when its code changes"
        )
    if not is_dataclass(reader) or isinstance(reader, type):
        raise ConfigError(f"{type(reader).__name__} is not a reader: make it a dataclass whose fields are its settings")


def prepared(reader: Reader, cache: Path) -> RankingCorpus:
    """The corpus of `reader`, from the cache if the same files were read with the same settings before.

    Raises:
        ConfigError: it is not a reader, or `read` does not return a corpus.
        MissingDataError, BadDataError: from the reader.
        OutputError: the cache cannot be written.
    """
    require_reader(reader)
    folder = cache / "corpora" / f"{type(reader).__name__.removesuffix('Reader').lower() or 'reader'}-{_key(reader, cache)}"

    def read() -> RankingCorpus:
        log.info("reading %s (once; kept in %s)", ", ".join(str(path) for path in reader.files()) or "the embedded data", folder)
        if not isinstance(corpus := reader.read(), RankingCorpus):
            given = f"{type(reader).__name__}.read() gives a {type(corpus).__name__}"
            raise ConfigError(f"{given}: a RankingCorpus is expected, as qaexp.data.corpus_builder.CorpusBuilder makes")
        return corpus

    return cached(folder, RankingCorpus.load, read, RankingCorpus.save, checks_itself=(WRITTEN,))


def cached(
    folder: Path,
    load: Callable[[Path], Loaded],
    make: Callable[[], Made],
    save: Callable[[Made, Path], None],
    checks_itself: Collection[str] = (),
) -> Loaded:
    """Loads `folder`. If it is missing or damaged, one process makes and saves it first.

    Checks the checksum of every file, except those in `checks_itself`: they are large, and `load` checks the parts that it reads.

    The folder appears only when it is complete.

    Raises:
        OutputError: the folder cannot be written. This is checked before the work begins, but the disk may still fill up later.
    """
    with contextlib.suppress(*DAMAGE):
        return _loaded(folder, load)
    with contextlib.ExitStack() as stack:
        with output_errors(folder, CACHE_REMEDY):
            folder.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(file_lock(folder.with_name(f".{folder.name}.lock"), f"making {folder}"))
            try:
                return _loaded(folder, load)  # another process made it meanwhile
            except DAMAGE as error:
                if folder.is_dir():
                    log.warning("%s is damaged (%s): making it again", folder, error)
            for left in folder.parent.glob(f".{folder.name}-*"):  # left by a killed process
                shutil.rmtree(left, ignore_errors=True)
            staging = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        stack.callback(shutil.rmtree, staging, ignore_errors=True)
        made = make()
        with output_errors(folder, CACHE_REMEDY):
            save(made, staging / "new")
            files = {path.name: _facts(path, path.name not in checks_itself) for path in (staging / "new").iterdir()}
            (staging / "new" / MANIFEST).write_text(json.dumps(files, indent=1, sort_keys=True), encoding="utf-8")
            with contextlib.suppress(FileNotFoundError):
                os.replace(folder, staging / "damaged")
            os.replace(staging / "new", folder)
    return load(folder)


def _loaded(folder: Path, load: Callable[[Path], Loaded]) -> Loaded:
    """Raises one of DAMAGE if the folder is missing or damaged."""
    _require_whole(folder)
    return load(folder)


def _require_whole(folder: Path) -> None:
    """Raises one of DAMAGE if a file is missing, or is not as it was written."""
    for name, facts in json.loads((folder / MANIFEST).read_text(encoding="utf-8")).items():
        found = _facts(folder / name, with_sum="crc32" in facts)
        if found["bytes"] != facts["bytes"]:
            raise ValueError(f"{name} does not have its {facts['bytes']} bytes")
        if found != facts:
            raise ValueError(f"{name} has another checksum than when it was written")


def _facts(path: Path, with_sum: bool) -> dict[str, int]:
    """The size of a file, and its CRC-32."""
    facts = {"bytes": path.stat().st_size}
    if with_sum:
        with path.open("rb") as file:
            crc = 0
            while chunk := file.read(1 << 20):
                crc = zlib.crc32(chunk, crc)
        facts["crc32"] = crc
    return facts


def remembered_digest(path: Path, cache: Path) -> str:
    """SHA-256 of a file's bytes. For a large file with the same size and modification time, the remembered digest.

    Raises:
        BadDataError: the file cannot be read.
    """
    facts = path.stat()
    if facts.st_size < LARGE:
        return digest(path)
    place = hashlib.sha256(f"{path.resolve()} {facts.st_size} {facts.st_mtime_ns}".encode()).hexdigest()[:32]
    note = cache / "digests" / place
    with contextlib.suppress(OSError):
        return note.read_text(encoding="ascii")
    computed = digest(path)
    if time.time() - facts.st_mtime > SETTLED:
        with contextlib.suppress(OutputError):  # then it is computed again
            atomic_write_text(note, computed)
    return computed


def _key(reader: Reader, cache: Path) -> str:
    """Hash of the reader's name, version, settings and the names and content of its files, but not of where they are on disk."""
    files = reader.files()
    if gone := [path for path in files if not path.is_file()]:
        raise MissingDataError(f"{type(reader).__qualname__} reads {', '.join(map(str, gone))}, and there is no such file", gone)
    places = {str(place) for path in files for place in (path, *path.parents)}
    settings = asdict(reader)  # type: ignore[call-overload]  # a dataclass, as `require_reader` has seen to
    settings = {name: value for name, value in settings.items() if not _is_place(value, places)}
    made_by = f"{type(reader).__module__}.{type(reader).__qualname__}"
    facts = [LAYOUT, made_by, reader.version, settings, [(path.name, remembered_digest(path, cache)) for path in files]]
    return hashlib.sha256(json.dumps(facts, default=_spell, sort_keys=True).encode()).hexdigest()[:16]


def _is_place(setting: Any, places: set[str]) -> bool:
    """Whether a setting is the path of a file that is read, or of a folder above it."""
    return isinstance(setting, (str, Path)) and str(Path(setting).expanduser()) in places


def _spell(setting: Any) -> str:
    """A setting as text that is the same in every process. Raises ConfigError if it has none."""
    if isinstance(setting, partial):
        options = "".join(f" {option!r}" for option in (*setting.args, *sorted(setting.keywords.items())))
        return _spell(setting.func) + options
    if isinstance(setting, Path):
        return str(setting)
    if not hasattr(setting, "__qualname__"):
        raise ConfigError(f"a reader's setting is a {type(setting).__name__}: numbers, words, lists of them and functions are expected")
    return f"{setting.__module__}.{setting.__qualname__}"
