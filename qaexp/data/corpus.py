"""The corpus that every reader returns: distinct texts as token ids, questions, and their candidates.

All of it is flat arrays, so a prepared corpus is a folder of `.npy` files that open memory-mapped in milliseconds.
"""

import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Int, Int8, UInt8

from qaexp.data.vocabulary import PADDING, SPECIAL_WORDS, UNKNOWN, Vocabulary
from qaexp.errors import BadDataError

WRITTEN = "written.npy"
"""The file of a saved corpus that has its texts as they were written."""


def ranges(starts: Int[np.ndarray, " range"], sizes: Int[np.ndarray, " range"]) -> Int[np.ndarray, " position"]:
    """The positions of several ranges, concatenated.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(sizes.sum())


@dataclass(frozen=True)
class TokenTable:
    """Texts of different lengths, concatenated. The fields of a text (title, body) are adjacent and share its number.

    Text t is `ids[offsets[t · num_fields]:offsets[(t + 1) · num_fields]]`, with a field boundary at each offset between.
    """

    ids: Int[np.ndarray, " token"]
    offsets: Int[np.ndarray, " field_and_end"]
    num_fields: int = 1

    def __len__(self) -> int:
        return (len(self.offsets) - 1) // self.num_fields

    def words(self, text: int) -> Int[np.ndarray, " token"]:
        """All tokens of a text, field after field."""
        return self.ids[self.offsets[text * self.num_fields] : self.offsets[(text + 1) * self.num_fields]]

    def lengths(self, texts: Int[np.ndarray, " text"], max_length: int | None = None) -> Int[np.ndarray, " text"]:
        """Number of tokens of each text, or of its longest field; at most `max_length`, if given."""
        return self._field_lengths(texts, max_length).max(axis=1, initial=0)

    def padded(self, texts: Int[np.ndarray, " text"], max_length: int | None = None) -> Int[np.ndarray, "text *field length"]:
        """The first `max_length` tokens of each text or field (None: all), padded on the right to the longest.

        >>> TokenTable(np.array([7, 8, 9]), np.array([0, 1, 3])).padded(np.array([1, 0])).tolist()
        [[8, 9], [7, 0]]
        >>> TokenTable(np.array([7, 8, 9]), np.array([0, 1, 3]), num_fields=2).padded(np.array([0]), max_length=5).tolist()
        [[[7, 0], [8, 9]]]
        """
        lengths = self._field_lengths(texts, max_length)
        columns = np.arange(lengths.max(initial=1))
        real = columns < lengths[:, :, None]  # (text, field, length)
        positions = np.where(real, self.offsets[self._fields(texts)][:, :, None] + columns, 0)
        padded = np.where(real, self.ids[positions], PADDING).astype(np.int64)
        return padded if self.num_fields > 1 else padded[:, 0]

    def chosen(self, texts: Int[np.ndarray, " chosen"]) -> "TokenTable":
        """These texts, in this order.

        >>> TokenTable(np.array([7, 8, 9]), np.array([0, 1, 3])).chosen(np.array([1, 0, 1])).offsets.tolist()
        [0, 2, 3, 5]
        """
        fields = self._fields(texts).reshape(-1)
        sizes = self.offsets[fields + 1] - self.offsets[fields]
        return TokenTable(self.ids[ranges(self.offsets[fields], sizes)], np.concatenate([[0], np.cumsum(sizes)]), self.num_fields)

    def renumbered(self, new_ids: Int[np.ndarray, " word"]) -> "TokenTable":
        """The same texts with a new id for each word. Words with a negative new id are left out; a text that loses all its words becomes
        one unknown word.

        >>> table = TokenTable(np.array([2, 3, 3, 2]), np.array([0, 2, 3, 4])).renumbered(np.array([0, -1, 2, -1]))
        >>> [table.words(text).tolist() for text in range(3)]
        [[2], [1], [2]]
        """
        ids = new_ids[self.ids]
        offsets = np.concatenate([[0], np.cumsum(ids >= 0)])[self.offsets]
        firsts = np.arange(len(self)) * self.num_fields
        empty = firsts[offsets[firsts] == offsets[firsts + self.num_fields]]
        return TokenTable(
            np.insert(ids[ids >= 0], offsets[empty], UNKNOWN).astype(self.ids.dtype),
            offsets + np.searchsorted(empty, np.arange(len(offsets))),
            self.num_fields,
        )

    def _fields(self, texts: Int[np.ndarray, " text"]) -> Int[np.ndarray, "text field"]:
        return texts[:, None] * self.num_fields + np.arange(self.num_fields)

    def _field_lengths(self, texts: Int[np.ndarray, " text"], max_length: int | None) -> Int[np.ndarray, "text field"]:
        fields = self._fields(texts)
        lengths = self.offsets[fields + 1] - self.offsets[fields]
        return lengths if max_length is None else np.minimum(lengths, max_length)


@dataclass(frozen=True)
class WrittenTexts:
    """Texts as their files have them, in UTF-8, concatenated: text t is `utf8[offsets[t]:offsets[t + 1]]`, empty if unknown.

    In a saved corpus they are memory-mapped. The file is read and checked only when the first text is asked for.
    """

    utf8: UInt8[np.ndarray, " byte"]
    offsets: Int[np.ndarray, " text_and_end"]
    saved: tuple[Path, int] | None = None
    """The file of `utf8` and its CRC-32."""

    def __getitem__(self, text: int) -> str:
        """Raises: BadDataError, if the saved file is damaged."""
        return bytes(self._checked[self.offsets[text] : self.offsets[text + 1]]).decode()

    @cached_property
    def _checked(self) -> UInt8[np.ndarray, " byte"]:
        if self.saved and zlib.crc32(self.utf8.data) != self.saved[1]:
            path, _ = self.saved
            raise BadDataError(path, ["it has another checksum than when it was written"], f"Delete {path.parent}, and it is made again.")
        return self.utf8


PER_PAIR = ("candidates", "labels", "candidate_ids", "retrieval_scores", "grades", "candidate_spellings")
"""The arrays of a split over its pairs."""


@dataclass(frozen=True)
class RankingSplit:
    """Questions and their pools: the pairs of question q are `offsets[q]:offsets[q + 1]` of the arrays over pairs."""

    questions: Int[np.ndarray, " question"]
    """Text of each question."""
    offsets: Int[np.ndarray, " question_and_end"]
    candidates: Int[np.ndarray, " pair"]
    """Text of each candidate."""
    labels: Int8[np.ndarray, " pair"]
    """1 for a right candidate; for classified pairs, the class."""
    question_ids: np.ndarray
    """Published names of the questions, as bytes."""
    candidate_ids: np.ndarray
    """Published names of the candidates, as bytes; each occurs once in a pool."""
    retrieval_scores: Float32[np.ndarray, " pair_or_none"] = field(default_factory=lambda: np.empty(0, dtype=np.float32))
    """The score of each candidate by the search engine that made the pools; empty if it is not published."""
    grades: Int8[np.ndarray, " pair_or_ungraded"] = field(default_factory=lambda: np.empty(0, dtype=np.int8))
    """The graded label of each candidate, 0 for a wrong one. Empty if all labels are 0 or 1."""
    question_spellings: Int[np.ndarray, " question_or_alike"] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """The text of each question in `RankingCorpus.by_spelling`. Empty if all texts of the split have the same numbers there."""
    candidate_spellings: Int[np.ndarray, " pair_or_alike"] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """The same for each candidate."""

    @property
    def num_questions(self) -> int:
        return len(self.questions)

    @property
    def num_pairs(self) -> int:
        return len(self.candidates)

    @property
    def relevance(self) -> Int8[np.ndarray, " pair"]:
        """The grade of each candidate, or its label where there are no grades."""
        return self.grades if len(self.grades) else self.labels

    @property
    def pair_question(self) -> Int[np.ndarray, " pair"]:
        """The question of each pair, numbered from 0."""
        return np.repeat(np.arange(self.num_questions), np.diff(self.offsets))

    @property
    def answers_per_question(self) -> Int[np.ndarray, " question"]:
        return np.bincount(self.pair_question, weights=self.labels > 0, minlength=self.num_questions).astype(np.int64)

    def asked_in(self, other: "RankingSplit") -> int:
        """How many of the questions are also in another split, with the same words."""
        return int(np.isin(self.questions, other.questions).sum())

    def by_spelling(self) -> "RankingSplit":
        """The same split with the texts of `RankingCorpus.by_spelling`."""
        if not len(self.question_spellings):
            return self
        none = self.question_spellings[:0]
        return replace(
            self,
            questions=self.question_spellings,
            candidates=self.candidate_spellings,
            question_spellings=none,
            candidate_spellings=none,
        )

    def keep(self, questions: Int[np.ndarray, " kept"]) -> "RankingSplit":
        """The split restricted to some of its questions."""
        sizes = np.diff(self.offsets)[questions]
        return replace(
            self,
            questions=self.questions[questions],
            offsets=np.concatenate([[0], np.cumsum(sizes)]),
            question_ids=self.question_ids[questions],
            question_spellings=self.question_spellings[questions if len(self.question_spellings) else slice(0)],
            **self._of_pairs(ranges(self.offsets[:-1][questions], sizes)),
        )

    def shuffled(self, seed: int) -> "RankingSplit":
        """Each pool in a random order, so that no scorer can profit from the order of a file."""
        places = np.random.default_rng(seed).random(self.num_pairs)
        return replace(self, **self._of_pairs(np.lexsort((places, self.pair_question))))

    def _of_pairs(self, pairs: Int[np.ndarray, " pair"]) -> dict[str, np.ndarray]:
        """The arrays of PER_PAIR, restricted to these pairs. An empty array stays empty."""
        arrays = {name: getattr(self, name) for name in PER_PAIR}
        return {name: array[pairs] if len(array) else array for name, array in arrays.items()}


@dataclass(frozen=True)
class RankingCorpus:
    """A data set after reading: vocabulary, distinct texts, splits, and irregularities found."""

    vocabulary: Vocabulary
    texts: TokenTable
    splits: Mapping[str, RankingSplit]
    answer_set: Int[np.ndarray, " answer"]
    """The texts that negatives may be drawn from."""
    held_out: Int[np.ndarray, " text"] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Texts that are in neither the answer set nor pre-training, if the data set names any. Pools keep what their files list."""
    notes: Mapping[str, int] = field(default_factory=dict)
    """Counted irregularities: repeated candidates, empty texts, questions without a right candidate."""
    fingerprint: str = ""
    """SHA-256 of words, tokens and splits. It does not depend on how the files are compressed."""
    as_written: WrittenTexts | None = None
    """The texts before they were split into tokens, if the reader gives them: the first spelling of each, then all further ones."""
    spellings: Int[np.ndarray, " further_spelling"] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """For each further spelling, the text with the same words."""
    answer_spellings: Int[np.ndarray, " answer_or_alike"] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """The answer set in `by_spelling`. Empty if there are no further spellings."""

    def by_spelling(self) -> "RankingCorpus":
        """The corpus in which texts with the same words are different texts if they are written differently, such as C++ and C#.

        The first spelling of a text keeps its number. The fingerprint stays that of the words.
        """
        if not len(self.spellings):
            return self
        return replace(
            self,
            texts=self.texts.chosen(np.concatenate([np.arange(len(self.texts)), self.spellings])),
            splits={name: split.by_spelling() for name, split in self.splits.items()},
            answer_set=self.answer_spellings,
            held_out=np.concatenate([self.held_out, len(self.texts) + np.flatnonzero(np.isin(self.spellings, self.held_out))]),
            spellings=self.spellings[:0],
            answer_spellings=self.answer_spellings[:0],
        )

    def of_words(self, kept: Int[np.ndarray, " known_word"]) -> "RankingCorpus":
        """The same texts with these words alone; see `TokenTable.renumbered`."""
        new_ids = np.full(len(self.vocabulary), -1)
        new_ids[kept] = len(SPECIAL_WORDS) + np.arange(len(kept))
        words, texts = [self.vocabulary.words[number] for number in kept.tolist()], self.texts.renumbered(new_ids)
        dropped = int((new_ids[self.texts.ids] < 0).sum())
        corpus = replace(
            self, vocabulary=Vocabulary.of_words(words), texts=texts, notes={**self.notes, "words without a vector (left out)": dropped}
        )
        return replace(corpus, fingerprint=corpus.compute_fingerprint())

    def words(self, text: int) -> list[str]:
        """The words of a text, field after field."""
        return [self.vocabulary.words[number] for number in self.texts.words(text)]

    def document_frequencies(self) -> Int[np.ndarray, " word"]:
        """For each word of the vocabulary, the number of distinct texts that contain it."""
        texts = np.repeat(np.arange(len(self.texts) * self.texts.num_fields), np.diff(self.texts.offsets)) // self.texts.num_fields
        distinct = np.unique(texts * np.int64(len(self.vocabulary)) + self.texts.ids) % len(self.vocabulary)
        return np.bincount(distinct, minlength=len(self.vocabulary))

    def written(self, text: int) -> str:
        """A text as its file has it. The number of a further spelling is that of `by_spelling`. If the spelling is unknown, the words
        joined by spaces.
        """
        words_of = text if text < len(self.texts) else int(self.spellings[text - len(self.texts)])
        return (self.as_written and self.as_written[text]) or " ".join(self.words(words_of))

    def save(self, folder: Path) -> None:
        """Write everything into a new folder."""
        folder.mkdir()
        (folder / "vocabulary.txt").write_bytes("\n".join(self.vocabulary.words).encode())
        for name, array in self._arrays().items():
            np.save(folder / f"{name}.npy", array)
        facts = {
            "splits": list(self.splits),
            "num_fields": self.texts.num_fields,
            "notes": dict(self.notes),
            "fingerprint": self.compute_fingerprint(),
        }
        if self.as_written is not None:
            np.save(folder / WRITTEN, self.as_written.utf8)
            np.save(folder / "written_offsets.npy", self.as_written.offsets)
            facts["written"] = zlib.crc32(self.as_written.utf8.data)
        (folder / "facts.json").write_text(json.dumps(facts, indent=1), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "RankingCorpus":
        """Open a saved corpus, memory-mapped."""
        facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
        names = RankingSplit.__dataclass_fields__

        def array(name: str) -> np.ndarray:
            return np.load(folder / f"{name}.npy", mmap_mode="r")

        return cls(
            vocabulary=Vocabulary((folder / "vocabulary.txt").read_bytes().decode().split("\n")),
            texts=TokenTable(array("tokens"), array("text_offsets"), facts["num_fields"]),
            splits={split: RankingSplit(**{name: array(f"{split}.{name}") for name in names}) for split in facts["splits"]},
            answer_set=array("answer_set"),
            held_out=array("held_out"),
            spellings=array("spellings"),
            answer_spellings=array("answer_spellings"),
            notes=facts["notes"],
            fingerprint=facts["fingerprint"],
            as_written=WrittenTexts(array("written"), array("written_offsets"), (folder / WRITTEN, facts["written"]))
            if "written" in facts
            else None,
        )

    def compute_fingerprint(self) -> str:
        digest = hashlib.sha256("\n".join(self.vocabulary.words).encode())
        for name, array in sorted(self._arrays().items()):
            if name.endswith("spellings") or (name.endswith(("held_out", "retrieval_scores", "grades")) and not len(array)):
                continue
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def written_fingerprint(self) -> str:
        """SHA-256 of the texts as they are written, for models that read these. Texts with the same words can be written differently.

        It is the same for the corpus and for its `by_spelling`.
        """
        arrays = [self.answer_spellings if len(self.spellings) else self.answer_set]
        if self.as_written is not None:
            arrays += [self.as_written.offsets, self.as_written.utf8]
        for _, split in sorted(self.splits.items()):
            spelled = split.by_spelling()
            arrays += [spelled.questions, spelled.candidates]
        digest = hashlib.sha256()
        for array in arrays:
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays = {
            "tokens": self.texts.ids,
            "text_offsets": self.texts.offsets,
            "answer_set": self.answer_set,
            "held_out": self.held_out,
            "spellings": self.spellings,
            "answer_spellings": self.answer_spellings,
        }
        for split, table in self.splits.items():
            arrays |= {f"{split}.{name}": getattr(table, name) for name in RankingSplit.__dataclass_fields__}
        return arrays
