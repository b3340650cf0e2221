"""Files that a reader, or a crash, never meets half of: each is written beside its place, then put into it."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EISDIR
from pathlib import Path
from tempfile import TemporaryFile

from filelock import FileLock, Timeout

from qaexp.errors import OutputError

log = logging.getLogger(__name__)


def name_another_place(option: str) -> str:
    """The remedy for a folder that is full or read-only.

    >>> name_another_place("--csv FILE")
    'Free some space there, or name another place with --csv FILE'
    """
    return f"Free some space there, or name another place with {option}"


RUNS_REMEDY = name_another_place("output_dir=FOLDER")
RESULTS_REMEDY = name_another_place("--results FOLDER")
FIGURES_REMEDY = name_another_place("--to FOLDER")


@contextmanager
def atomic_write(path: Path, remedy: str = RUNS_REMEDY) -> Iterator[Path]:
    """A place beside `path`: what the block writes there takes the place of `path` as the block ends. Folders are made.

    Raises:
        OutputError: a folder is full, read-only or no folder; ends with `remedy`. What was at `path` stays.
    """
    staging = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield staging
        os.replace(staging, path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}. {remedy}") from error
    finally:
        with suppress(OSError):  # it is in place, or was never made
            staging.unlink()


def atomic_write_text(path: Path, text: str, remedy: str = RUNS_REMEDY) -> None:
    """Write a text file, in UTF-8.

    Raises:
        OutputError: as `atomic_write`.
    """
    with atomic_write(path, remedy) as staging:
        staging.write_text(text, encoding="utf-8", newline="\n")


def require_writable(path: Path, remedy: str = RUNS_REMEDY) -> None:
    """Look beforehand whether a file can be put there. Folders are made.

    Raises:
        OutputError: as `atomic_write`.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=path.parent):
            if path.is_dir():
                raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}. {remedy}") from error


@contextmanager
def file_lock(lock_file: Path, doing: str) -> Iterator[bool]:
    """Hold `lock_file` until the block ends; gives whether another process had to be waited for, which is then told to be `doing` it.

    The file is there only as long as it is held; one that a killed process has left is in nobody's way.

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
        lock_file.unlink(missing_ok=True)  # while it is held: whoever waits for it makes another
        lock.release()
