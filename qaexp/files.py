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


def elsewhere(option: str) -> str:
    """The remedy for a folder that is full or read-only.

    >>> elsewhere("--csv FILE")
    'Free some space there, or name another place with --csv FILE'
    """
    return f"Free some space there, or name another place with {option}"


OF_RUNS, OF_RESULTS, OF_FIGURES = elsewhere("output_dir=FOLDER"), elsewhere("--results FOLDER"), elsewhere("--to FOLDER")


@contextmanager
def whole(path: Path, remedy: str = OF_RUNS) -> Iterator[Path]:
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


def write_whole(path: Path, text: str, remedy: str = OF_RUNS) -> None:
    """Write a text file, in UTF-8.

    Raises:
        OutputError: as `whole`.
    """
    with whole(path, remedy) as staging:
        staging.write_text(text, encoding="utf-8", newline="\n")


def require_writable(path: Path, remedy: str = OF_RUNS) -> None:
    """Look beforehand whether a file can be put there. Folders are made.

    Raises:
        OutputError: as `whole`.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=path.parent):
            if path.is_dir():
                raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}. {remedy}") from error


@contextmanager
def turn(lock_file: Path, doing: str) -> Iterator[bool]:
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
