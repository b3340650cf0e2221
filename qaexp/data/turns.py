"""One process at a time at what several of them need."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

log = logging.getLogger(__name__)


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
