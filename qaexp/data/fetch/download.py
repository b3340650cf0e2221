"""Downloads one published file with pooch: mirrors in order, cut connections resumed and retried."""

import contextlib
import logging
import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import pooch
import requests
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from qaexp.data.fetch.checksums import fault
from qaexp.data.fetch.remotes import RETRIES, TIMEOUT, PublishedFile
from qaexp.data.files import progress
from qaexp.errors import ConfigError, MissingDataError

log = logging.getLogger(__name__)

CHUNK = 1 << 16


class UnreachableError(MissingDataError):
    """No mirror answered, so the next file would fail as well."""


class _RefusedError(Exception):
    """The server answered, but does not have the right file."""


class _NoConnectionError(Exception):
    """There is no connection, and a retry would not help."""


@dataclass(frozen=True)
class Downloader:
    """Downloads published files."""

    retries: int = RETRIES
    """For each mirror; pooch waits one second before the first, two before the next, and so on."""
    timeout: float = TIMEOUT
    """Seconds without a byte after which a connection counts as cut."""
    base_url: str | None = None
    """A server with the same paths as the first mirror, used instead of all mirrors."""

    def __post_init__(self) -> None:
        """Raises: ConfigError, if the `base_url` is not a whole URL."""
        if self.base_url is not None and not self.base_url.startswith(("http://", "https://")):
            raise ConfigError(f"--base-url {self.base_url}: write a whole URL, such as http://{self.base_url}")

    def download(self, file: PublishedFile, folder: Path) -> Path:
        """The complete and verified file in `folder`. After a cut connection a `.part` file is left there for the next call.

        Raises:
            UnreachableError: no mirror could be reached.
            MissingDataError: no mirror has the right file. Tells what each of them answered.
        """
        name = PurePosixPath(file.path).name
        path, part = folder / name, folder / f"{name}.part"
        if part.exists() and _wrong(file, part) is None:
            os.replace(part, path)
        failures: list[str] = []
        reached = False
        for url in self._mirrors(file):
            try:
                self._fetch(url, file, path, part)
                return path
            except _RefusedError as error:
                reached, reason = True, str(error)
            except _NoConnectionError as error:
                reason = str(error)
            except requests.RequestException as error:
                reason = self._reason(error)
            failures.append(f"{urlsplit(url).netloc}: {reason}")
            log.info("%s: %s", file.path, failures[-1])
        raise (MissingDataError if reached else UnreachableError)(f"{file.path} ({'; '.join(failures)})")

    def _mirrors(self, file: PublishedFile) -> list[str]:
        if self.base_url is None:
            return list(file.urls)
        return [self.base_url.rstrip("/") + urlsplit(file.urls[0]).path]

    def _fetch(self, url: str, file: PublishedFile, path: Path, part: Path) -> None:
        """Download and verify. A resumed file that is wrong is downloaded once more from its first byte."""
        pooch.get_logger().setLevel(logging.WARNING)
        store = pooch.create(path.parent, base_url="", registry={path.name: None}, urls={path.name: url}, retry_if_failed=self.retries)
        again = part.exists() or path.exists()
        store.fetch(path.name, downloader=ResumingDownloader(part, self.timeout, file.max_bytes))  # pyright: ignore[reportArgumentType]
        if again and _wrong(file, path):
            path.unlink()
            store.fetch(path.name, downloader=ResumingDownloader(part, self.timeout, file.max_bytes))  # pyright: ignore[reportArgumentType]
        if wrong := _wrong(file, path):
            path.unlink()
            raise _RefusedError(f"what it sent {wrong}")

    def _reason(self, error: requests.RequestException) -> str:
        """Why the last try failed, in few words."""
        if isinstance(error, requests.Timeout):
            return f"no answer within {self.timeout:g} s"
        if isinstance(error, requests.exceptions.ProxyError):
            return "the proxy refused the connection"
        if isinstance(error, requests.HTTPError):
            return str(error)
        return "connection refused" if "refused" in str(error) else "the connection was cut"


@dataclass(frozen=True)
class ResumingDownloader:
    """A downloader for pooch that continues `part`, if it exists, with a Range request. pooch retries after a `RequestException`."""

    part: Path
    timeout: float
    max_bytes: int | float

    def __call__(self, url: str, output_file: Any, _: Any) -> None:
        """Complete `part`, then move it to `output_file`."""
        try:
            self._append(url)
        except requests.exceptions.SSLError as error:
            raise _NoConnectionError("its TLS certificate was not accepted") from error
        except requests.ConnectionError as error:
            if "resolve" in str(error) or "getaddrinfo" in str(error):
                raise _NoConnectionError("the host name is not known; is this machine online?") from error
            raise
        os.replace(self.part, output_file)

    def _append(self, url: str) -> None:
        """Request the missing bytes of `part` and add them."""
        have = self.part.stat().st_size if self.part.exists() else 0
        headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={have}-"} if have else {})}
        with requests.get(url, headers=headers, stream=True, timeout=self.timeout) as response:
            resumes = self._resumes(response, have)
            have = have if resumes else 0
            length = response.headers.get("Content-Length") if "Content-Encoding" not in response.headers else None
            total = have + int(length) if length else None
            with self.part.open("ab" if resumes else "wb") as out, _bar(self.part.stem, have, total) as bar:
                for chunk in response.iter_content(CHUNK):
                    have += len(chunk)
                    if have > self.max_bytes:
                        self.part.unlink()
                        raise _RefusedError(f"it sends more than {self.max_bytes:,} bytes")
                    out.write(chunk)
                    bar.update(bar.task_ids[0], advance=len(chunk))
        if total is not None and self.part.stat().st_size != total:
            raise requests.ConnectionError("the connection was cut")

    def _resumes(self, response: requests.Response, have: int) -> bool:
        """Whether the answer continues `part`; otherwise it starts at the first byte.

        Raises:
            HTTPError: the server is busy, or sends other bytes than requested. In the second case `part` is removed.
            _RefusedError: the server does not have the file.
        """
        status = f"{response.status_code} {response.reason}"
        if response.status_code == 200:
            return False
        if response.status_code in (206, 416) and have:
            if response.status_code == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
                return True
            self.part.unlink()
            raise requests.HTTPError(f"{status}, not the bytes that were requested")
        if response.status_code in (408, 425, 429) or response.status_code >= 500:
            raise requests.HTTPError(status)
        raise _RefusedError(status)


def _wrong(file: PublishedFile, path: Path) -> str | None:
    if file.members:
        return None if zipfile.is_zipfile(path) else "is not a whole zip archive"
    return fault(file, path)


@contextlib.contextmanager
def _bar(name: str, have: int, total: int | None) -> Iterator[Progress]:
    """A progress bar with one task."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with progress(*columns) as bar:
        bar.add_task(name, completed=have, total=total)
        yield bar
