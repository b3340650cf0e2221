"""Word vectors in word2vec's binary format (`.bin`), as word2vec's own program or gensim writes it."""

from collections.abc import Sequence
from io import BufferedIOBase
from pathlib import Path

import numpy as np
from jaxtyping import Float

from qaexp.data.files import CUT_OFF, Faults, is_packed, opened
from qaexp.data.vectors.glove import spot_rows

REMEDY = (
    "A .bin file is word2vec's: a line with the number of words and of dimensions, then each word and its float32 numbers. Fetch it again."
)

MOST_PACKED = 1032
"""Largest number of bytes that gzip can expand one byte to."""

CHUNK = 1 << 24

LONGEST = 4096
"""The most bytes that a word may have."""

SMALLEST, GREATEST = 1e-15, 1e10
"""The range of a word vector's numbers, apart from 0. Letters read as float32 are rarely in it, and never if the last one is a blank."""


def is_word2vec(path: Path) -> bool:
    """Whether a file is in this format, by its name.

    >>> is_word2vec(Path("GoogleNews-vectors-negative300.bin.gz")), is_word2vec(Path("glove.6B.50d.txt"))
    (True, False)
    """
    return (path.with_suffix("") if path.suffix in (".gz", ".bz2", ".xz", ".zip") else path).suffix == ".bin"


def read_word2vec(path: Path) -> tuple[list[str], Float[np.ndarray, "word dim"]]:
    """Reads a whole file. A word may hold blanks and line breaks; bytes that are not UTF-8 are replaced.

    Raises:
        BadDataError: the file is cut off, continues after its last word, or has another format.
    """
    with Faults(path, REMEDY) as faults:
        header = _header(faults)
        words, matrix = _read(faults, *header) if header else ([], np.empty((0, 1), dtype=np.float32))
    return words, matrix


def _header(faults: Faults) -> tuple[int, int] | None:
    """The number of words and of dimensions, if the first line states them."""
    try:
        with opened(faults.path) as file:
            line = file.readline(64)
    except (*CUT_OFF, OSError) as error:  # an OSError by bz2
        return faults.add_whole(f"the compressed file is cut off or corrupt ({error})")
    fields = line.split()
    if not line.endswith(b"\n") or len(fields) != 2 or not all(field.isdigit() and int(field) > 0 for field in fields):
        return faults.add(1, f"{line[:40]!r}, the number of words and of dimensions expected")
    return int(fields[0]), int(fields[1])


def _read(faults: Faults, num_words: int, dim: int) -> tuple[list[str], np.ndarray]:
    stated, size = f"{num_words:,} words of {dim:,} dimensions are stated", faults.path.stat().st_size
    nothing = list[str](), np.empty((0, dim), dtype=np.float32)
    if 4 * dim * num_words > size * (MOST_PACKED if is_packed(faults.path) else 1):  # before so much memory is allocated
        faults.add_whole(f"{stated}, which take more than the {size:,} bytes of the file")
        return nothing
    try:
        with opened(faults.path) as file:
            header = file.readline()
            tokens, matrix = _rows(file, num_words, dim)
        if wrong := _wrong_spot(faults.path, len(header), tokens, matrix):
            faults.add_whole(f"{wrong!r} is not where it was read; please report this")
    except (*CUT_OFF, OSError, ValueError, MemoryError) as error:
        faults.add_whole(f"{stated}, which cannot be read: {error or type(error).__name__}")
        return nothing
    if all(token.startswith(b"\n") for token in tokens[1:]):  # word2vec's own program writes line ends, gensim does not
        tokens = [token.removeprefix(b"\n") for token in tokens]
    words = [token.decode(errors="replace") for token in tokens]
    wrong = ~np.isfinite(matrix).all(axis=1)
    if wrong.any():
        faults.add_whole(
            f"words with something that is not a finite number: {int(wrong.sum()):,}, the first of them {words[int(wrong.argmax())]!r}"
        )
    return words, matrix


def _rows(file: BufferedIOBase, num_words: int, dim: int) -> tuple[list[bytes], Float[np.ndarray, "word dim"]]:
    """Every word, with the line end before it, and its numbers.

    Raises:
        ValueError: the file ends too early or too late, or a word cannot be told from its numbers.
    """
    matrix, tokens = np.empty((num_words, dim), dtype=np.float32), list[bytes]()
    buffer, at, ended, needed = b"", 0, False, 2 * LONGEST + 4 * dim
    for row in range(num_words):
        while len(buffer) - at < needed and not ended:
            chunk = file.read(CHUNK)
            buffer, at, ended = buffer[at:] + chunk, 0, not chunk
        blank = _end_of_word(buffer, at, dim)
        if blank is None:
            raise ValueError(f"it ends after {row:,} words")
        tokens.append(buffer[at:blank])
        matrix[row] = np.frombuffer(buffer, "<f4", dim, blank + 1)
        at = blank + 1 + 4 * dim
    if (buffer[at:] + file.read(2)).strip(b"\n"):
        raise ValueError("it goes on after its last word")
    return tokens, matrix


def _end_of_word(buffer: bytes, at: int, dim: int) -> int | None:
    """The blank between a word and its numbers; None where the buffer ends before.

    A word may hold blanks itself: "New York". So the blank is the first one that is followed by plausible numbers and then by a readable
    word: letters read as numbers are far too large or too small. A word may have bytes that are not UTF-8. If each word is on its own
    line, the size of the numbers is not checked.

    Raises:
        ValueError: no blank is followed by numbers that look like a vector.
    """
    likely, possible, blank = None, None, at - 1
    first = buffer.find(b" ", at)
    while (blank := buffer.find(b" ", blank + 1, at + LONGEST)) >= 0 and (stop := blank + 1 + 4 * dim) <= len(buffer):
        if blank > first and not _is_readable(buffer[at:blank]):
            break
        size = np.abs(np.frombuffer(buffer, "<f4", dim, blank + 1))
        if bool((((size > SMALLEST) & (size < GREATEST)) | (size == 0)).all()):
            if _may_begin_a_word(buffer, stop):
                return blank
            likely = blank if likely is None else likely
        elif possible is None and buffer[stop : stop + 1] == b"\n":
            possible = blank
    if likely is None and possible is None and first >= 0 and first + 1 + 4 * dim <= len(buffer):
        raise ValueError(f"what follows the word {buffer[at:first].decode(errors='replace').strip()!r} does not look like its numbers")
    return likely if likely is not None else possible


def _may_begin_a_word(buffer: bytes, at: int) -> bool:
    """Whether the file ends here, or a line end or a readable word follows."""
    if at == len(buffer) or buffer[at : at + 1] == b"\n":
        return True
    blank = buffer.find(b" ", at, at + LONGEST)
    return blank >= 0 and _is_readable(buffer[at:blank])


def _is_readable(word: bytes) -> bool:
    """Whether a word is UTF-8 without control characters, but for line breaks and tabs."""
    try:
        return all(character >= " " or character in "\n\r\t" for character in word.decode())
    except UnicodeDecodeError:
        return False


def _wrong_spot(path: Path, start: int, tokens: Sequence[bytes], matrix: Float[np.ndarray, "word dim"]) -> str | None:
    """Reads some words of the file again, each from where the words before it end; returns the first that differs."""
    ends = start + np.cumsum([len(token) + 1 + 4 * matrix.shape[1] for token in tokens])
    with opened(path) as file:
        for row in spot_rows(len(tokens)):
            expected = tokens[row] + b" " + matrix[row].astype("<f4").tobytes()
            file.seek(int(ends[row]) - len(expected))
            if file.read(len(expected)) != expected:
                return tokens[row].decode(errors="replace")
    return None
