"""Opens published files, plain or compressed, and reports what is wrong with them."""

import bz2
import gzip
import hashlib
import json
import lzma
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import lru_cache, partial
from io import BufferedIOBase, BufferedReader, RawIOBase
from pathlib import Path
from typing import Any, NoReturn, cast

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, ProgressColumn

from qaexp.errors import BadDataError, MissingDataError, plural

MAX_LINE = 1 << 26
"""Bytes. A longer line is a fault, before it fills the memory."""

MAX_FAULTS, MAX_FAULT = 10_000, 300
"""Reading a file stops after MAX_FAULTS faults; each is cut at MAX_FAULT characters."""

CUT_OFF = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
"""Raised on reading a damaged compressed file."""

PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"PK\x03\x04": "zip", b"\x93NUMPY": "numpy"}
"""The first bytes of packed files and of NumPy arrays."""

UNREADABLE = (tarfile.TarError, *CUT_OFF, RuntimeError, NotImplementedError)
"""Raised on reading a broken or encrypted archive."""


class Faults:
    """Collects the faults of one file and reports all at once: `with Faults(path, remedy) as faults: ...`.

    Raises, at the end of the block:
        BadDataError: lists the faults in the order of the lines.
    """

    def __init__(self, path: Path, remedy: str) -> None:
        self.path = path
        self._remedy, self._found = remedy, list[tuple[int, str]]()

    def add(self, line: int, fault: str) -> None:
        self._found.append((line, f"line {line}: {fault[:MAX_FAULT]}{' ...' if len(fault) > MAX_FAULT else ''}"))
        if len(self._found) > MAX_FAULTS:
            self._raise()

    def add_whole(self, fault: str) -> None:
        """Add a fault of the whole file. It is listed first, because it may cause the others."""
        self._found.append((0, fault))

    def __bool__(self) -> bool:
        return bool(self._found)

    def __enter__(self) -> "Faults":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self and kind is None:
            self._raise()

    def _raise(self) -> NoReturn:
        in_order = sorted(self._found, key=lambda found: found[0])
        raise BadDataError(self.path, [fault for _, fault in in_order], self._remedy)


def published(path: Path, hint: str) -> Faults:
    """Faults of a published file; `hint` tells where it is published and how to fetch it."""
    return Faults(path, f"The file is not as it was published. {hint}")


def locate(paths: Sequence[Path], hint: str) -> list[Path]:
    """Each path as found on disk, plain or with `.gz` added; `~` is the home folder.

    Raises:
        MissingDataError: some are missing. Names all of them; `hint` tells where they are published and how to fetch them.
    """
    paths = [path.expanduser() for path in paths]
    found = [next((p for p in (path, Path(f"{path}.gz")) if p.is_file()), None) for path in paths]
    missing = [path for path, there in zip(paths, found, strict=True) if there is None]
    if missing:
        listing = "\n".join(f"  {path}" for path in missing)
        raise MissingDataError(f"missing (plain or .gz):\n{listing}\n{hint}", missing)
    return [path for path in found if path is not None]


@contextmanager
def opened(path: Path) -> Iterator[BufferedIOBase]:
    """A file for reading bytes, decompressed if its first bytes say so, whatever its name: gzip, bzip2, xz, or a zip of one file. A bar on
    the terminal shows how far it is read.

    Raises:
        BadDataError: it is a NumPy array, or a zip that holds several files, is encrypted, or uses an unsupported compression.
    """
    kind = _kind(path)
    if kind == "numpy":
        raise BadDataError(path, ["it is a NumPy array, not text"], "Write it as text, or name another file.")
    openers = {"plain": nullcontext, "gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open, "zip": partial(_only_member, path)}
    with (
        progress() as bar,
        BufferedReader(cast(RawIOBase, bar.open(path, "rb", description=escape(path.name)))) as packed,
        cast(BufferedIOBase, openers[kind](packed)) as file,
    ):
        yield file


def is_packed(path: Path) -> bool:
    """Whether the first bytes of a file are those of a compressed one."""
    return _kind(path) != "plain"


def _kind(path: Path) -> str:
    """One of `PACKED`, or plain, by the first bytes of a file."""
    with path.open("rb") as file:
        start = file.read(max(map(len, PACKED)))
    return next((kind for mark, kind in PACKED.items() if start.startswith(mark)), "plain")


def _only_member(path: Path, packed: BufferedIOBase) -> BufferedIOBase:
    archive = zipfile.ZipFile(packed)
    members = [member for member in archive.infolist() if not member.is_dir()]
    try:
        if len(members) == 1:
            return cast(BufferedIOBase, archive.open(members[0]))
        fault = f"it is a zip of {len(members)} files"
    except RuntimeError as error:  # with a password, or compressed in another way
        fault = f"it is a zip that cannot be read here ({error})"
    raise BadDataError(path, [fault], "Unpack it, and name the file that is needed.")


def lines(faults: Faults) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file with their numbers, from 1, without blank lines at its end. Other encodings and a truncated or empty file
    are faults."""
    number = 0
    for number, line in enumerate(raw_lines(faults), start=1):
        if number == 1 and b"\0" in line:
            faults.add_whole("the file has zero bytes, so it is UTF-16; save it as UTF-8")
            return
        try:
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            faults.add(number, f"byte {error.start + 1} is not UTF-8 ({error.reason})")
    if number == 0 and not faults:
        faults.add_whole("the file is empty")


def raw_lines(faults: Faults) -> Iterator[bytes]:
    """The lines of a file as bytes, up to where it cannot be read. Blank lines at its end are skipped."""
    number, blank = 0, list[bytes]()
    try:
        with opened(faults.path) as file:
            while line := file.readline(MAX_LINE + 1):
                number += 1
                if len(line) > MAX_LINE:
                    faults.add(number, f"it has more than {MAX_LINE:,} bytes, and was read no further")
                    return
                if line.isspace():
                    blank.append(line)
                    continue
                yield from blank
                blank.clear()
                yield line
    except CUT_OFF as error:
        faults.add_whole(f"after line {number}: the compressed file is cut off or corrupt ({error})")
    except OSError as error:  # bz2 raises nothing more specific
        faults.add_whole(f"after line {number}: it cannot be read to its end: {error}")


def from_json(text: str) -> Any:
    """The value of a JSON text. Raises: JSONDecodeError, also for text that Python's reader refuses with other errors: deep nesting, or
    numbers of thousands of digits.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except RecursionError as error:
        raise json.JSONDecodeError("nested too deeply", text, 0) from error
    except ValueError as error:
        raise json.JSONDecodeError("a number has too many digits", text, 0) from error


def json_lines(faults: Faults) -> Iterator[tuple[int, Any]]:
    """The values of a file with a JSON value in each line, with their line numbers. A line that is not JSON is a fault."""
    for number, line in lines(faults):
        try:
            value = from_json(line)
        except json.JSONDecodeError as error:
            faults.add(number, f"it is not JSON: {error.msg} at column {error.colno}")
            continue
        yield number, value


def records(faults: Faults, num_fields: int) -> Iterator[tuple[int, list[str]]]:
    """The tab-separated fields of each line with their line numbers; another number of fields is a fault. Quotes are plain characters."""
    for number, line in lines(faults):
        fields = line.split("\t")
        if len(fields) == num_fields:
            yield number, fields
        else:
            faults.add(number, f"{plural(len(fields), 'field')}, {num_fields} expected")


def digest(path: Path) -> str:
    """SHA-256 of a file's bytes.

    Raises:
        BadDataError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BadDataError(path, [f"it cannot be read: {error.strerror or error}"], "Check the file's permissions and its disk.") from error


@lru_cache(maxsize=1)
def screen(stream: Any) -> Console:
    """The console of a stream. Live displays of one console do not overwrite each other."""
    return Console(file=stream)


def progress(*columns: ProgressColumn) -> Progress:
    """A progress bar on standard error, below the bars already shown. It disappears at the end. Without a terminal there is none."""
    return Progress(*columns, console=screen(sys.stderr), disable=not sys.stderr.isatty(), transient=True)
