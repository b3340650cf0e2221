"""GloVe's text format: words with spaces, blocks of lines, bad files refused by line."""

import bz2
import gzip
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qaexp.data.vectors import glove
from qaexp.data.vectors.glove import read_glove
from qaexp.errors import BadDataError

Write = Callable[..., Path]


def test_words_may_hold_spaces_and_a_header_is_passed_over(write: Write, tmp_path: Path) -> None:
    lines = ["5 3", "the 0.5 -0.25 1e-2", "soup 1 2 3", ". . . 4 5 6", "at name@domain.com 7 8 9", "the 9 9 9"]
    words, matrix = read_glove(write(tmp_path / "vectors.txt", lines))
    assert words == ["the", "soup", ". . .", "at name@domain.com", "the"]
    np.testing.assert_array_equal(matrix[2:4], [[4, 5, 6], [7, 8, 9]])


def test_blocks_of_lines_join_without_a_seam(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"w{i} {i} {i + 0.5}" for i in range(25)]
    path = write(tmp_path / "vectors.txt", lines)
    whole_words, whole = read_glove(path)
    monkeypatch.setattr(glove, "LINES_AT_A_TIME", 4)
    words, matrix = read_glove(path)
    assert words == whole_words == [f"w{i}" for i in range(25)]
    np.testing.assert_array_equal(matrix, whole)
    np.testing.assert_array_equal(matrix[:, 1], np.arange(25) + 0.5)
    lines[17] = "w17 17"
    with pytest.raises(BadDataError, match="line 18: 1 numbers, 2 expected"):
        read_glove(write(tmp_path / "vectors.txt", lines))


@pytest.mark.parametrize(
    ("lines", "faults"),
    [
        (
            ["a 1 2", "b 1", "c 1 2 3", "d"],
            ["line 2: 1 numbers, 2 expected", "line 4: 0 numbers, 2 expected"],
        ),
        (["a 1 2", "b 1 x", "c 1,5 2"], ["line 2: x is not a finite float32 number", "line 3: 1,5 is not a finite float32 number"]),
        (["a 1 2", "b 1 nan", "c inf 2"], ["line 2: nan is not a finite float32 number", "line 3: inf is not a finite float32 number"]),
        (["a 1 2", "", "c 1 2"], ["line 2: 0 numbers, 2 expected"]),
        (["<html>", "404"], ["line 1: 0 numbers, at least one expected", "line 2: 0 numbers, at least one expected"]),
        (["a 1 2", "b 1e39 2", "c 1 -3.5e38"], [f"line {n} is not a finite float32 number" for n in ("2: 1e39", "3: -3.5e38")]),
        (b"", ["the file is empty"]),
        (b"\n \n", ["the file is empty"]),
        (b"a\0 1 2\n", ["the file has zero bytes, so it is not UTF-8 text"]),
        (b"\x93NUMPY\x01\0v\0{'descr'", ["it is a NumPy array, not text"]),
        (["2 3"], ["the file is empty"]),
    ],
)
def test_bad_vector_files_name_their_lines(write: Write, tmp_path: Path, lines: Any, faults: list[str]) -> None:
    path = write(tmp_path / "vectors.txt", lines)
    with pytest.raises(BadDataError) as error:
        read_glove(path)
    head, *listed, remedy = str(error.value).splitlines()
    assert head.startswith(f"{path}: {len(faults)} fault")
    assert listed == [f"  {fault}" for fault in faults]
    assert remedy in ("Word vectors are lines of `word v1 ... vN`; fetch the file again.", "Write it as text, or name another file.")


TOKENS = ["R$ 0", "24 7", "windows 7", ". . .", "", "at name@domain.com", "\u00a0", "end"]


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("first", range(len(TOKENS)))
def test_a_token_may_hold_blanks_and_numbers_or_be_empty_wherever_it_stands(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, header: bool, first: int
) -> None:
    monkeypatch.setattr(glove, "LINES_AT_A_TIME", 24)
    words = [*TOKENS[first:], *(f"w{i}" for i in range(30)), *TOKENS[:first]]
    numbers = np.random.default_rng(1).normal(size=(len(words), 5)).astype(np.float32)
    lines = [" ".join([word, *map(str, row)]) for word, row in zip(words, numbers, strict=True)]
    found, matrix = read_glove(write(tmp_path / "vectors.txt", [f"{len(words)} 5"] * header + lines))
    assert found == words
    np.testing.assert_array_equal(matrix, numbers)


def test_blank_lines_at_the_end_say_nothing(write: Write, tmp_path: Path) -> None:
    assert read_glove(write(tmp_path / "vectors.txt", ["the 1 2", "soup 3 4", "", " "]))[0] == ["the", "soup"]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_packed_file_is_read_whatever_its_name(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / "vectors.txt").write_bytes(pack(b"the 1 2\nsoup 3 4\n"))
    assert read_glove(tmp_path / "vectors.txt")[0] == ["the", "soup"]


def test_a_zip_of_one_file_is_read_and_of_several_refused(tmp_path: Path) -> None:
    path = tmp_path / "glove.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("glove.2d.txt", "the 1 2\nsoup 3 4\n")
    assert read_glove(path)[0] == ["the", "soup"]
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("glove.3d.txt", "the 1 2 3\n")
    with pytest.raises(BadDataError, match=r"it is a zip of 2 files\nUnpack it, and name the file that is needed\."):
        read_glove(path)


def test_rows_that_were_read_from_a_wrong_line_are_found(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    joined = glove._joined
    monkeypatch.setattr(glove, "_joined", lambda blocks, dim: np.roll(joined(blocks, dim), 1, axis=0))
    with pytest.raises(BadDataError, match="line 2: it is not what was read as word 1, 'the'"):
        read_glove(write(tmp_path / "vectors.txt", ["2 2", "the 1 2", "soup 3 4"]))


def test_a_cut_off_vector_file_says_so(write: Write, tmp_path: Path) -> None:
    path = write(tmp_path / "vectors.txt", [f"w{i} {i} {i * 7 % 11}" for i in range(500)], packed=True)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(BadDataError, match=r"after line \d+: the compressed file is cut off or corrupt"):
        read_glove(path)


def test_a_corrupt_vector_file_packed_another_way_says_so(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt.bz2"
    whole = bz2.compress("".join(f"w{i} {i} {i * 7 % 11}\n" for i in range(500)).encode())
    path.write_bytes(whole[:100] + bytes(100) + whole[200:])
    with pytest.raises(BadDataError, match=r"after line \d+: it cannot be read to its end: Invalid data stream"):
        read_glove(path)


@pytest.mark.parametrize(("header", "promised"), [("3 2", "3 of 2"), ("2 3", "2 of 3")])
def test_a_file_that_ends_before_its_header_says_is_refused(write: Write, tmp_path: Path, header: str, promised: str) -> None:
    with pytest.raises(BadDataError, match=f"2 words of 2 numbers, and by its first line {promised}"):
        read_glove(write(tmp_path / "vectors.txt", [header, "the 1 2", "soup 3 4"]))
