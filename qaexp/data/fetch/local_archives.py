"""Takes files from a folder, a zip or tar archive or a single file on disk, by their names."""

import contextlib
import gzip
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from io import BufferedIOBase
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from qaexp.data.fetch.checksums import CHUNK, fault
from qaexp.data.fetch.remotes import Content, PublishedFile
from qaexp.data.files import UNREADABLE
from qaexp.errors import MissingDataError


class Copies:
    """The files in `path`, a folder, an archive or a single file.

    Raises:
        MissingDataError: `path` does not exist or may not be read.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise MissingDataError(f"{path} does not exist; give --from a folder, an archive or a file that does")
        if not os.access(path, os.R_OK):
            raise MissingDataError(f"{path} may not be read; change its permissions or copy it elsewhere")
        self.path = path

    def copy(self, content: Content, part: Path) -> None:
        """Write the first verified copy of `content` to `part`. A `.gz` copy is unpacked, unless `content` itself is a `.gz` file.

        Raises:
            MissingDataError: there is none. Tells what is wrong with each file of that name; `part` is removed.
        """
        wrong: list[str] = []
        try:
            with self._opened() as files:
                for name, open_file in _named(content, files):
                    with open_file() as packed, _unpacked(packed, name, content) as source, part.open("wb") as out:
                        whole = _copy(source, out, content.max_bytes)
                    found = fault(content, part) if whole else f"has more than {content.max_bytes:,} bytes"
                    if found is None:
                        return
                    wrong.append(f"{name} {found}")
        except (*UNREADABLE, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:  # bz2 raises an OSError without errno for a corrupt archive
                raise
            wrong.append(f"{self.path} cannot be read: {error}")
        part.unlink(missing_ok=True)
        raise MissingDataError(f"{content.path} ({'; '.join(wrong) or f'not in {self.path}'})")

    def archive(self, file: PublishedFile) -> "Copies":
        """The archive in which `file` is published, if these copies include it; otherwise these copies."""
        if self.path.is_file():
            return self
        with self._opened() as files:
            here = [self.path / name for name, _ in _named(file, files)]
        return Copies(here[0]) if here and here[0].is_file() else self

    @contextlib.contextmanager
    def _opened(self) -> Iterator[dict[str, Callable[[], BufferedIOBase]]]:
        """Each file's name below `path`, and how to open it. An archive is listed as well, as it may itself be wanted."""
        with contextlib.ExitStack() as stack:
            if self.path.is_dir():
                yield {str(path.relative_to(self.path)): _opener(path) for path in _files(self.path)}
                return
            files = {self.path.name: _opener(self.path)}
            if zipfile.is_zipfile(self.path):
                archive = stack.enter_context(zipfile.ZipFile(self.path))
                files |= {info.filename: _zip_opener(archive, info) for info in archive.infolist() if not (info.is_dir() or _is_link(info))}
            elif tarfile.is_tarfile(self.path):
                tar = stack.enter_context(tarfile.open(self.path))
                files |= {info.name: _tar_opener(tar, info) for info in tar.getmembers() if info.isfile()}
            yield files


def _copy(source: BufferedIOBase, out: BinaryIO, max_bytes: int | float) -> bool:
    """Copy at most about `max_bytes` bytes, since an archive of some kilobytes may unpack to terabytes. Returns whether everything was
    copied.
    """
    copied = 0
    while chunk := source.read(CHUNK):
        copied += len(chunk)
        if copied > max_bytes:
            return False
        out.write(chunk)
    return True


def _files(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != ".partial")
        yield from (Path(parent) / name for name in sorted(names))


def _named(content: Content, files: dict[str, Callable[[], BufferedIOBase]]) -> list[tuple[str, Callable[[], BufferedIOBase]]]:
    """The files with the right name, with or without `.gz`; first those whose folder has the right name, too."""
    wanted = PurePosixPath(content.path)
    names = {wanted.name, f"{wanted.name}.gz"}
    found = [(name, open_file) for name, open_file in files.items() if PurePosixPath(name).name in names]
    return sorted(found, key=lambda pair: PurePosixPath(pair[0]).parts[-len(wanted.parts) : -1] != wanted.parts[:-1])


@contextlib.contextmanager
def _unpacked(source: BufferedIOBase, name: str, content: Content) -> Iterator[BufferedIOBase]:
    if name.endswith(".gz") and not content.path.endswith(".gz"):
        with gzip.open(source) as unpacked:
            yield cast(BufferedIOBase, unpacked)
    else:
        yield source


def _opener(path: Path) -> Callable[[], BufferedIOBase]:
    def open_file() -> BufferedIOBase:
        try:
            return path.open("rb")
        except OSError as error:
            raise MissingDataError(f"{path} (cannot be read: {error.strerror})") from error

    return open_file


def _is_link(info: zipfile.ZipInfo) -> bool:
    return stat.S_ISLNK(info.external_attr >> 16)


def _zip_opener(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Callable[[], BufferedIOBase]:
    return lambda: cast(BufferedIOBase, archive.open(info))


def _tar_opener(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Callable[[], BufferedIOBase]:
    return lambda: cast(BufferedIOBase, archive.extractfile(info))
