"""Word vectors: published ones, ones trained on the data set's own text, or random ones."""

import gzip
import hashlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from qaexp.data.corpus import RankingCorpus
from qaexp.data.fetch import fetch_hint
from qaexp.data.files import digest, locate
from qaexp.data.prepare import installing
from qaexp.data.vocabulary import Vocabulary
from qaexp.errors import BadDataError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class WordVectors:
    """A row for every word of a vocabulary; the padding row is zero."""

    matrix: Float[np.ndarray, "word dim"]
    known: Int[np.ndarray, " known_word"]
    """The rows that come from the source; the others were drawn."""


@runtime_checkable
class VectorSource(Protocol):
    """Chooses in YAML where word vectors come from (`dataset/vectors=...`)."""

    def build(self, corpus: RankingCorpus, cache: Path, seed: int) -> WordVectors: ...


@dataclass(frozen=True)
class RandomVectors:
    """Every word drawn from a normal distribution with standard deviation `deviation`."""

    dim: int
    deviation: float

    def build(self, corpus: RankingCorpus, cache: Path, seed: int) -> WordVectors:
        return WordVectors(_drawn(len(corpus.vocabulary), self.dim, self.deviation, seed), np.empty(0, dtype=np.int64))


@dataclass(frozen=True)
class PublishedVectors:
    """Vectors in GloVe's text format (`word v1 ... vN`), plain or gzipped, multiplied by `scale`.

    A word that the file lacks is looked up in lower case, then drawn from a normal distribution with the file's own
    standard deviation.
    """

    name: str
    path: str
    scale: float

    def build(self, corpus: RankingCorpus, cache: Path, seed: int) -> WordVectors:
        words, published = self._open(cache)
        row_of = {word: row for row, word in enumerate(words)}
        rows = [row_of.get(word, row_of.get(word.lower(), -1)) for word in corpus.vocabulary.words[2:]]
        found = np.array(rows, dtype=np.int64)
        known = np.flatnonzero(found >= 0) + 2
        matrix = _drawn(len(corpus.vocabulary), published.shape[1], float(np.std(published[:5000])), seed)
        matrix[known] = published[found[found >= 0]]
        return WordVectors(matrix * np.float32(self.scale), known)

    def _open(self, cache: Path) -> tuple[list[str], np.ndarray]:
        """The whole file, parsed once and memory-mapped after."""
        [path] = locate([Path(self.path)], fetch_hint(self.name))
        folder = cache / "vectors" / digest(path)[:16]
        if not folder.is_dir():
            log.info("reading %s (once; kept in %s)", path, folder)
            words, matrix = read_glove(path)
            with installing(folder) as staging:
                (staging / "words.txt").write_text("\n".join(words), encoding="utf-8")
                np.save(staging / "matrix.npy", matrix)
        return (folder / "words.txt").read_text(encoding="utf-8").split("\n"), np.load(folder / "matrix.npy", mmap_mode="r")


@dataclass(frozen=True)
class OwnTextVectors:
    """word2vec (Mikolov et al. 2013) trained with gensim on the data set's own text, as Xu et al. 2019 do for InsuranceQA.

    Reading: "pre-trained on dataset" (§4.2) is taken as the training questions and the whole answer set, without labels.
    One thread, so that a seed gives the same vectors every time. Rows are divided by their mean length and multiplied by
    `mean_length`, since the scale that gensim ends with depends on the corpus and the number of epochs.
    """

    dim: int
    window: int
    negative: int
    epochs: int
    min_count: int
    skip_gram: bool
    mean_length: float

    def build(self, corpus: RankingCorpus, cache: Path, seed: int) -> WordVectors:
        settings = f"{self!r} {seed} {corpus.fingerprint}"
        folder = cache / "vectors" / f"own-{hashlib.sha256(settings.encode()).hexdigest()[:16]}"
        if not folder.is_dir():
            log.info("training word2vec on the data set's own text (once; kept in %s)", folder)
            vectors = self._train(corpus, seed)
            with installing(folder) as staging:
                np.save(staging / "matrix.npy", vectors.matrix)
                np.save(staging / "known.npy", vectors.known)
        return WordVectors(np.load(folder / "matrix.npy"), np.load(folder / "known.npy"))

    def _train(self, corpus: RankingCorpus, seed: int) -> WordVectors:
        from gensim.models import Word2Vec  # half a second to import, needed once a data set

        model = Word2Vec(
            sentences=[[str(i) for i in ids] for ids in _own_text(corpus)],
            vector_size=self.dim,
            window=self.window,
            negative=self.negative,
            epochs=self.epochs,
            min_count=self.min_count,
            sg=int(self.skip_gram),
            workers=1,
            seed=seed,
            hashfxn=int,  # Python's own hash of a string differs from process to process
        )
        known = np.sort(np.array([int(word) for word in model.wv.index_to_key], dtype=np.int64))
        known = known[known > 1]
        trained = np.stack([model.wv[str(i)] for i in known])
        scale = np.float32(self.mean_length / np.linalg.norm(trained, axis=1).mean())
        matrix = _drawn(len(corpus.vocabulary), self.dim, float(np.std(trained * scale)), seed)
        matrix[known] = trained * scale
        return WordVectors(matrix, known)


def coverage(vectors: WordVectors, corpus: RankingCorpus) -> dict[str, float]:
    """Shares in [0, 1] of the vocabulary and of the running words that the source knows."""
    uses = np.bincount(corpus.texts.ids, minlength=len(corpus.vocabulary))
    used = np.flatnonzero(uses)
    known = np.intersect1d(used, vectors.known)
    return {"types": len(known) / max(1, len(used)), "running words": float(uses[known].sum() / max(1, uses.sum()))}


def read_glove(path: Path) -> tuple[list[str], Float[np.ndarray, "word dim"]]:
    """A whole file in GloVe's text format.

    Raises:
        BadDataError: a line has another number of fields than the first, or a field is no number.
    """
    words: list[str] = []
    rows: list[np.ndarray] = []
    faults: list[str] = []
    for number, line in enumerate(_binary_lines(path), start=1):
        word, _, numbers = line.rstrip().partition(b" ")
        try:
            row = np.fromstring(numbers, dtype=np.float32, sep=" ")
        except (ValueError, DeprecationWarning):
            faults.append(f"line {number}: a field is no number")
            continue
        if rows and len(row) != len(rows[0]):
            faults.append(f"line {number}: {len(row)} numbers, {len(rows[0])} expected")
            continue
        words.append(word.decode("utf-8", errors="replace"))
        rows.append(row)
    if faults or not rows:
        raise BadDataError(path, faults or ["the file is empty"], "Word vectors are lines of `word v1 ... vN`; fetch the file again.")
    return words, np.stack(rows)


def _binary_lines(path: Path) -> Iterator[bytes]:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield from file
    except (EOFError, gzip.BadGzipFile) as error:
        raise BadDataError(path, [f"the compressed file is cut off or corrupt ({error})"], "Fetch the file again.") from None


def _drawn(num_words: int, dim: int, deviation: float, seed: int) -> Float[np.ndarray, "word dim"]:
    matrix = np.random.default_rng(seed).normal(0.0, deviation, size=(num_words, dim)).astype(np.float32)
    matrix[0] = 0.0
    return matrix


def _own_text(corpus: RankingCorpus) -> Iterator[np.ndarray]:
    """The training questions and the whole answer set."""
    for text in np.union1d(corpus.splits["train"].questions, corpus.answer_set):
        yield corpus.texts.ids[corpus.texts.offsets[text] : corpus.texts.offsets[text + 1]]


def vocabulary_digest(vocabulary: Vocabulary) -> str:
    """SHA-256 of the words in order: two models with the same digest give the same ids to the same words."""
    return hashlib.sha256("\n".join(vocabulary.words).encode()).hexdigest()
