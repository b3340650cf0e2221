"""Atomic writes and file locks. A crash or a concurrent reader never sees half of a file."""

import logging
import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EDQUOT, EISDIR, ENOSPC
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from qaexp.errors import OutputError

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)


FULL = (ENOSPC, EDQUOT)
"""The error numbers of a full disk."""


def name_another_place(option: str) -> str:
    """The remedy for a folder that cannot be written."""
    return f"name another place with {option}"


RUNS_REMEDY = name_another_place("output_dir=FOLDER")
CACHE_REMEDY = name_another_place("cache_dir=FOLDER")
RESULTS_REMEDY = name_another_place("--results FOLDER")
FIGURES_REMEDY = name_another_place("--to FOLDER")


@contextmanager
def output_errors(path: Path, remedy: str) -> Iterator[None]:
    """Turns an error of the file system into an OutputError that ends with `remedy`. If the disk is full, it also advises to free space."""
    try:
        yield
    except OSError as error:
        in_the_way = next((folder for folder in path.parents if folder.is_file()), None)
        why = f"{in_the_way} is a file, and a folder is needed there" if in_the_way else error.strerror or error
        what = f"free some space there, or {remedy}" if error.errno in FULL else remedy
        raise OutputError(f"cannot write {path}: {why}; {what}") from error


@contextmanager
def atomic_write(path: Path, remedy: str = RUNS_REMEDY) -> Iterator[Path]:
    """Gives a temporary path beside `path`, which replaces `path` when the block ends without an error. Makes folders as needed.

    Raises:
        OutputError: the file cannot be written; the message ends with `remedy`. An earlier file at `path` is kept.
    """
    if not path.name:
        raise OutputError(f"cannot write {path}: it is a folder; name a file in it")
    staging = path.with_name(f".{path.name}.{secrets.token_hex(8)}")  # no pid: containers that share a disk have the same ones
    try:
        with output_errors(path, remedy):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield staging
            os.replace(staging, path)
    finally:
        _remove(staging)  # unless it was moved, or never made


def atomic_write_text(path: Path, text: str, remedy: str = RUNS_REMEDY) -> None:
    """Write a UTF-8 text file atomically.

    Raises:
        OutputError: as `atomic_write`.
    """
    with atomic_write(path, remedy) as staging:
        staging.write_text(text, encoding="utf-8", newline="\n")


def read_small_text(path: Path, max_bytes: int = 1 << 26) -> str:
    """The text of a UTF-8 file that may come from an untrusted source.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not a regular file (a pipe may never end), has more than `max_bytes`, or is not UTF-8.
    """
    if path.exists() and not path.is_file():
        raise ValueError("it is not a file")
    with path.open("rb") as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise ValueError(f"it has more than {max_bytes:,} bytes")
    return content.decode("utf-8")


MAX_DEPTH, MAX_INTEGER = 30, 1 << 64


def nested_values(content: Any, max_values: int = sys.maxsize) -> Iterator[Any]:
    """Each value of nested dicts, lists and tuples, keys included. A value in two places counts twice.

    >>> list(nested_values({"a": [1, None]}))
    [{'a': [1, None]}, [1, None], None, 1, 'a']

    Raises:
        ValueError: there are more than `max_values`, they are nested deeper than MAX_DEPTH, or an integer has more than 64 bits.
    """
    left, seen = [(content, 0)], 0
    while left:
        value, depth = left.pop()
        inner = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
        seen += 1
        if seen + len(left) + len(inner) > max_values:
            raise ValueError(f"it has more than {max_values:,} values")
        if depth > MAX_DEPTH:
            raise ValueError("it is nested too deeply")
        if isinstance(value, int) and abs(value) >= MAX_INTEGER:
            raise ValueError("it has a number of more than 64 bits")
        yield value
        left += [(each, depth + 1) for each in inner]


def csv_text(table: "pd.DataFrame") -> str:
    """A table as CSV. A text that a spreadsheet would read as a formula gets a leading apostrophe.

    >>> import pandas as pd
    >>> print(csv_text(pd.DataFrame({"word": ["=1+1", "-0.5", "a,b"], "score": [-1.0, 0.5, 1.0]})))
    word,score
    '=1+1,-1.0
    -0.5,0.5
    "a,b",1.0
    <BLANKLINE>
    """

    def as_text(value: Any) -> Any:
        return f"'{value}" if isinstance(value, str) and re.match(r"[=+\-@\t\r](?!$|[\d.,]+$)", value) else value

    safe, texts = table.copy(), table.select_dtypes(exclude=["number", "bool"]).columns
    safe[texts] = table[texts].map(as_text)
    return safe.rename(columns=as_text).to_csv(index=False)


def remove_staging(folder: Path) -> None:
    """Remove the temporary files and folders of `atomic_write` that killed processes left behind.

    The caller must hold the folder's lock.
    """
    for path in folder.glob(".*.*"):
        if re.fullmatch(r"\..+\.[0-9a-f]{16}", path.name):
            _remove(path)


def _remove(path: Path) -> None:
    """Remove a file or a folder. It is no error if it is missing or cannot be removed."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        path.unlink()


def require_writable(path: Path, remedy: str = RUNS_REMEDY) -> None:
    """Check that a file can be written to `path`. Makes folders as needed.

    Raises:
        OutputError: as `atomic_write`.
    """
    with output_errors(path, remedy):
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=path.parent):
            if path.is_dir():
                raise IsADirectoryError(EISDIR, os.strerror(EISDIR))


@contextmanager
def file_lock(lock_file: Path, doing: str) -> Iterator[bool]:
    """Hold a lock during the block. Yields whether it had to wait for another process; the log says what that process is `doing`.

    The lock file is removed afterwards. A file that a killed process left behind does not block anyone.

    Raises:
        OSError: its folder cannot be written.
    """
    lock, waited = FileLock(lock_file, thread_local=False), False
    try:
        lock.acquire(blocking=False)
    except Timeout:
        waited = True
        log.info("another process is %s: waiting until it is done", doing)
        lock.acquire()
    try:
        yield waited
    finally:
        lock_file.unlink(missing_ok=True)  # while the lock is held; a process that waits for it makes a new file
        lock.release()
