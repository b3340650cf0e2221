"""Makes things once: token files and word vectors are kept in the cache and memory-mapped ever after."""

import contextlib
import hashlib
import json
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from qaexp.data.corpus import RankingCorpus
from qaexp.data.files import digest
from qaexp.errors import ConfigError, OutputError
from qaexp.files import file_lock

log = logging.getLogger(__name__)

LAYOUT = 3
"""Raise it when the prepared files change their format; older ones are then left alone and never read."""

MANIFEST = "manifest.json"

DAMAGE = (OSError, ValueError, KeyError)
"""What looking for an entry raises that is not there, or not whole."""

LARGE = 1 << 26
"""Bytes from which on the digest of a file is remembered."""

SETTLED = 2.0
"""Seconds that a file must have been left alone before its digest is remembered: a later change then shows in its time."""

Kept = TypeVar("Kept")


@runtime_checkable
class Reader(Protocol):
    """A dataclass whose fields are its settings; one per corpus, in `qaexp/data/datasets/`."""

    version: int

    def files(self) -> list[Path]: ...

    def read(self) -> RankingCorpus: ...


def require_reader(reader: object) -> None:
    """Raises: ConfigError, when a class of the user's own lacks what a reader has."""
    if lacking := [part for part in ("version", "files", "read") if not hasattr(reader, part)]:
        raise ConfigError(
            f"{type(reader).__name__} is no reader, without {' and '.join(lacking)}: one has files(), the paths of what it reads, read(), "
            "which gives a RankingCorpus, and a version, raised when its code changes"
        )
    if not is_dataclass(reader) or isinstance(reader, type):
        raise ConfigError(f"{type(reader).__name__} is no reader: make it a dataclass, whose fields are its settings")


def prepared(reader: Reader, cache: Path) -> RankingCorpus:
    """The corpus of `reader`, from the cache when the very same files were read with the same settings before.

    Raises:
        ConfigError: it is no reader, or gives no corpus.
        MissingDataError, BadDataError: from the reader.
        OutputError: the cache cannot be written.
    """
    require_reader(reader)
    folder = cache / "corpora" / f"{type(reader).__name__.removesuffix('Reader').lower()}-{_key(reader, cache)}"

    def read() -> RankingCorpus:
        log.info("reading %s (once; kept in %s)", ", ".join(str(path) for path in reader.files()) or "the embedded data", folder)
        if not isinstance(corpus := reader.read(), RankingCorpus):
            given = f"{type(reader).__name__}.read() gives a {type(corpus).__name__}"
            raise ConfigError(f"{given}: a RankingCorpus is expected, as qaexp.data.corpus_builder.CorpusBuilder makes")
        return corpus

    return kept(folder, RankingCorpus.load, read, RankingCorpus.save)


def kept(folder: Path, load: Callable[[Path], Kept], make: Callable[[], Kept], save: Callable[[Kept, Path], None]) -> Kept:
    """What `load` finds in `folder`. If the folder is not there or damaged, it is made and saved first, by one process for all.

    The folder appears whole or not at all.

    Raises:
        OutputError: the folder cannot be written. Known before the work of making begins, unless the disk fills up later.
    """
    with contextlib.suppress(*DAMAGE):
        return _loaded(folder, load)
    with contextlib.ExitStack() as stack:
        with _output_errors(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(file_lock(folder.with_name(f".{folder.name}.lock"), f"making {folder}"))
            try:
                return _loaded(folder, load)  # another process has made it meanwhile
            except DAMAGE as error:
                if folder.is_dir():
                    log.warning("%s is damaged (%s): making it again", folder, error)
            for left in folder.parent.glob(f".{folder.name}-*"):  # by a process that was killed
                shutil.rmtree(left, ignore_errors=True)
            staging = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        stack.callback(shutil.rmtree, staging, ignore_errors=True)
        made = make()
        with _output_errors(folder):
            save(made, staging / "new")
            sizes = {path.name: path.stat().st_size for path in (staging / "new").iterdir()}
            (staging / "new" / MANIFEST).write_text(json.dumps(sizes, indent=1, sort_keys=True), encoding="utf-8")
            _install(staging, folder)
    return load(folder)


def _loaded(folder: Path, load: Callable[[Path], Kept]) -> Kept:
    """Raises: one of DAMAGE, when it is not there or not whole."""
    _require_whole(folder)
    return load(folder)


def _install(staging: Path, folder: Path) -> None:
    """Move `staging/new` to `folder`, in one step. A damaged folder there gives way; a whole one is another process's, and as good."""
    with contextlib.suppress(OSError, ValueError):
        _require_whole(folder)
        return
    with contextlib.suppress(FileNotFoundError):
        os.replace(folder, staging / "damaged")
    try:
        os.replace(staging / "new", folder)
    except OSError:
        if not folder.is_dir():
            raise


def _require_whole(folder: Path) -> None:
    """Raises: OSError or ValueError, when a file is lacking or has another size than it was written with."""
    for name, size in json.loads((folder / MANIFEST).read_text(encoding="utf-8")).items():
        if (folder / name).stat().st_size != size:
            raise ValueError(f"{name} does not have its {size} bytes")


@contextlib.contextmanager
def _output_errors(folder: Path) -> Iterator[None]:
    """Turns what the file system refuses into one sentence with its remedy."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"cannot write {folder}: {error.strerror or error}. Free some space there, or name another place with cache_dir=FOLDER"
        ) from error


def remembered_digest(path: Path, cache: Path) -> str:
    """SHA-256 of a file's bytes; of a large file that has kept its size and time of change, as it was computed before.

    Raises:
        BadDataError: the file may not be read.
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
        with contextlib.suppress(OSError):  # then it is computed again
            note.parent.mkdir(parents=True, exist_ok=True)
            part = note.with_suffix(f".{os.getpid()}")
            part.write_text(computed, encoding="ascii")
            os.replace(part, note)
    return computed


def _key(reader: Reader, cache: Path) -> str:
    """Reader, version, settings and content of the files; their place on the disk is left out."""
    files = reader.files()
    places = {str(place) for path in files for place in (path, *path.parents)}
    settings = asdict(reader)  # type: ignore[call-overload]  # a dataclass, as `require_reader` has seen to
    settings = {name: value for name, value in settings.items() if not _is_place(value, places)}
    made_by = f"{type(reader).__module__}.{type(reader).__qualname__}"
    facts = [LAYOUT, made_by, reader.version, settings, [remembered_digest(path, cache) for path in files]]
    return hashlib.sha256(json.dumps(facts, default=_spell, sort_keys=True).encode()).hexdigest()[:16]


def _is_place(setting: Any, places: set[str]) -> bool:
    """Whether a setting says where what is read lies."""
    return isinstance(setting, (str, Path)) and str(Path(setting).expanduser()) in places


def _spell(setting: Any) -> str:
    """Raises: ConfigError, for what has no name that another process would give it, too."""
    if isinstance(setting, partial):
        options = "".join(f" {option!r}" for option in (*setting.args, *sorted(setting.keywords.items())))
        return _spell(setting.func) + options
    if isinstance(setting, Path):
        return str(setting)
    if not hasattr(setting, "__qualname__"):
        raise ConfigError(f"a reader's setting is a {type(setting).__name__}: numbers, words, lists of them and functions are expected")
    return f"{setting.__module__}.{setting.__qualname__}"
