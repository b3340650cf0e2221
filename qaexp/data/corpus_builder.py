"""What readers share: a corpus built question by question, names for candidates without one, groups of connected texts."""

import hashlib
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Int

from qaexp.data.corpus import RankingCorpus, RankingSplit, TokenTable, WrittenTexts
from qaexp.data.vocabulary import SPECIAL_WORDS, UNKNOWN, Vocabulary
from qaexp.errors import BadDataError, ConfigError, plural

Candidate = tuple[str, int, int] | tuple[str, int, int, float]
"""Candidate id, text, label (a grade above 1 is right, too) and, if it is published, a search engine's score."""


class RespelledText(int):
    """The number of a text with the words of an earlier text in another spelling. It equals the number of the earlier text."""

    as_spelled: int
    """The number of the spelling: −1 for the first further spelling in the corpus, −2 for the second, …"""


LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


def readable(text: str) -> str:
    """Replaces each lone surrogate by U+FFFD. JSON may hold such halves of a character, UTF-8 may not.

    >>> readable("hi \\ud83d")
    'hi \ufffd'
    """
    return text if text.isascii() else LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


class CorpusBuilder:
    """Collects a corpus question by question. Equal texts are stored once; repeated candidates of a pool are dropped and counted."""

    def __init__(self, vocabulary: Vocabulary | None = None, num_fields: int = 1) -> None:
        if num_fields < 1:
            raise ConfigError("texts need a field at least; name one in dataset.reader.fields")
        self._vocabulary, self._num_fields = vocabulary, num_fields
        self._word_ids: dict[str, int] = dict.fromkeys(SPECIAL_WORDS, UNKNOWN)
        self._text_ids: dict[tuple[tuple[int, ...], ...], int] = {}
        self._written, self._written_offsets = bytearray(), array("q", [0])
        self._spellings: dict[tuple[int, bytes], int] = {}
        self._splits: dict[str, list[tuple[int, str, list[Candidate]]]] = {}
        self._classified = set[str]()
        self._answer_set: dict[int, None] = {}
        self._held_out: dict[int, None] = {}
        self._faults: list[tuple[str, str]] = []
        self.notes: dict[str, int] = {}

    def note(self, what: str, count: int = 1) -> None:
        """Count an irregularity for the record."""
        self.notes[what] = self.notes.get(what, 0) + count

    def text(self, *fields: Sequence[str], written: str = "") -> int:
        """The number of a text, given the words of each field, and the text as its file has it.

        Texts with the same words have the same number; of those with a single field, each spelling is kept. A text without any word
        becomes one unknown word, and is counted.

        Raises:
            ConfigError: it has another number of fields than the corpus.
        """
        if len(fields) != self._num_fields:
            raise ConfigError(f"a text of {plural(len(fields), 'field')} was given to CorpusBuilder(num_fields={self._num_fields})")
        if not any(fields):
            self.note("empty texts (read as one unknown word)")
        ids = tuple(map(self._ids, fields)) if any(fields) else ((UNKNOWN,), *[()] * (self._num_fields - 1))
        number = self._text_ids.setdefault(ids, len(self._text_ids))
        utf8, ends = readable(written).encode(), self._written_offsets
        if number == len(ends) - 1:  # a new one
            self._written += utf8
            ends.append(len(self._written))
        elif self._num_fields == 1 and utf8 != self._written[ends[number] : ends[number + 1]]:
            respelled = RespelledText(number)
            respelled.as_spelled = self._spellings.setdefault((number, utf8), -1 - len(self._spellings))
            return respelled
        return number

    def _ids(self, words: Sequence[str]) -> tuple[int, ...]:
        if self._vocabulary is not None:
            return tuple(self._vocabulary.ids(words))
        known = self._word_ids
        return tuple([known[word] if word in known else self._new_word(word) for word in words])

    def _new_word(self, word: str) -> int:
        if (whole := readable(word)) != word:
            self.note("words with half of a character (replaced)")
        return self._word_ids.setdefault(whole, len(self._word_ids))

    def answer(self, text: int) -> None:
        """Add this text to the answer set, from which negatives are drawn."""
        self._answer_set[_as_spelled(text)] = None

    def hold_out(self, text: int) -> None:
        """Exclude this text from the answer set and from pre-training; pools keep what their files list."""
        self._held_out[text] = None

    def split(self, name: str) -> None:
        """Add a split, which then exists even without questions."""
        self._splits.setdefault(name, [])

    def pair(self, split: str, pair_id: str, first: int, second: int, label: int) -> None:
        """Add a pair with a class: a question whose pool is one candidate."""
        pair_id = readable(pair_id)
        self._classified.add(split)
        self._splits.setdefault(split, []).append((first, pair_id, [(pair_id, second, label)]))

    def question(self, split: str, question_id: str, text: int, candidates: Iterable[Candidate]) -> None:
        """Add a question and its pool of (candidate id, text, label), with retrieval scores in all pools of a split or in none.

        The first of repeated candidates counts. One that comes again with another label or text makes `build` fail.
        """
        pool: dict[str, Candidate] = {}
        question_id = readable(question_id)
        for name, *facts in candidates:
            candidate: Candidate = (readable(name), *facts)  # type: ignore[assignment]
            first = pool.setdefault(candidate[0], candidate)
            if first is candidate:
                continue
            if first[2] != candidate[2]:
                labels = f"{first[2]} and {candidate[2]}"
                self._faults.append((split, f"question {question_id!r}: candidate {candidate[0]!r} is labelled {labels}"))
            elif first[1] != candidate[1]:
                self._faults.append((split, f"question {question_id!r}: candidate {candidate[0]!r} has two texts"))
            else:
                self.note(f"{split}: repeated candidates (dropped)")
        if not any(candidate[2] for candidate in pool.values()):
            self.note(f"{split}: questions without a right candidate")
        if not pool:
            self.note(f"{split}: questions without any candidate (left out)")
        self._splits.setdefault(split, []).append((text, question_id, list(pool.values())))

    def build(self) -> RankingCorpus:
        """The corpus of everything added.

        Raises:
            BadDataError: an id contains white space, which trec_eval's format does not allow; two questions of a split have the same id, or
                a candidate has two labels or texts; or only some pools of a split have retrieval scores.
            ConfigError: the tokeniser leaves line breaks in words.
        """
        for name in self._splits:
            self._require_fit(name)
        vocabulary = self._vocabulary or Vocabulary.of_words(self._word_ids)
        if broken := next((word for word in vocabulary.words if "\n" in word), None):
            raise ConfigError(f"the word {broken!r} contains a line break: let dataset.tokenise split words at white space")
        lengths = [len(ids) for text in self._text_ids for ids in text]
        texts = TokenTable(
            ids=np.fromiter((i for text in self._text_ids for ids in text for i in ids), dtype=np.int32, count=sum(lengths)),
            offsets=np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
            num_fields=self._num_fields,
        )
        splits = {name: _split_of(questions, name in self._classified, len(texts)) for name, questions in self._splits.items()}
        further = np.array([text for text, _ in self._spellings], dtype=np.int64)
        text_of = {spelled: further[-1 - spelled] if spelled < 0 else spelled for spelled in self._answer_set}
        answer_set = {spelled: text for spelled, text in text_of.items() if text not in self._held_out}
        answers = np.array(list(answer_set), dtype=np.int64)
        corpus = RankingCorpus(
            vocabulary,
            texts,
            splits,
            answer_set=np.array(list(dict.fromkeys(answer_set.values())), dtype=np.int64),
            held_out=np.array(list(self._held_out), dtype=np.int64),
            notes=self.notes,
            as_written=self._as_written(),
            spellings=further,
            answer_spellings=_numbered(answers, len(texts)) if len(further) else answers[:0],
        )
        return replace(corpus, fingerprint=corpus.compute_fingerprint())

    def _require_fit(self, split: str) -> None:
        """Raises: BadDataError, as `build` does."""
        questions = self._splits[split]
        if faults := list(_unfit(questions)):
            raise BadDataError(
                f"{split} questions", faults, "Give each question an id of its own; ids are single words, as trec_eval reads them."
            )
        if faults := [fault for name, fault in self._faults if name == split]:
            raise BadDataError(f"{split} questions", faults, "Give each candidate of a question an id of its own and one label.")
        unscored = [question_id for _, question_id, pool in questions if any(len(candidate) == 3 for candidate in pool)]
        if unscored and any(len(candidate) == 4 for _, _, pool in questions for candidate in pool):
            fault = f"{len(unscored)} have no retrieval scores but others have, the first {unscored[0]!r}"
            raise BadDataError(f"{split} questions", [fault], "Give scores to all questions of a split, or to none.")

    def _as_written(self) -> WrittenTexts | None:
        """The first spelling of each text, then all further ones."""
        further = [utf8 for _, utf8 in self._spellings]
        ends = len(self._written) + np.cumsum(list(map(len, further)), dtype=np.int64)
        parts = [np.frombuffer(part, np.uint8) for part in (self._written, b"".join(further)) if part]
        return WrittenTexts(np.concatenate(parts), np.array([*self._written_offsets, *ends], dtype=np.int64)) if parts else None


def _as_spelled(text: int) -> int:
    return text.as_spelled if isinstance(text, RespelledText) else text


def _numbered(as_spelled: Int[np.ndarray, " text"], num_texts: int) -> Int[np.ndarray, " text"]:
    """Numbers of texts in which further spellings (−1, −2, …) count up from `num_texts`."""
    return np.where(as_spelled < 0, num_texts - 1 - as_spelled, as_spelled)


def _split_of(questions: list[tuple[int, str, list[Candidate]]], classified: bool, num_texts: int) -> RankingSplit:
    pairs: list[Any] = [candidate for _, _, pool in questions for candidate in pool]
    labels = np.array([pair[2] for pair in pairs], dtype=np.int8)
    graded = not classified and labels.max(initial=0) > 1
    asked, offered = (
        np.array([_as_spelled(text) for text in texts], dtype=np.int64)
        for texts in ([text for text, _, _ in questions], [pair[1] for pair in pairs])
    )
    is_respelled = min(asked.min(initial=0), offered.min(initial=0)) < 0
    return RankingSplit(
        questions=np.array([text for text, _, _ in questions], dtype=np.int64),
        offsets=np.concatenate([[0], np.cumsum([len(pool) for _, _, pool in questions], dtype=np.int64)]).astype(np.int64),
        candidates=np.array([pair[1] for pair in pairs], dtype=np.int64),
        labels=np.minimum(labels, 1) if graded else labels,
        question_ids=np.array([name.encode() for _, name, _ in questions], dtype=np.bytes_),
        candidate_ids=np.array([pair[0].encode() for pair in pairs], dtype=np.bytes_),
        retrieval_scores=np.array([pair[3] for pair in pairs if len(pair) > 3], dtype=np.float32),
        grades=labels if graded else np.empty(0, dtype=np.int8),
        question_spellings=_numbered(asked, num_texts) if is_respelled else asked[:0],
        candidate_spellings=_numbered(offered, num_texts) if is_respelled else offered[:0],
    )


def _unfit(questions: Sequence[tuple[int, str, list[Candidate]]]) -> Iterator[str]:
    """Ids that cannot be written to a run's files, or are used twice."""
    seen = set[str]()
    for _, question_id, pool in questions:
        if question_id in seen:
            yield f"two are called {question_id!r}"
        seen.add(question_id)
        for name in (question_id, *(candidate[0] for candidate in pool)):
            if name.split() != [name]:
                whose = "its id" if name is question_id else f"candidate {name!r}"
                yield f"question {question_id!r}: {whose} is empty or contains white space"


def text_names(texts: Iterable[Sequence[str]]) -> list[str]:
    """Candidate ids for a pool published without them: a digest of each text; repeated texts are numbered.

    Many files list the right candidates first, or last. If ids followed that order, they would reveal the labels to conventions that break
    ties by id (such as `trec`).

    >>> text_names([["it", "burned"], ["no"], ["it", "burned"]])
    ['2cbb8e1f85', 'faa280dc35', '2cbb8e1f85-2']
    """
    seen: Counter[str] = Counter()
    names = []
    for text in texts:
        name = hashlib.blake2s(readable(" ".join(text)).encode(), digest_size=5).hexdigest()
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return names


def connected_groups(size: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """The smallest member of the connected component of each of `size` items; `pairs` are the edges.

    >>> connected_groups(5, [(3, 1), (4, 3)])
    [0, 1, 2, 1, 1]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first, second = np.array(list(pairs), dtype=np.int64).reshape(-1, 2).T
    _, label = connected_components(coo_array((np.ones(len(first)), (first, second)), shape=(size, size)), directed=False)
    _, least, group = np.unique(label, return_index=True, return_inverse=True)
    return least[group].tolist()


def held_out_counts(size: int, dev_share: float, test_share: float) -> tuple[int, int]:
    """How many of `size` items go into dev and into test; the rest is for training.

    Raises:
        ConfigError: nothing is left for training.

    >>> held_out_counts(12, 0.25, 0.1)
    (3, 1)
    """
    num_dev, num_test = round(dev_share * size), round(test_share * size)
    if size and num_dev + num_test >= size:
        raise ConfigError(f"dataset.reader.dev_share={dev_share} and test_share={test_share} leave nothing to train on; lower them")
    return num_dev, num_test
