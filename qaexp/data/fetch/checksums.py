"""Checks that a file on disk is the published one, by its git blob id or else its number of lines."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from qaexp.data.fetch.remotes import Content
from qaexp.data.files import CUT_OFF, opened
from qaexp.errors import plural

CHUNK = 1 << 20


def git_blob_id(path: Path, packed: bool = False) -> str:
    """SHA-1 of `blob <size>\\0` and the bytes; `packed`: of the uncompressed bytes of a gzip file."""
    size = sum(map(len, _chunks(path, packed))) if packed else path.stat().st_size
    sha = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    for chunk in _chunks(path, packed):
        sha.update(chunk)
    return sha.hexdigest()


def fault(content: Content, path: Path, packed: bool = False) -> str | None:
    """Returns what is wrong with the copy of `content` at `path`, or None. It continues a sentence that starts with the file name."""
    try:
        return _blob_fault(content, path, packed) if content.blob_id else _lines_fault(content, path, packed)
    except CUT_OFF:
        return "is not a whole gzip file"


def verified(content: Content) -> str:
    """How a correct file was checked, for a message.

    >>> verified(Content("a", blob_id="00")), verified(Content("a"))
    ('git blob id verified', 'not verified: no checksum is known')
    """
    if content.blob_id:
        return "git blob id verified"
    return "not verified: no checksum is known" + (f", but its {content.lines:,} lines are as many as published" if content.lines else "")


def _blob_fault(content: Content, path: Path, packed: bool) -> str | None:
    got = git_blob_id(path, packed)
    return None if got == content.blob_id else f"has the git blob id {got}, {content.blob_id} expected"


def _lines_fault(content: Content, path: Path, packed: bool) -> str | None:
    if content.lines is None:
        return None if path.stat().st_size else "is empty"
    got = sum(chunk.count(b"\n") for chunk in _chunks(path, packed))
    return None if got == content.lines else f"has {plural(got, 'line')}, {content.lines:,} expected"


def _chunks(path: Path, packed: bool) -> Iterator[bytes]:
    with opened(path) if packed else path.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk
