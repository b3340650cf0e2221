"""Installs a published data set: correct files stay, the others are downloaded or copied, verified and moved into place.

A file is downloaded into a folder `.partial` beside its place and moved there in one step after it has been verified. So a reader
never sees half a file, and the next fetch continues where this one stopped. A second fetch of the same set waits for the first.
"""

import contextlib
import logging
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import requests

from qaexp.data.fetch.checksums import fault, verified
from qaexp.data.fetch.download import Downloader, UnreachableError
from qaexp.data.fetch.local_archives import Copies
from qaexp.data.fetch.remotes import Content, PublishedFile, PublishedSet
from qaexp.errors import MissingDataError, QaexpError
from qaexp.files import file_lock, output_errors

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fetch:
    """Fetches sets into `root`."""

    root: Path
    source: Copies | Downloader
    replace: bool = False
    """Overwrite wrong files."""

    def run(self, published: PublishedSet) -> None:
        """Fetch the set's missing files. If one fails, the others are still fetched.

        Raises:
            MissingDataError: at least one file could not be fetched. Names each with the reason and the remedy.
            OutputError: the disk is full, or the folder cannot be written to.
        """
        folder = self.root / published.folder
        done: Counter[str] = Counter()
        failures: list[str] = []
        for file in published.files:
            try:
                with _clear_disk_errors(folder):
                    done.update(self._fetch(file, folder))
            except UnreachableError as error:
                raise MissingDataError(
                    f"{published.name}: no connection for {error}; run the same command again to resume, or {_by_hand(published)}"
                ) from error
            except MissingDataError as error:
                failures.append(str(error))
        if failures:
            raise MissingDataError(f"{published.name}: could not get {'; '.join(failures)}: {self._remedy(published)}")
        log.info("%s is complete in %s (%s)", published.name, folder, ", ".join(f"{n} {what}" for what, n in done.items()))
        log.info("use it with %s", published.use)
        if published.note:
            log.warning("note: %s", published.note)
        log.info("terms of use: %s", published.terms)

    def _fetch(self, file: PublishedFile, folder: Path) -> list[str]:
        """What was done for each content of `file`."""
        wanted = [content for content in file.contents if not self._there(content, folder)]
        if wanted:
            folder.mkdir(parents=True, exist_ok=True)
            with file_lock(folder / ".lock", f"fetching into {folder}") as waited:  # two processes would share a partial file
                wanted = [content for content in wanted if not (waited and self._there(content, folder))]
                if wanted:
                    self._get(file, wanted, folder)
        how = "copied" if isinstance(self.source, Copies) else "fetched"
        return ["already there"] * (len(file.contents) - len(wanted)) + [how] * len(wanted)

    def _get(self, file: PublishedFile, wanted: Sequence[Content], folder: Path) -> None:
        if isinstance(self.source, Copies):
            self._copy(self.source.archive(file) if file.members else self.source, wanted, folder)
        else:
            self._download(self.source, file, wanted, folder)

    def _there(self, content: Content, folder: Path) -> bool:
        """Whether a correct copy is in place, plain or gzipped. If both exist, the plain one counts, as for the readers.

        Raises:
            MissingDataError: the copy in place is wrong and `replace` is off.
        """
        for path, packed in ((folder / content.path, False), (folder / f"{content.path}.gz", True)):
            if not path.is_file():
                continue
            wrong = fault(content, path, packed)
            if wrong is None:
                _say(f"{path}: already there", content)
                return True
            if not self.replace:
                raise MissingDataError(f"{path} (it is there, but {wrong}; --replace overwrites it)")
            log.warning("%s %s: replaced", path, wrong)
            return False
        return False

    def _download(self, downloader: Downloader, file: PublishedFile, wanted: Sequence[Content], folder: Path) -> None:
        partial = _part(folder / file.path).parent
        try:
            downloaded = downloader.download(file, partial)
            if file.members:
                self._take(downloaded, wanted, folder)
            else:
                _install(downloaded, folder, file, "fetched")
        finally:
            _tidy(partial)

    def _take(self, archive: Path, wanted: Sequence[Content], folder: Path) -> None:
        """Take the wanted files out of a downloaded archive, then remove it. A broken one is removed, too; after a full disk it stays."""
        try:
            self._copy(Copies(archive), wanted, folder)
        except MissingDataError:
            archive.unlink()
            raise
        archive.unlink()

    def _copy(self, copies: Copies, wanted: Sequence[Content], folder: Path) -> None:
        for content in wanted:
            part = _part(folder / content.path)
            try:
                copies.copy(content, part)
                _install(part, folder, content, "copied" if copies is self.source else f"taken from {copies.path.name}")
            finally:
                part.unlink(missing_ok=True)
                _tidy(part.parent)

    def _remedy(self, published: PublishedSet) -> str:
        if isinstance(self.source, Copies):
            return f"download the missing files with `qaexp data fetch {published.name}`"
        return f"run the same command again later, or {_by_hand(published)}"


def _by_hand(published: PublishedSet) -> str:
    return f"get the files yourself from {published.page} and run `qaexp data fetch {published.name} --from FOLDER_OR_ARCHIVE`"


def _part(target: Path) -> Path:
    """Where `target` is written before it is moved into place."""
    part = target.parent / ".partial" / f"{target.name}.copy"
    part.parent.mkdir(parents=True, exist_ok=True)
    return part


def _install(part: Path, folder: Path, content: Content, how: str) -> None:
    """Move a verified file into its place and remove a gzipped copy beside it."""
    target = folder / content.path
    with part.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(part, target)
    Path(f"{target}.gz").unlink(missing_ok=True)
    _say(f"{target}: {how}, {target.stat().st_size:,} bytes", content)


def _tidy(partial: Path) -> None:
    with contextlib.suppress(OSError):  # not empty: other files can still be resumed
        partial.rmdir()


def _say(message: str, content: Content) -> None:
    log.log(logging.INFO if content.blob_id else logging.WARNING, "%s, %s", message, verified(content))


@contextlib.contextmanager
def _clear_disk_errors(folder: Path) -> Iterator[None]:
    """Turn an error of the file system into one sentence with its remedy."""
    try:
        yield
    except (QaexpError, requests.RequestException):
        raise
    except OSError as error:
        with output_errors(Path(error.filename or folder), "choose another folder with --data DIR or QAEXP_DATA; the same command resumes"):
            raise
