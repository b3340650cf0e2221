"""Whether a file on disk is the published one: git blob id, SHA-256, or at least the number of lines."""

import gzip
import hashlib
import zlib
from collections.abc import Callable, Iterator
from io import BufferedIOBase
from pathlib import Path
from typing import cast

from qaexp.data.remotes import Content

CHUNK = 1 << 20


def git_blob_id(path: Path, packed: bool = False) -> str:
    """SHA-1 of `blob <size>\\0` and the bytes; of the bytes inside where `packed` says that the file is gzipped."""
    size = sum(map(len, _chunks(path, packed))) if packed else path.stat().st_size
    sha = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    for chunk in _chunks(path, packed):
        sha.update(chunk)
    return sha.hexdigest()


def sha256(path: Path, packed: bool = False) -> str:
    """SHA-256 of the bytes, as for `git_blob_id`."""
    sha = hashlib.sha256()
    for chunk in _chunks(path, packed):
        sha.update(chunk)
    return sha.hexdigest()


_CHECKSUMS: dict[str, tuple[str, Callable[[Path, bool], str]]] = {"git": ("git blob id", git_blob_id), "sha256": ("SHA-256", sha256)}


def fault(content: Content, path: Path, packed: bool = False) -> str | None:
    """What is wrong with the copy of `content` at `path`, to follow its name in a sentence; None if nothing is."""
    try:
        return _checksum_fault(content, path, packed) if content.checksum else _lines_fault(content, path, packed)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        return "is not a whole gzip file"


def verified(content: Content) -> str:
    """What a file without fault has been checked by.

    >>> verified(Content("a", checksum="git:00")), verified(Content("a"))
    ('git blob id verified', 'not verified: no checksum is known')
    """
    if content.checksum:
        return f"{_CHECKSUMS[content.checksum.partition(':')[0]][0]} verified"
    return "not verified: no checksum is known" + (f", but its {content.lines:,} lines are as many as published" if content.lines else "")


def _checksum_fault(content: Content, path: Path, packed: bool) -> str | None:
    kind, _, expected = (content.checksum or "").partition(":")
    label, compute = _CHECKSUMS[kind]
    got = compute(path, packed)
    return None if got == expected else f"has the {label} {got}, {expected} expected"


def _lines_fault(content: Content, path: Path, packed: bool) -> str | None:
    if content.lines is None:
        return None if path.stat().st_size else "is empty"
    got = sum(chunk.count(b"\n") for chunk in _chunks(path, packed))
    return None if got == content.lines else f"has {got:,} line{'s' if got != 1 else ''}, {content.lines:,} expected"


def _chunks(path: Path, packed: bool) -> Iterator[bytes]:
    with cast(BufferedIOBase, gzip.open(path)) if packed else path.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk
