"""One file over HTTP: mirrors in order, resumed where a connection was cut, tried again with growing pauses."""

import contextlib
import logging
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import requests
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from qaexp.data.fetch.checksums import fault
from qaexp.data.fetch.remotes import PublishedFile
from qaexp.data.files import progress
from qaexp.errors import MissingDataError

log = logging.getLogger(__name__)

CHUNK = 1 << 16

UNKNOWN_HOST = "the host name is not known; is this machine online?"
"""A fault that a second does not mend: the next mirror is asked at once."""


class UnreachableError(MissingDataError):
    """No mirror answered, so neither will the next file."""


class _RefusedError(Exception):
    """This mirror will not give the file, now or later."""


class _PassingError(Exception):
    """Trying again may help."""


@dataclass(frozen=True)
class Downloader:
    """Downloads published files."""

    retries: int = 4
    """For each mirror."""
    pause: float = 1.0
    """Seconds before the first retry; doubled before each further one."""
    timeout: float = 30.0
    """Seconds without a byte after which a connection counts as cut."""
    base_url: str | None = None
    """A server with the same paths as the first mirror, to use in place of all mirrors."""

    def download(self, file: PublishedFile, part: Path) -> None:
        """Complete `part` and prove it right. After a cut connection it is left for the next try; if wrong, removed.

        Raises:
            UnreachableError: every mirror's connection failed.
            MissingDataError: no mirror has the right file; says of each what it answered.
        """
        if part.exists() and _wrong(file, part) is None:
            return
        failures: list[str] = []
        reached = False
        for url in self._mirrors(file):
            try:
                self._complete(url, file, part)
                return
            except _RefusedError as error:
                reached = True
                failures.append(f"{urlsplit(url).netloc}: {error}")
            except _PassingError as error:
                failures.append(f"{urlsplit(url).netloc}: {error}")
            log.info("%s: %s", file.path, failures[-1])
        kind = MissingDataError if reached else UnreachableError
        raise kind(f"{file.path} ({'; '.join(failures)})")

    def _mirrors(self, file: PublishedFile) -> list[str]:
        if self.base_url is None:
            return list(file.urls)
        return [self.base_url.rstrip("/") + urlsplit(file.urls[0]).path]

    def _complete(self, url: str, file: PublishedFile, part: Path) -> None:
        """Download and verify; a file that was resumed and came out wrong is downloaded once more from its first byte."""
        resumed = part.exists()
        self._download(url, file, part)
        wrong = _wrong(file, part)
        if wrong and resumed:
            part.unlink()
            self._download(url, file, part)
            wrong = _wrong(file, part)
        if wrong:
            part.unlink()
            raise _RefusedError(f"what it sent {wrong}")

    def _download(self, url: str, file: PublishedFile, part: Path) -> None:
        reason = ""
        for attempt in range(max(0, self.retries) + 1):
            if attempt:
                time.sleep(self.pause * 2 ** (attempt - 1))
            try:
                return self._append(url, file, part)
            except requests.exceptions.SSLError as error:
                raise _PassingError("its TLS certificate was not accepted") from error
            except requests.Timeout:
                reason = f"no answer within {self.timeout:g} s"
            except (requests.ConnectionError, requests.exceptions.ChunkedEncodingError, _PassingError) as error:
                reason = str(error) if isinstance(error, _PassingError) else _connection_fault(error)
            except requests.RequestException as error:
                raise _RefusedError(str(error)) from error
            if reason == UNKNOWN_HOST:
                break
            if attempt < self.retries:
                log.info("%s: %s; trying again (%d of %d)", file.path, reason, attempt + 1, self.retries)
        raise _PassingError(reason)

    def _append(self, url: str, file: PublishedFile, part: Path) -> None:
        """Ask for what `part` lacks, and add it."""
        have = part.stat().st_size if part.exists() else 0
        headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={have}-"} if have else {})}
        with requests.get(url, headers=headers, stream=True, timeout=self.timeout) as response:
            resumes = _resumes(response, have, part)
            have = have if resumes else 0
            length = response.headers.get("Content-Length") if "Content-Encoding" not in response.headers else None
            total = have + int(length) if length else None
            with part.open("ab" if resumes else "wb") as out, _bar(file.path, have, total) as bar:
                for chunk in response.iter_content(CHUNK):
                    out.write(chunk)
                    bar.update(bar.task_ids[0], advance=len(chunk))
        if total is not None and part.stat().st_size != total:
            raise _PassingError("the connection was cut")


def _resumes(response: requests.Response, have: int, part: Path) -> bool:
    """Whether the answer goes on where `part` ends, or else starts at the first byte.

    Raises:
        _RefusedError: the server has no such file.
        _PassingError: the server is busy, or does not go on where it was asked to, so `part` was removed.
    """
    status = f"{response.status_code} {response.reason}"
    if response.status_code == 200:
        return False
    if response.status_code in (206, 416) and have:
        if response.status_code == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            return True
        part.unlink()
        raise _PassingError(f"{status}, not the bytes that were asked for")
    if response.status_code in (408, 425, 429) or response.status_code >= 500:
        raise _PassingError(status)
    raise _RefusedError(status)


def _wrong(file: PublishedFile, part: Path) -> str | None:
    if file.members:
        return None if zipfile.is_zipfile(part) else "is not a whole zip archive"
    return fault(file, part)


def _connection_fault(error: Exception) -> str:
    """The few words that help, in place of a chain of nested representations."""
    text = str(error)
    if isinstance(error, requests.exceptions.ProxyError):
        return "the proxy refused the connection"
    if "resolve" in text or "getaddrinfo" in text:
        return UNKNOWN_HOST
    return "connection refused" if "refused" in text else "the connection was cut"


@contextlib.contextmanager
def _bar(name: str, have: int, total: int | None) -> Iterator[Progress]:
    """A progress bar with one task on standard error, if that is a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with progress(*columns) as bar:
        bar.add_task(name, completed=have, total=total)
        yield bar
