"""Fetching against a server on this machine: whole, cut, wrong and missing files, copies at hand, a full disk."""

import errno
import gzip
import hashlib
import http.server
import io
import os
import re
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import requests
from filelock import FileLock
from hydra.utils import instantiate

from qaexp.cli import data as cli
from qaexp.config import choices, compose
from qaexp.data.fetch.checksums import git_blob_id
from qaexp.data.fetch.download import CHUNK, Downloader, UnreachableError
from qaexp.data.fetch.fetch import Fetch
from qaexp.data.fetch.local_archives import Copies
from qaexp.data.fetch.remotes import PUBLISHED, Content, PublishedFile, PublishedSet, data_root, fetch_hint
from qaexp.errors import MissingDataError, OutputError

BIG = bytes(range(251)) * 2000  # about half a megabyte, no chunk like its neighbour
SMALL = b"idx_1\thello\n"


@dataclass
class Site:
    """What the server has, how it misbehaves, and what it was asked."""

    files: dict[str, bytes] = field(default_factory=dict)
    cut_after: list[int] = field(default_factory=list)
    """One for each coming answer: the bytes after which the connection is closed."""
    statuses: list[int] = field(default_factory=list)
    """One for each coming answer, in place of the file."""
    ranges: bool = True
    late: int = 0
    """So many bytes after the one that it was asked for an answer begins."""
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    """Path and Range header of each request."""
    url: str = ""


def _handler(site: Site) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            site.asked.append((self.path, asked))
            body = site.files.get(self.path)
            if site.statuses:
                return self.send_error(site.statuses.pop(0))
            if body is None:
                return self.send_error(404)
            start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and site.ranges else 0
            start += site.late if asked else 0
            if start >= len(body):
                return self.send_error(416)
            self.send_response(206 if asked and site.ranges else 200)
            self.send_header("Content-Length", str(len(body) - start))
            if asked and site.ranges:
                self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            self.end_headers()
            end = start + site.cut_after.pop(0) if site.cut_after else len(body)
            self.wfile.write(body[start:end])

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    site = Site()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(site))
    site.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield site
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """pooch waits seconds before it retries."""
    sleep = time.sleep
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: sleep(min(seconds, 0.01)))


@pytest.fixture(autouse=True)
def tiny_set(monkeypatch: pytest.MonkeyPatch) -> PublishedSet:
    """`tiny`: a big file and a small one, as a repository would publish them."""
    files = (published("V1/answers", BIG), published("V1/vocabulary", SMALL))
    tiny = PublishedSet("tiny", "tiny", "a tiny set", "someone/tiny @ 12ab", "https://example.org/tiny", "free", "dataset=tiny", files)
    monkeypatch.setattr(cli, "PUBLISHED", (*PUBLISHED, tiny))
    monkeypatch.setattr(cli, "find", lambda name: {known.name: known for known in cli.PUBLISHED}.get(name))
    return tiny


def blob_id(body: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()


def published(path: str, body: bytes, *urls: str) -> PublishedFile:
    return PublishedFile(path, blob_id(body), urls=urls or (f"https://example.org/repo/{path}",))


def quick(site: Site | None = None, retries: int = 2) -> Downloader:
    return Downloader(retries=retries, timeout=2.0, base_url=site.url if site else None)


def fetch_tiny(site: Site, data: Path, *more: str) -> int:
    return cli.main(["fetch", "tiny", "--data", str(data), "--base-url", site.url, "--timeout", "2", *more])


def serve_tiny(site: Site) -> None:
    site.files = {"/repo/V1/answers": BIG, "/repo/V1/vocabulary": SMALL}


def everything(folder: Path) -> set[str]:
    """Every file below `folder`, and every empty folder."""
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() or not any(p.iterdir())}


def test_git_blob_id_is_what_git_says(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "hello").write_bytes(b"hello\n")
    (tmp_path / "hello.gz").write_bytes(gzip.compress(b"hello\n"))
    assert git_blob_id(tmp_path / "empty") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert git_blob_id(tmp_path / "hello") == git_blob_id(tmp_path / "hello.gz", packed=True) == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_whole_download_then_nothing_to_do(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    serve_tiny(site)
    assert fetch_tiny(site, tmp_path) == 0
    assert (tmp_path / "tiny/V1/answers").read_bytes() == BIG
    assert (tmp_path / "tiny/V1/vocabulary").read_bytes() == SMALL
    assert everything(tmp_path) == {"tiny/V1/answers", "tiny/V1/vocabulary"}
    assert "2 fetched" in capsys.readouterr().out
    assert fetch_tiny(site, tmp_path) == 0
    assert len(site.asked) == 2
    assert "2 already there" in capsys.readouterr().out


def test_gzipped_copy_counts_as_there(site: Site, tmp_path: Path) -> None:
    serve_tiny(site)
    (tmp_path / "tiny/V1").mkdir(parents=True)
    (tmp_path / "tiny/V1/answers.gz").write_bytes(gzip.compress(BIG))
    assert fetch_tiny(site, tmp_path) == 0
    assert [path for path, _ in site.asked] == ["/repo/V1/vocabulary"]
    assert everything(tmp_path) == {"tiny/V1/answers.gz", "tiny/V1/vocabulary"}


@pytest.mark.parametrize(
    ("name", "there"),
    [("answers", b"mine"), ("answers.gz", gzip.compress(b"mine")), ("answers.gz", gzip.compress(BIG)[:99])],
    ids=["plain", "packed", "cut off"],  # the bytes have the time in them, and a test would be called otherwise in each process
)
def test_wrong_file_in_place_is_overwritten_only_on_demand(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, there: bytes
) -> None:
    serve_tiny(site)
    (tmp_path / "tiny/V1").mkdir(parents=True)
    (tmp_path / "tiny/V1" / name).write_bytes(there)
    assert fetch_tiny(site, tmp_path) == 2
    error = capsys.readouterr().err
    assert name in error
    assert "--replace" in error
    assert (tmp_path / "tiny/V1" / name).read_bytes() == there
    assert (tmp_path / "tiny/V1/vocabulary").read_bytes() == SMALL  # the other file was fetched all the same
    assert fetch_tiny(site, tmp_path, "--replace") == 0
    assert everything(tmp_path) == {"tiny/V1/answers", "tiny/V1/vocabulary"}
    assert (tmp_path / "tiny/V1/answers").read_bytes() == BIG


def test_cut_connection_is_resumed_by_the_retry(site: Site, tmp_path: Path) -> None:
    serve_tiny(site)
    site.cut_after = [4 * CHUNK + 10]
    assert fetch_tiny(site, tmp_path) == 0
    assert site.asked[:2] == [("/repo/V1/answers", None), ("/repo/V1/answers", f"bytes={4 * CHUNK}-")]
    assert (tmp_path / "tiny/V1/answers").read_bytes() == BIG


def test_cut_connection_is_resumed_by_the_next_run(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    serve_tiny(site)
    site.cut_after = [2 * CHUNK, 2 * CHUNK]
    assert fetch_tiny(site, tmp_path, "--retries", "1") == 2
    assert "run the same command again to resume" in capsys.readouterr().err
    assert everything(tmp_path) == {"tiny/V1/.partial/answers.part"}
    assert (tmp_path / "tiny/V1/.partial/answers.part").read_bytes() == BIG[: 4 * CHUNK]
    assert fetch_tiny(site, tmp_path) == 0
    assert site.asked[2] == ("/repo/V1/answers", f"bytes={4 * CHUNK}-")
    assert everything(tmp_path) == {"tiny/V1/answers", "tiny/V1/vocabulary"}


def test_server_without_ranges_starts_over(site: Site, tmp_path: Path) -> None:
    serve_tiny(site)
    site.ranges, site.cut_after = False, [2 * CHUNK]
    assert fetch_tiny(site, tmp_path) == 0
    assert site.asked[1] == ("/repo/V1/answers", f"bytes={2 * CHUNK}-")
    assert (tmp_path / "tiny/V1/answers").read_bytes() == BIG


@pytest.mark.parametrize("left_over", [b"x" * CHUNK, BIG + b"x"], ids=["other bytes", "too long"])
def test_wrong_partial_is_thrown_away(site: Site, tmp_path: Path, left_over: bytes) -> None:
    serve_tiny(site)
    (tmp_path / "tiny/V1/.partial").mkdir(parents=True)
    (tmp_path / "tiny/V1/.partial/answers.part").write_bytes(left_over)
    assert fetch_tiny(site, tmp_path) == 0
    assert (tmp_path / "tiny/V1/answers").read_bytes() == BIG


def test_complete_partial_needs_no_download(site: Site, tmp_path: Path) -> None:
    serve_tiny(site)
    (tmp_path / "tiny/V1/.partial").mkdir(parents=True)
    (tmp_path / "tiny/V1/.partial/answers.part").write_bytes(BIG)
    assert fetch_tiny(site, tmp_path) == 0
    assert [path for path, _ in site.asked] == ["/repo/V1/vocabulary"]
    assert (tmp_path / "tiny/V1/answers").read_bytes() == BIG


def test_wrong_bytes_are_refused(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    serve_tiny(site)
    site.files["/repo/V1/answers"] = b"<html>log in to the network</html>"
    assert fetch_tiny(site, tmp_path) == 2
    error = capsys.readouterr().err
    assert f"{blob_id(site.files['/repo/V1/answers'])}, {blob_id(BIG)} expected" in error
    assert error.count("\n") == 1
    assert everything(tmp_path) == {"tiny/V1/vocabulary"}
    assert len(site.asked) == 2  # the same bytes would come again: no retry


def test_next_mirror_after_404_and_after_wrong_bytes(site: Site, tmp_path: Path, tiny_set: PublishedSet) -> None:
    site.files = {"/wrong": b"wrong", "/right": BIG}
    file = published("answers", BIG, f"{site.url}/gone", f"{site.url}/wrong", f"{site.url}/right")
    Fetch(tmp_path, quick()).run(replace(tiny_set, files=(file,)))
    assert [path for path, _ in site.asked] == ["/gone", "/wrong", "/right"]
    assert (tmp_path / "tiny/answers").read_bytes() == BIG


def test_next_mirror_goes_on_where_the_first_was_cut(site: Site, tmp_path: Path, tiny_set: PublishedSet) -> None:
    site.files, site.cut_after = {"/first": BIG, "/second": BIG}, [3 * CHUNK]
    file = published("answers", BIG, f"{site.url}/first", f"{site.url}/second")
    Fetch(tmp_path, quick(retries=0)).run(replace(tiny_set, files=(file,)))
    assert site.asked == [("/first", None), ("/second", f"bytes={3 * CHUNK}-")]
    assert (tmp_path / "tiny/answers").read_bytes() == BIG


def test_404_everywhere_names_file_and_remedy(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site.files = {"/repo/V1/vocabulary": SMALL}
    assert fetch_tiny(site, tmp_path) == 2
    error = capsys.readouterr().err
    assert all(part in error for part in ("V1/answers", "404", "https://example.org/tiny", "--from"))
    assert "Traceback" not in error
    assert error.count("\n") == 1
    assert everything(tmp_path) == {"tiny/V1/vocabulary"}


def test_busy_server_is_asked_again(site: Site, tmp_path: Path) -> None:
    serve_tiny(site)
    site.statuses = [503, 429]
    assert fetch_tiny(site, tmp_path) == 0
    assert len(site.asked) == 4


def test_server_that_falls_silent_is_asked_again(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve_tiny(site)
    silent, get = [requests.ReadTimeout()], requests.get

    def answer(*args: Any, **kwargs: Any) -> requests.Response:
        if silent:
            raise silent.pop()
        return get(*args, **kwargs)

    monkeypatch.setattr(requests, "get", answer)
    assert fetch_tiny(site, tmp_path) == 0
    assert len(site.asked) == 2


def test_no_connection_stops_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert fetch_tiny(Site(url="http://127.0.0.1:9"), tmp_path, "--retries", "1") == 2
    error = capsys.readouterr().err
    assert "V1/answers (127.0.0.1:9: connection refused)" in error
    assert "vocabulary" not in error


def test_a_host_that_is_not_known_is_asked_once(tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    with pytest.raises(UnreachableError, match="the host name is not known; is this machine online"), caplog.at_level("INFO"):
        quick(Site(url="http://nowhere.invalid")).download(published("answers", BIG, "http://nowhere.invalid/answers"), tmp_path)
    assert len(caplog.messages) == 1


@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.ENOSPC, "free some space there, or choose"), (errno.EACCES, "denied; choose"), (errno.EROFS, "file system; choose")],
)
def test_a_read_only_or_full_disk_is_named_with_the_remedy(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int, words: str
) -> None:
    serve_tiny(site)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", _full_after(2 * CHUNK, number))
        assert fetch_tiny(site, tmp_path) == 2
    error = capsys.readouterr().err
    assert words in error
    assert "--data" in error
    assert error.count("\n") == 1
    assert everything(tmp_path) == {"tiny/V1/.partial/answers.part"}
    assert fetch_tiny(site, tmp_path) == 0
    assert site.asked[1] == ("/repo/V1/answers", f"bytes={2 * CHUNK}-")


def _full_after(room: int, number: int) -> Any:
    """`Path.open` on a disk with room for so many bytes."""
    real = Path.open

    class Full(io.FileIO):
        left = room

        def write(self, data: Any, /) -> int:
            if len(data) > Full.left:
                raise OSError(number, os.strerror(number))
            Full.left -= len(data)
            return super().write(data)

    def full(path: Path, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        return real(path, mode, *args, **kwargs) if "r" in mode else Full(path, mode)

    return full


def test_data_folder_that_is_a_file(site: Site, tmp_path: Path, tiny_set: PublishedSet) -> None:
    (tmp_path / "data").write_text("not a folder")
    with pytest.raises(OutputError, match="a folder is needed there; choose another folder with --data"):
        Fetch(tmp_path / "data", quick(site)).run(tiny_set)


def _folder(at: Path, files: dict[str, bytes]) -> Path:
    for name, body in files.items():
        (at / name).parent.mkdir(parents=True, exist_ok=True)
        (at / name).write_bytes(body)
    return at


def _zip(at: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(at, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return at


def _tar(at: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(at, f"w:{at.suffix.removeprefix('.')}" if at.suffix != ".tar" else "w") as archive:
        for name, body in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(body)
            archive.addfile(info, io.BytesIO(body))
    return at


AT_HAND = {"copy/old/answers": b"an older one", "copy/V1/answers.gz": gzip.compress(BIG), "copy/V1/vocabulary": SMALL}


@pytest.mark.parametrize(
    ("make", "name"), [(_folder, "mine"), (_zip, "mine.zip"), (_tar, "mine.tar"), (_tar, "mine.tar.gz"), (_tar, "mine.tar.bz2")]
)
def test_from_copies_at_hand(site: Site, tmp_path: Path, make: Any, name: str) -> None:
    copies = make(tmp_path / name, AT_HAND)
    assert fetch_tiny(site, tmp_path / "data", "--from", str(copies)) == 0
    assert (tmp_path / "data/tiny/V1/answers").read_bytes() == BIG
    assert everything(tmp_path / "data") == {"tiny/V1/answers", "tiny/V1/vocabulary"}
    assert site.asked == []


def test_from_names_wrong_and_missing_files(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copies = _folder(tmp_path / "mine", {"answers": b"an older one"})
    assert fetch_tiny(site, tmp_path / "data", "--from", str(copies)) == 2
    error = capsys.readouterr().err
    assert f"answers has the git blob id {blob_id(b'an older one')}, {blob_id(BIG)} expected" in error
    assert f"V1/vocabulary (not in {copies})" in error
    assert everything(tmp_path / "data") == {"tiny/V1"}


def test_from_broken_archive_or_nowhere(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = _tar(tmp_path / "mine.tar.gz", {"answers": os.urandom(5000), "vocabulary": SMALL}).read_bytes()
    (tmp_path / "mine.tar.gz").write_bytes(body[:2000])
    assert fetch_tiny(site, tmp_path / "data", "--from", str(tmp_path / "mine.tar.gz")) == 2
    assert "mine.tar.gz cannot be read" in capsys.readouterr().err
    for name in ("mine.tar.xz", "mine.tar.bz2"):
        body = bytearray(_tar(tmp_path / name, {"answers": os.urandom(1_000_000).hex().encode(), "vocabulary": SMALL}).read_bytes())
        body[800_000:800_064] = bytes(64)  # bzip2 checks blocks of 900 kB one by one
        (tmp_path / name).write_bytes(body)
        assert fetch_tiny(site, tmp_path / "data", "--from", str(tmp_path / name)) == 2
        assert f"{name} cannot be read" in capsys.readouterr().err
    assert fetch_tiny(site, tmp_path / "data", "--from", str(tmp_path / "nowhere")) == 2
    assert "nowhere does not exist" in capsys.readouterr().err


def _zipped_set(tiny_set: PublishedSet) -> PublishedSet:
    """Published like SNLI: a zip without a checksum, of one member the number of lines is known."""
    members = (Content("train.jsonl", lines=2), Content("dev.jsonl"))
    file = PublishedFile("corpus.zip", urls=("https://example.org/repo/corpus.zip",), members=members)
    return replace(tiny_set, files=(file,))


CORPUS = {"corpus/train.jsonl": b"{}\n{}\n", "corpus/dev.jsonl": b"{}\n", "__MACOSX/corpus/._dev.jsonl": b"junk", "../dev.txt": b"no"}


def test_zip_without_checksum_is_opened_with_a_warning(
    site: Site, tmp_path: Path, tiny_set: PublishedSet, caplog: pytest.LogCaptureFixture
) -> None:
    site.files["/repo/corpus.zip"] = _zip(tmp_path / "corpus.zip", CORPUS).read_bytes()
    Fetch(tmp_path / "data", quick(site)).run(_zipped_set(tiny_set))
    assert everything(tmp_path / "data") == {"tiny/train.jsonl", "tiny/dev.jsonl"}
    assert (tmp_path / "data/tiny/dev.jsonl").read_bytes() == b"{}\n"
    warnings = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert any("dev.jsonl" in w and "not verified: no checksum is known" in w for w in warnings)
    assert any("train.jsonl" in w and "2 lines are as many as published" in w for w in warnings)
    Fetch(tmp_path / "data", quick(site)).run(_zipped_set(tiny_set))
    assert len(site.asked) == 1


@pytest.mark.parametrize("inside", [False, True])
def test_zip_from_a_folder_or_itself(tmp_path: Path, tiny_set: PublishedSet, inside: bool) -> None:
    (tmp_path / "mine/deep").mkdir(parents=True)
    archive = _zip(tmp_path / "mine/deep/corpus.zip", CORPUS)
    Fetch(tmp_path / "data", Copies(archive if inside else tmp_path / "mine")).run(_zipped_set(tiny_set))
    assert everything(tmp_path / "data") == {"tiny/train.jsonl", "tiny/dev.jsonl"}
    assert archive.exists()


def test_broken_zip_leaves_nothing(site: Site, tmp_path: Path, tiny_set: PublishedSet) -> None:
    whole = _zip(tmp_path / "corpus.zip", {"corpus/train.jsonl": b"{}\n{}\n", "corpus/dev.jsonl": os.urandom(3000)}).read_bytes()
    for broken, words in ((whole[:-200], "not a whole zip"), (whole[:1500] + bytes(100) + whole[1600:], "cannot be read")):
        site.files["/repo/corpus.zip"] = broken
        with pytest.raises(MissingDataError, match=words):
            Fetch(tmp_path / "data", quick(site)).run(_zipped_set(tiny_set))
        assert everything(tmp_path / "data") <= {"tiny", "tiny/train.jsonl"}


def test_full_disk_keeps_the_downloaded_archive(
    site: Site, tmp_path: Path, tiny_set: PublishedSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = _zip(tmp_path / "corpus.zip", CORPUS).read_bytes()
    site.files["/repo/corpus.zip"] = body
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", _full_after(len(body), errno.ENOSPC))
        with pytest.raises(OutputError, match="free some space there"):
            Fetch(tmp_path / "data", quick(site)).run(_zipped_set(tiny_set))
    assert everything(tmp_path / "data") == {"tiny/.partial/corpus.zip"}
    Fetch(tmp_path / "data", quick(site)).run(_zipped_set(tiny_set))
    assert everything(tmp_path / "data") == {"tiny/train.jsonl", "tiny/dev.jsonl"}
    assert len(site.asked) == 1


def test_server_that_goes_on_elsewhere_starts_over(site: Site, tmp_path: Path, tiny_set: PublishedSet) -> None:
    body = _zip(tmp_path / "corpus.zip", {**CORPUS, "noise": os.urandom(3000)}).read_bytes()
    site.files["/repo/corpus.zip"], site.late = body, 10
    (tmp_path / "data/tiny/.partial").mkdir(parents=True)
    (tmp_path / "data/tiny/.partial/corpus.zip.part").write_bytes(body[:1000])
    Fetch(tmp_path / "data", quick(site)).run(_zipped_set(tiny_set))
    assert everything(tmp_path / "data") == {"tiny/train.jsonl", "tiny/dev.jsonl"}
    assert [asked for _, asked in site.asked] == ["bytes=1000-", None]


def test_wrong_number_of_lines_is_refused(site: Site, tmp_path: Path, tiny_set: PublishedSet) -> None:
    site.files["/repo/corpus.zip"] = _zip(tmp_path / "corpus.zip", {**CORPUS, "corpus/train.jsonl": b"{}\n"}).read_bytes()
    with pytest.raises(MissingDataError, match="has 1 line, 2 expected"):
        Fetch(tmp_path / "data", quick(site)).run(_zipped_set(tiny_set))


def test_zip_that_is_wanted_whole_is_not_opened(site: Site, tmp_path: Path, tiny_set: PublishedSet) -> None:
    pickle_zip = _zip(tmp_path / "env.pkl.zip", {"env.pkl": b"cos\nsystem\n(S'false'\ntR."})
    file = published("env.pkl.zip", pickle_zip.read_bytes())
    Fetch(tmp_path / "data", Copies(pickle_zip)).run(replace(tiny_set, files=(file,)))
    assert everything(tmp_path / "data") == {"tiny/env.pkl.zip"}
    assert (tmp_path / "data/tiny/env.pkl.zip").read_bytes() == pickle_zip.read_bytes()


def test_two_at_once_fetch_a_file_once(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    serve_tiny(site)
    folder = tmp_path / "tiny"
    folder.mkdir()
    with FileLock(folder / ".lock", thread_local=False) as first, ThreadPoolExecutor() as pool:
        second = pool.submit(fetch_tiny, site, tmp_path)
        deadline = time.monotonic() + 30
        while "waiting until it is done" not in capsys.readouterr().out:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert site.asked == []
        (folder / "V1").mkdir()
        (folder / "V1/answers").write_bytes(BIG)
        first.release()
        assert second.result(timeout=30) == 0
    assert [path for path, _ in site.asked] == ["/repo/V1/vocabulary"]
    assert everything(tmp_path) == {"tiny/V1/answers", "tiny/V1/vocabulary"}


def test_interruption_says_how_to_go_on(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Downloader, "download", interrupt)
    assert fetch_tiny(site, tmp_path) == 130
    assert "run the same command again to resume" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("insurancqa", "did you mean insuranceqa?"),
        ("Glove", "did you mean glove.6B or glove.840B?"),
        ("xyzzy", "choose among insuranceqa,"),
        ("insuranceqa_subset", "not published anywhere"),
        ("webtext", "dataset/vectors=own_text"),
        ("yahoomqa", "is given to researchers on request"),
        ("googlenews", "code.google.com/archive/p/word2vec"),
    ],
)
def test_unknown_set(capsys: pytest.CaptureFixture[str], name: str, words: str) -> None:
    assert cli.main(["fetch", name]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_help_lists_the_sets(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(["fetch", "--help"])
    assert end.value.code == 0
    shown = capsys.readouterr().out
    assert all(known.name in shown for known in PUBLISHED)
    assert cli.main(["fetch"]) == 0
    assert "wikiqa                   6.2 MB" in capsys.readouterr().out


def test_data_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QAEXP_DATA", raising=False)
    assert data_root() == Path("data")
    monkeypatch.setenv("QAEXP_DATA", "/somewhere")
    assert data_root() == Path("/somewhere")
    assert data_root("/else") == Path("/else")


@pytest.mark.parametrize("dataset", ["insuranceqa_subset", "webtext", "embeddings/webtext.300d.txt.gz"])
def test_hint_is_honest_about_what_is_not_published(dataset: str) -> None:
    hint = fetch_hint(dataset)
    assert "not published" in hint
    assert "dataset=insuranceqa" in hint or "dataset/vectors=own_text" in hint


def contents(known: PublishedSet) -> list[Content]:
    return [content for file in known.files for content in file.contents]


@pytest.mark.parametrize("known", PUBLISHED, ids=lambda known: known.name)
def test_table_is_sound(known: PublishedSet) -> None:
    assert known.source in fetch_hint(known.name)
    assert f"fetch {known.name}`" in fetch_hint(known.name)
    paths = [content.path for content in contents(known)]
    assert len(set(paths)) == len(paths)
    for file in known.files:
        assert file.urls
        assert file.members or (file.blob_id and len(file.blob_id) == 40)
        assert all(url.startswith("https://") for url in file.urls)


@pytest.mark.parametrize("known", PUBLISHED, ids=lambda known: known.name)
def test_a_fetched_set_is_named_with_a_choice_that_reads_it(known: PublishedSet, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The choices exist, and every file they read lies where `fetch` puts it."""
    caplog.set_level("INFO", "qaexp.data")
    for content in contents(known):
        (tmp_path / known.folder / content.path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / known.folder / content.path).touch()
    fetch = Fetch(tmp_path, quick())
    fetch.run(replace(known, files=tuple(PublishedFile(c.path, blob_id=blob_id(b"")) for c in contents(known))))
    assert f"use it with {known.use}" in caplog.messages
    overrides = re.split(r",? or |, ", known.use)
    for override in overrides:
        group, _, choice = override.partition("=")
        if choice not in choices(group):
            pytest.skip(f"{override} is not among the choices")
        cfg = compose([override, f"data_dir={tmp_path}"]).dataset
        if group == "dataset":
            assert instantiate(cfg.reader).files()
        else:
            assert Path(cfg.vectors.path).exists()


def test_hint_finds_a_variant_and_says_if_a_set_is_unknown() -> None:
    assert fetch_hint("trecqa_clean") == fetch_hint("trecqa")
    assert "fetch trecqa_toks`" in fetch_hint("trecqa_toks")
    assert "fetch yahooqa_partial`" in fetch_hint("yahoomqa_partial_10")
    assert "on request" in fetch_hint("yahoomqa_10")
    assert "qaexp data make-up" in fetch_hint("askubuntu_made_up")
    assert "no command fetches it" in fetch_hint("askubuntu_duplicates")
    assert "is not among the published sets" in fetch_hint("toy")
    assert "is not among the published sets" in fetch_hint("")


def test_starts_without_torch() -> None:
    check = "import sys, qaexp.cli.data; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
