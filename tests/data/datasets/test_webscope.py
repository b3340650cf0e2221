"""The posts of Webscope L6: read across parts and chunks, cleaned of HTML; what is broken is counted, what is cut off refused."""

import bz2
import gzip
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from qaexp.data.datasets import webscope
from qaexp.data.datasets.webscope import Post, posts
from qaexp.data.files import Faults
from qaexp.errors import BadDataError


def document(
    uri: str, subject: str, answer: str, more: str = "<content>More of it.</content><qlang>en</qlang>", kind: str = "wisdom"
) -> str:
    fields = f"<uri>{uri}</uri><subject>{subject}</subject>{more}<bestanswer>{answer}</bestanswer>"
    others = "<nbestanswers><answer_item>Another.</answer_item></nbestanswers><maincat>Pets</maincat><date>1171498446</date>"
    return f'<vespaadd><document type="{kind}">{fields}{others}</document></vespaadd>\n'


STREAM = (
    "<ystfeed>"
    + document("1", "Why do cats\n purr?", "They&#39;re &lt;b&gt;happy&lt;/b&gt;&lt;br /&gt;Zoë &amp;amp; co.")
    + document("2", "¿Por qué?", "Porque sí.", more="<qlang>es</qlang>")
    + document("3", "Who?", "She.", more="")
    + "</ystfeed>"
).encode()
POSTS = [
    Post("1", "Why do cats\n purr?", "They're  happy  Zoë & co.", "en"),
    Post("2", "¿Por qué?", "Porque sí.", "es"),
    Post("3", "Who?", "She.", ""),
]


def read(*paths: Path) -> tuple[list[Post], Counter[str]]:
    notes: Counter[str] = Counter()
    with ExitStack() as stack:
        files = [stack.enter_context(Faults(path, "Fetch it again.")) for path in paths]
        found = list(posts(files, lambda what: notes.update([what])))
    return found, notes


@pytest.mark.parametrize("chunk", [1, 7, 100, 1 << 20])
@pytest.mark.parametrize("cut", [0, 5, 200, 333, len(STREAM)])
def test_a_post_may_lie_across_chunks_and_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: int, chunk: int) -> None:
    monkeypatch.setattr(webscope, "CHUNK", chunk)
    (tmp_path / "part1").write_bytes(STREAM[:cut])
    (tmp_path / "part2").write_bytes(STREAM[cut:])
    assert read(tmp_path / "part1", tmp_path / "part2") == (POSTS, Counter())


@pytest.mark.parametrize(("ending", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress)])
def test_parts_may_be_packed(tmp_path: Path, ending: str, pack: Any) -> None:
    paths = tmp_path / f"part1.{ending}", tmp_path / f"part2.{ending}"
    for path, content in zip(paths, (STREAM[:300], STREAM[300:]), strict=True):
        path.write_bytes(pack(content))
    assert read(*paths) == (POSTS, Counter())


def test_broken_documents_are_left_out_and_counted(tmp_path: Path) -> None:
    broken = (
        document("4", "A & B", "raw ampersand")
        + document("5", "No answer", "")
        + document("", "No uri", "x")
        + document("6", "x", "y", kind="ad")
        + '<vespaadd><document type="wisdom"><uri>7</uri>'  # never closed: the next one's end closes it
        + document("8", "lost", "with it")
        + document("9", "What?", "This.")
    )
    (tmp_path / "part1").write_text(broken, encoding="utf-8")
    found, notes = read(tmp_path / "part1")
    assert [post.uri for post in found] == ["9"]
    assert notes == {
        "documents that are not XML (left out)": 2,
        "documents without a uri, a subject or a best answer (left out)": 2,
        "documents that are not questions (left out)": 1,
    }


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("part1", b"", "there is no <document"),
        ("part1", b"<html>log in</html>", "there is no <document"),
        ("part1", STREAM[:500], "it ends within a document: a part is cut off, or lacking"),
        ("part1.gz", gzip.compress(STREAM, mtime=0)[:-20], "it cannot be read to its end: Compressed file ended"),
        ("part1.gz", b"no gzip", 'there is no <document type="wisdom">'),
        ("part1.bz2", bz2.compress(STREAM)[:-20], "it cannot be read to its end: Compressed file ended"),
        ("part1.bz2", b"BZh no bzip2", "it cannot be read to its end: Invalid data stream"),
    ],
)
def test_a_file_that_is_cut_off_or_another_is_refused(tmp_path: Path, name: str, content: bytes, fault: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadDataError) as error:
        read(tmp_path / name)
    head, listed, remedy = str(error.value).splitlines()
    assert head == f"{tmp_path}/{name}: 1 fault"
    assert listed.startswith(f"  {fault}")
    assert remedy == "Fetch it again."
