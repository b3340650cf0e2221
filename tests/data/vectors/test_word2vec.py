"""word2vec's binary format: what gensim writes is read to the bit, and a file that is cut off or another is refused with its remedy."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gensim.models import KeyedVectors

from qaexp.data.corpus_builder import CorpusBuilder
from qaexp.data.vectors import word2vec
from qaexp.data.vectors.sources import PublishedVectors
from qaexp.data.vectors.word2vec import read_word2vec
from qaexp.errors import BadDataError, MissingDataError

WORDS = ["the", "Soup", "</s>", "New_York", "zoë", "2"]
VECTORS = np.random.default_rng(1).normal(size=(len(WORDS), 5)).astype(np.float32)


@pytest.fixture
def written(tmp_path: Path) -> bytes:
    """A file as gensim writes it."""
    vectors = KeyedVectors(5)
    vectors.add_vectors(WORDS, VECTORS)
    vectors.save_word2vec_format(str(tmp_path / "gensim.bin"), binary=True)
    return (tmp_path / "gensim.bin").read_bytes()


def with_line_ends(vectors: np.ndarray = VECTORS, words: Any = WORDS, header: str = "6 5") -> bytes:
    """A file as word2vec's own program writes it, with a line end after each vector."""
    encoded = (word if isinstance(word, bytes) else word.encode() for word in words)
    return f"{header}\n".encode() + b"".join(word + b" " + row.tobytes() + b"\n" for word, row in zip(encoded, vectors, strict=True))


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
@pytest.mark.parametrize("line_ends", [False, True])
def test_words_and_vectors_are_read_to_the_bit(tmp_path: Path, written: bytes, packed: bool, line_ends: bool) -> None:
    content = with_line_ends() if line_ends else written
    path = tmp_path / ("vectors.bin.gz" if packed else "vectors.bin")
    path.write_bytes(gzip.compress(content) if packed else content)
    words, matrix = read_word2vec(path)
    assert words == WORDS
    np.testing.assert_array_equal(matrix, VECTORS)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
def test_published_vectors_fill_their_rows_once(
    tmp_path: Path, cache_dir: Path, written: bytes, packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / ("vectors.bin.gz" if packed else "vectors.bin")
    path.write_bytes(gzip.compress(written) if packed else written)
    builder = CorpusBuilder()
    builder.question("train", "q", builder.text(["Soup", "The", "nowhere"]), [])
    source = PublishedVectors(name="googlenews", path=str(tmp_path / "vectors.bin"), scale=2.0)
    vectors = source.build(builder.build(), cache_dir, seed=1)
    np.testing.assert_array_equal(vectors.matrix[[2, 3]], 2 * VECTORS[[1, 0]])
    assert vectors.known.tolist() == [2, 3]

    def refused(_: Path) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr("qaexp.data.vectors.sources.read_word2vec", refused)
    np.testing.assert_array_equal(source.build(builder.build(), cache_dir, seed=1).matrix, vectors.matrix)


def test_a_word_listed_twice_has_two_rows_and_broken_utf8_is_replaced(tmp_path: Path) -> None:
    words = ["the", "soup", "the", b"zo\xeb", "a", "b"]
    (tmp_path / "vectors.bin").write_bytes(with_line_ends(words=words))
    found, matrix = read_word2vec(tmp_path / "vectors.bin")
    assert found == ["the", "soup", "the", "zo\N{REPLACEMENT CHARACTER}", "a", "b"]
    np.testing.assert_array_equal(matrix, VECTORS)
    (tmp_path / "vectors.bin").write_bytes(with_line_ends(words=[b"zo\xeb", *WORDS[1:]]))
    assert read_word2vec(tmp_path / "vectors.bin")[0][0] == "zo\N{REPLACEMENT CHARACTER}"


AWKWARD = ["w0", "end.\nThe", "New York", "of the", "the", " ", "windows 7", "", "\nThe", "w1", "a b c d", "zo\u00a0", "x "]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("line_ends", [False, True])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
def test_words_with_blanks_and_line_breaks_are_read_as_they_were_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool, line_ends: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    words = [AWKWARD[i] for i in rng.permutation(len(AWKWARD))]
    vectors = rng.normal(size=(len(words), 12)).astype(np.float32)
    vectors[rng.integers(len(words)), :6] = 0
    content = with_line_ends(vectors, words, f"{len(words)} 12")
    if not line_ends:
        encoded = (word.encode() + b" " + row.tobytes() for word, row in zip(words, vectors, strict=True))
        content = f"{len(words)} 12\n".encode() + b"".join(encoded)
    (tmp_path / "a.bin").write_bytes(gzip.compress(content) if packed else content)
    monkeypatch.setattr(word2vec, "CHUNK", 7)
    found, matrix = read_word2vec(tmp_path / "a.bin")
    assert found == words
    np.testing.assert_array_equal(matrix, vectors)


def test_a_file_that_was_unpacked_and_not_renamed_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.bin.gz").write_bytes(WHOLE)
    assert read_word2vec(tmp_path / "a.bin.gz")[0] == WORDS


def test_rows_that_were_read_from_a_wrong_place_are_found(tmp_path: Path, written: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = word2vec._rows

    def shifted(*arguments: Any) -> tuple[list[bytes], np.ndarray]:
        tokens, matrix = rows(*arguments)
        return tokens, np.roll(matrix, 1, axis=0)

    monkeypatch.setattr(word2vec, "_rows", shifted)
    with pytest.raises(BadDataError, match="'the' is not where it was read"):
        read_word2vec(tmp_path / "gensim.bin")


NAN = np.where(np.arange(30).reshape(6, 5) == 12, np.nan, VECTORS).astype(np.float32)
WHOLE = with_line_ends()
STATED = "6 words of 5 dimensions are stated"
UNREADABLE = "which cannot be read"
FAULTY: dict[str, tuple[str, bytes, str]] = {
    "cut off": ("a.bin", WHOLE[:-30], f"{STATED}, {UNREADABLE}: it ends after 4 words"),
    "packed and cut off": (
        "a.bin.gz",
        gzip.compress(WHOLE)[:-30],
        f"{STATED}, {UNREADABLE}: Compressed file",
    ),
    "cut off at once": ("a.bin.gz", gzip.compress(WHOLE)[:8], "the compressed file is cut off or corrupt"),
    "more words stated": (
        "a.bin",
        with_line_ends(header="9 5"),
        "9 words of 5 dimensions are stated, which take more than the 160 bytes of the file",
    ),
    "fewer words stated": (
        "a.bin",
        with_line_ends(header="4 5"),
        f"4 words of 5 dimensions are stated, {UNREADABLE}: it goes on after its last word",
    ),
    "other dimensions stated": (
        "a.bin",
        with_line_ends(header="6 3"),
        f"6 words of 3 dimensions are stated, {UNREADABLE}: it goes on after its last word",
    ),
    "impossible numbers": (
        "a.bin",
        with_line_ends(header=f"{10**15} {10**4}"),
        "1,000,000,000,000,000 words of 10,000 dimensions are stated",
    ),
    "impossible numbers, packed": ("a.bin.gz", gzip.compress(with_line_ends(header=f"{10**15} 5")), "1,000,000,000,000,000 words of 5 dim"),
    "text": ("a.bin", b"the 0.1 0.2 0.3\n", "line 1: b'the 0.1 0.2 0.3\\n', the number of words and of dimensions expected"),
    "a page": ("a.bin", b"<html>\nlog in</html>", "line 1: b'<html>\\n', the number of words and of dimensions expected"),
    "nothing": ("a.bin", b"", "line 1: b'', the number of words and of dimensions expected"),
    "no words": ("a.bin", b"0 5\n", "line 1: b'0 5\\n', the number of words and of dimensions expected"),
    "no number, as gensim writes it": (
        "a.bin",
        with_line_ends(NAN).replace(b"\n", b"").replace(b"6 5", b"6 5\n"),
        f"{STATED}, {UNREADABLE}: what follows the word '</s>' does not look like its numbers",
    ),
    "no number": ("a.bin", with_line_ends(NAN), "words with something that is not a finite number: 1, the first of them '</s>'"),
}


@pytest.mark.parametrize("case", FAULTY)
def test_a_file_that_is_no_whole_word2vec_file_is_refused(tmp_path: Path, case: str) -> None:
    name, content, fault = FAULTY[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadDataError) as error:
        read_word2vec(tmp_path / name)
    head, listed, remedy = str(error.value).splitlines()
    assert head == f"{tmp_path}/{name}: 1 fault"
    assert listed.startswith(f"  {fault}")
    assert remedy.startswith("A .bin file is word2vec's: ")


def test_missing_vectors_say_where_they_are_published(tmp_path: Path, cache_dir: Path) -> None:
    source = PublishedVectors(name="googlenews", path=str(tmp_path / "GoogleNews-vectors-negative300.bin"), scale=1.0)
    with pytest.raises(MissingDataError, match=r"code\.google\.com/archive/p/word2vec"):
        source.build(CorpusBuilder().build(), cache_dir, seed=1)
