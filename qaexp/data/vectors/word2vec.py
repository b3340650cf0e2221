"""Word vectors in word2vec's binary format (`.bin`), read by gensim."""

import logging
from pathlib import Path

import numpy as np
from jaxtyping import Float

from qaexp.data.files import CUT_OFF, Faults, opened

REMEDY = (
    "A .bin file is word2vec's: a line with the number of words and of dimensions, then each word and its float32 numbers. Fetch it again."
)

MOST_PACKED = 1032
"""Largest number of bytes that gzip can expand one byte to."""


def is_word2vec(path: Path) -> bool:
    """Whether a file is in this format, by its name.

    >>> is_word2vec(Path("GoogleNews-vectors-negative300.bin.gz")), is_word2vec(Path("glove.6B.50d.txt"))
    (True, False)
    """
    return path.name.removesuffix(".gz").endswith(".bin")


def read_word2vec(path: Path) -> tuple[list[str], Float[np.ndarray, "word dim"]]:
    """Reads a whole file. The first vector of a word listed twice counts; bytes that are not UTF-8 are replaced.

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
    except CUT_OFF as error:
        return faults.add_whole(f"the compressed file is cut off or corrupt ({error})")
    fields = line.split()
    if not line.endswith(b"\n") or len(fields) != 2 or not all(field.isdigit() and int(field) > 0 for field in fields):
        return faults.add(1, f"{line[:40]!r}, the number of words and of dimensions expected")
    return int(fields[0]), int(fields[1])


def _read(faults: Faults, num_words: int, dim: int) -> tuple[list[str], np.ndarray]:
    from gensim.models import KeyedVectors  # takes half a second to import, needed once per file

    stated, size = f"{num_words:,} words of {dim:,} dimensions are stated", faults.path.stat().st_size
    if 4 * dim * num_words > size * (MOST_PACKED if faults.path.suffix == ".gz" else 1):  # gensim allocates before it reads
        faults.add_whole(f"{stated}, which take more than the {size:,} bytes of the file")
        return [], np.empty((0, dim), dtype=np.float32)
    logging.getLogger("gensim.models.keyedvectors").setLevel(logging.ERROR)  # it warns about every word listed twice
    try:
        vectors = KeyedVectors.load_word2vec_format(str(faults.path), binary=True, unicode_errors="surrogateescape")
    except (*CUT_OFF, ValueError, MemoryError) as error:
        faults.add_whole(f"{stated}, which cannot be read: {error or type(error).__name__}")
        return [], np.empty((0, dim), dtype=np.float32)
    words = [word.encode(errors="surrogateescape") for word in vectors.index_to_key if word is not None]  # None for each listed twice
    matrix = np.asarray(vectors.vectors[: len(words)], dtype=np.float32)
    if faults.path.suffix != ".gz" and len(words) == num_words:
        read = len(f"{num_words} {dim}\n") + sum(map(len, words)) + num_words * (1 + 4 * dim)  # a line end after each vector is optional
        if not read <= size <= read + num_words:
            faults.add_whole(f"{stated}, which take {read:,} bytes; the file has {size:,}")
    wrong = ~np.isfinite(matrix).all(axis=1)
    if wrong.any():
        first = words[int(wrong.argmax())].decode(errors="replace")
        faults.add_whole(f"words with something that is no finite number: {int(wrong.sum()):,}, the first of them {first!r}")
    return [word.decode(errors="replace") for word in words], matrix
