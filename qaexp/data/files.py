"""Opening published files, plain or gzipped, and saying clearly what is wrong with them."""

import gzip
import hashlib
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from qaexp.errors import BadDataError, MissingDataError


def locate(paths: Sequence[Path], hint: str) -> list[Path]:
    """Each path as it lies on disk, itself or with `.gz` added.

    Raises:
        MissingDataError: some are absent; names all of them, and `hint` says where they are published and how to fetch them.
    """
    found = [next((p for p in (path, Path(f"{path}.gz")) if p.is_file()), None) for path in paths]
    missing = [str(path) for path, there in zip(paths, found, strict=True) if there is None]
    if missing:
        listing = "\n".join(f"  {path}" for path in missing)
        raise MissingDataError(f"missing (plain or .gz):\n{listing}\n{hint}")
    return [path for path in found if path is not None]


def lines(path: Path, remedy: str) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file with their numbers, from 1.

    Raises:
        BadDataError: the gzip stream is cut off or corrupt, or a line is not UTF-8.
    """
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                yield number, line.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise BadDataError(path, [f"line {number}: byte {error.start + 1} is not UTF-8 ({error.reason})"], remedy) from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise BadDataError(path, [f"after line {number}: the compressed file is cut off or corrupt ({error})"], remedy) from None


def records(path: Path, num_fields: int, remedy: str) -> Iterator[tuple[int, list[str]]]:
    """The tab-separated fields of each line with their line numbers. Quotes are plain characters.

    Raises:
        BadDataError: after the last line, listing every line with another number of fields; or as `lines` does.
    """
    faults = []
    for number, line in lines(path, remedy):
        fields = line.split("\t")
        if len(fields) == num_fields:
            yield number, fields
        else:
            faults.append(f"line {number}: {len(fields)} field{'s' if len(fields) != 1 else ''}, {num_fields} expected")
    if faults:
        raise BadDataError(path, faults, remedy)


def digest(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Faults:
    """Collects what is wrong with one file, to report it all at once."""

    def __init__(self, path: Path, remedy: str) -> None:
        self._path, self._remedy, self._found = path, remedy, list[str]()

    def add(self, line: int, fault: str) -> None:
        self._found.append(f"line {line}: {fault}")

    def raise_if_any(self) -> None:
        if self._found:
            raise BadDataError(self._path, self._found, self._remedy)
