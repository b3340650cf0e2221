"""Files that would fill the memory: long lines, endless faults, JSON that Python refuses; and the bar of how far a file is read."""

import bz2
import gzip
import io
import json
import lzma
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from qaexp.data import files
from qaexp.data.files import Faults, from_json, json_lines, lines, opened, progress
from qaexp.errors import BadDataError


def test_a_line_without_end_is_a_fault_before_it_fills_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LINE", 1000)
    path = tmp_path / "train.tsv.gz"
    path.write_bytes(gzip.compress(b"a\n" + bytes(10**6)))
    read = []
    with pytest.raises(BadDataError, match="line 2: it has more than 1,000 bytes, and was read no further"), Faults(path, "") as faults:
        read += [line for _, line in lines(faults)]
    assert read == ["a"]


def test_faults_are_short_and_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_FAULTS", 50)
    seen = 0

    def add_all() -> None:
        nonlocal seen
        with Faults(tmp_path, "") as faults:
            for line in range(10**6):
                seen += 1
                faults.add(line, 5000 * "x")

    with pytest.raises(BadDataError) as told:
        add_all()
    assert seen == 51
    assert len(str(told.value)) < 10_000


@pytest.mark.parametrize(("text", "said"), [(10**5 * "[", "nested too deeply"), (5000 * "1", "too many digits"), ("{", "Expecting")])
def test_json_that_python_refuses_is_one_kind_of_error(text: str, said: str) -> None:
    with pytest.raises(json.JSONDecodeError, match=said):
        from_json(text)


def zipped(content: bytes) -> bytes:
    """A zip of one file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("pairs", content)
    return file.getvalue()


def test_lines_that_are_not_json_are_named(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"a": 1}\n{"a": \n[2]\n')
    with pytest.raises(BadDataError, match="line 2: it is not JSON: Expecting value at column 7"), Faults(path, "") as faults:
        assert list(json_lines(faults)) == [(1, {"a": 1}), (3, [2])]


class Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress, zipped])
def test_a_bar_shows_how_far_a_file_is_read(pack: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "[train].tsv"
    content = b"".join(b"%d\n" % number for number in range(50_000))
    path.write_bytes(pack(content))
    with opened(path) as file:
        assert file.read() == content  # without a terminal, too
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal(io.BytesIO()))
    with progress() as outer, opened(path) as file:
        outer.add_task("reading all", total=2)
        assert file.read(6) == content[:6]
        file.seek(0)
        assert file.read() == content
    terminal.seek(0)
    shown = terminal.read()
    assert "reading all" in shown
    assert "[train].tsv" in shown
    assert "100%" in shown
