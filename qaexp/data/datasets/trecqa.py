"""TREC QA (Wang et al. 2007): one reader per published layout, and the rules that make the variants of the data set.

TRAIN or TRAIN-ALL is a choice of file. **Raw** or **clean** is a rule: a clean split keeps the questions with both a right and a
wrong candidate. Except in TRAIN-ALL, the standard sets hold no candidate of more than 40 tokens. Only the jsonl layout still has the longer
ones.

The layouts agree question by question, candidate by candidate and label by label, in the same order, with these exceptions:

    jsonl   numbers are `<num>` (not "1980s" or "M3"); no question ids; TRAIN and dev want `longest: 40`
    XML     numbers as printed; TRAIN-ALL is published, but could not be obtained here
    toks    as XML in lower case; the questions that have no candidate (1 of TRAIN, 1 of dev, 5 of test) are absent; no TRAIN-ALL
"""

import reprlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from qaexp.data.corpus import RankingCorpus
from qaexp.data.corpus_builder import CorpusBuilder, text_names
from qaexp.data.fetch.remotes import fetch_hint
from qaexp.data.files import Faults, json_lines, lines, locate, published
from qaexp.data.tokenise import bare
from qaexp.errors import require_among


class Question(NamedTuple):
    """A question of a file."""

    id: str
    text: str
    candidates: list[tuple[str, int]]
    """Text and label."""


@dataclass(frozen=True)
class TrecQAReader(ABC):
    """What the layouts share. Questions without candidates stay in a raw split and count as its questions."""

    folder: str
    splits: Mapping[str, str]
    """Split to file, or to folder if the layout has several files per split."""
    longest: Mapping[str, int]
    """The maximum length of a candidate in each split, in published tokens. Longer candidates are left out and counted."""
    clean: Sequence[str]
    """The splits that keep only questions with both a right and a wrong candidate."""
    tokenise: Callable[[str], list[str]]

    version = 2
    hint: ClassVar[str]
    """Where the layout is published."""
    parts: ClassVar[Sequence[str]] = ("",)
    """The files of a split's folder."""

    def __post_init__(self) -> None:
        for option, splits in {"longest": self.longest, "clean": self.clean}.items():
            require_among(f"dataset.reader.{option}", splits, list(self.splits))

    def files(self) -> list[Path]:
        """The files to read, in the order of the splits.

        Raises:
            MissingDataError: naming those that are absent.
        """
        return locate([Path(self.folder) / name / part for name in self.splits.values() for part in self.parts], self.hint)

    def read(self) -> RankingCorpus:
        """Read every split.

        Raises:
            BadDataError: a file is not in the layout.
        """
        builder, tokenise, files = CorpusBuilder(), bare(self.tokenise), self.files()
        for number, split in enumerate(self.splits):
            with ExitStack() as stack:
                paths = files[number * len(self.parts) : (number + 1) * len(self.parts)]
                faults = [stack.enter_context(published(path, self.hint)) for path in paths]
                questions = self._questions(split, *faults)
                if not questions and not any(faults):
                    faults[0].add_whole("there is no question")
            builder.split(split)
            for question in questions:
                self._add(builder, split, question, tokenise)
        return builder.build()

    @abstractmethod
    def _questions(self, split: str, *faults: Faults) -> list[Question]:
        """The questions of the files of `faults`, in their order."""

    def _add(self, builder: CorpusBuilder, split: str, question: Question, tokenise: Callable[[str], list[str]]) -> None:
        pool = question.candidates
        if split in self.longest:
            whole, pool = pool, [(text, label) for text, label in pool if len(text.split()) <= self.longest[split]]
            if len(whole) > len(pool):
                builder.note(f"{split}: candidates of more than {self.longest[split]} tokens (left out)", len(whole) - len(pool))
        if split in self.clean and {label for _, label in pool} != {0, 1}:
            builder.note(f"{split}: questions without a right or without a wrong candidate (left out)")
            return
        asked = builder.text(tokenise(question.text), written=question.text)
        words = [tokenise(text) for text, _ in pool]
        texts = zip(text_names(words), words, pool, strict=True)
        candidates = [(name, builder.text(tokens, written=text), label) for name, tokens, (text, label) in texts]
        builder.question(split, question.id, asked, candidates)
        if split == "train":
            for _, candidate, _ in candidates:
                builder.answer(candidate)


class TrecQAJsonlReader(TrecQAReader):
    """Reads one question per line, `{"question": str, "candidates": [{"label": 0 or 1, "sentence": str}, ...]}`, named by its line."""

    hint = fetch_hint("trecqa")

    def _questions(self, split: str, *faults: Faults) -> list[Question]:
        (file,) = faults
        return [
            Question(
                f"{split}-{line}", entry["question"], [(candidate["sentence"], candidate["label"]) for candidate in entry["candidates"]]
            )
            for line, entry in json_lines(file)
            if _is_entry(line, entry, file)
        ]


def _is_entry(line: int, entry: Any, faults: Faults) -> bool:
    """Whether a line of the jsonl layout has no fault."""
    if not isinstance(entry, dict) or not isinstance(entry.get("question"), str) or not isinstance(entry.get("candidates"), list):
        faults.add(line, 'an object with fields "question", a string, and "candidates", a list, is expected')
        return False
    wrong = list(_candidate_faults(entry["candidates"]))
    for fault in wrong:
        faults.add(line, fault)
    return not wrong


def _candidate_faults(candidates: Iterable[Any]) -> Iterable[str]:
    for number, candidate in enumerate(candidates):
        fields = candidate if isinstance(candidate, dict) else {}
        if not isinstance(fields.get("sentence"), str):
            yield f"field candidates[{number}].sentence is {reprlib.repr(fields.get('sentence'))}, a string expected"
        label = fields.get("label")
        if type(label) is not int or label not in (0, 1):
            yield f"field candidates[{number}].label is {reprlib.repr(label)}, 0 or 1 expected"


class TrecQAXMLReader(TrecQAReader):
    """Reads the pseudo-XML of Yao et al. (2013), which no XML parser can read, because its tokens contain bare `&` and `<`.

    `<QApairs id='1.4'>` opens a question. It contains blocks `<question>`, `<positive>` and `<negative>`, each tag on a line by itself.
    The first line of a block holds its tokens, tab-separated. The other lines (part of speech, dependency, head, entity, and the position
    of the answer) are not read.
    """

    hint = fetch_hint("trecqa")

    def _questions(self, split: str, *faults: Faults) -> list[Question]:
        (file,) = faults
        parser = _PseudoXML(file)
        for line, text in lines(file):
            parser.feed(line, text)
        parser.close()
        return parser.questions


class _PseudoXML:
    """The state of the pseudo-XML parser: outside, in a question (`_open`), or in one of its blocks (`_block`)."""

    def __init__(self, faults: Faults) -> None:
        self.questions: list[Question] = []
        self._faults = faults
        self._ids: set[str] = set()
        self._open: tuple[int, str] | None = None
        self._block, self._lines_of_block = "", 0
        self._texts: dict[str, list[tuple[str, int]]] = {}

    def feed(self, line: int, text: str) -> None:
        if self._block:
            self._within_block(line, text)
        elif self._open:
            self._within_question(line, text)
        elif text.startswith("<QApairs id='") and text.endswith("'>"):
            self._start(line, text.removeprefix("<QApairs id='").removesuffix("'>"))
        elif text.strip():
            self._faults.add(line, f"{text[:40]!r} where <QApairs id='...'> is expected")

    def close(self) -> None:
        if self._open:
            self._faults.add(self._open[0], f"<QApairs id='{self._open[1]}'> is not closed by the end of the file")

    def _start(self, line: int, question_id: str) -> None:
        if question_id in self._ids:
            self._faults.add(line, f"id {question_id} is used twice")
        self._ids.add(question_id)
        self._open, self._texts = (line, question_id), {"question": [], "candidates": []}

    def _within_question(self, line: int, text: str) -> None:
        if text in ("<question>", "<positive>", "<negative>"):
            self._block, self._lines_of_block = text[1:-1], 0
        elif text == "</QApairs>":
            self._finish()
        elif text.strip():
            self._faults.add(line, f"{text[:40]!r} where a block or </QApairs> is expected")

    def _within_block(self, line: int, text: str) -> None:
        if text == f"</{self._block}>":
            if not self._lines_of_block:
                self._faults.add(line, f"the block {self._block} has no tokens")
            self._block = ""
        elif text.startswith(("<QApairs id=", "</QApairs>", "<question>", "<positive>", "<negative>")):
            self._faults.add(line, f"{text[:40]!r} before </{self._block}>")
            self._block = ""
            self.feed(line, text)
        else:
            self._lines_of_block += 1
            if self._lines_of_block == 1:
                self._texts["question" if self._block == "question" else "candidates"].append((text, int(self._block == "positive")))

    def _finish(self) -> None:
        assert self._open is not None
        line, question_id = self._open
        self._open = None
        questions = self._texts["question"]
        if len(questions) != 1:
            self._faults.add(line, f"<QApairs id='{question_id}'> has {len(questions)} question blocks, 1 expected")
            return
        self.questions.append(Question(question_id, questions[0][0], self._texts["candidates"]))


class TrecQAToksReader(TrecQAReader):
    """Reads one folder per split, with four files of one line per pair: question, candidate, question id, label.

    The pairs of a question stand together.
    """

    hint = fetch_hint("trecqa_toks")
    parts = ("a.toks", "b.toks", "id.txt", "sim.txt")

    def _questions(self, split: str, *faults: Faults) -> list[Question]:
        columns = [[text for _, text in lines(file)] for file in faults]
        for line, label in enumerate(columns[3], start=1):
            if label not in ("0", "1"):
                faults[3].add(line, f"the label is {label!r}, 0 or 1 expected")
        if any(faults):
            return []
        for file, column in zip(faults, columns, strict=True):
            if len(column) != len(columns[0]):
                file.add_whole(f"{len(column)} lines, but {self.parts[0]} has {len(columns[0])}")
        if any(faults):
            return []
        questions: dict[str, Question] = {}
        line = 1
        for (text, question_id), rows in groupby(zip(*columns, strict=True), key=lambda row: (row[0], row[2])):
            candidates = [(candidate, int(label)) for _, candidate, _, label in rows]
            if question_id in questions:
                faults[2].add(line, f"id {question_id} appears again after another question's lines, or for another question")
            questions.setdefault(question_id, Question(question_id, text, candidates))
            line += len(candidates)
        return list(questions.values())
