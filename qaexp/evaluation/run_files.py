"""Measures run files of any system against a file of judgements, both in the formats of trec_eval."""

import gzip
import math
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int

from qaexp.errors import BadDataError, ConfigError, MissingDataError, QaexpError, plural
from qaexp.evaluation.conventions import file_tie_order, find_convention, string_tie_order
from qaexp.evaluation.questions import measure_questions
from qaexp.evaluation.ranks import UNJUDGED

RUN_LINE = "A line of a run is: question Q0 candidate rank score tag."
QRELS_LINE = "A line of judgements is: question 0 candidate label, where the label is a whole number."


CHUNK = 1 << 24
"""Bytes of lines that are parsed at a time."""


@dataclass(frozen=True)
class Qrels:
    """The judgements of a file: for each pair its question and candidate, as numbers, and its label."""

    path: Path
    questions: Mapping[bytes, int]
    candidates: Mapping[bytes, int]
    question: Int[np.ndarray, " pair"]
    candidate: Int[np.ndarray, " pair"]
    label: Int[np.ndarray, " pair"]

    @classmethod
    def read(cls, path: Path) -> "Qrels":
        """Read a file of judgements, plain or, if its name ends in `.gz`, packed by gzip.

        Raises:
            MissingDataError: there is no such file.
            BadDataError: a line has another number of fields, its label is not a whole number, or a pair is judged twice.
            ConfigError: the path is a folder.
        """
        table = _Table.read(path, 4, value=3, remedy=QRELS_LINE)
        if len(bad := np.flatnonzero((table.value % 1 != 0) | (np.abs(table.value) >= -UNJUDGED))):
            faults = [f"line {table.line[at]}: the label is {table.value[at]:g}" for at in bad.tolist()]
            raise BadDataError(path, faults, QRELS_LINE)
        return cls(path, table.questions, table.candidates, table.question, table.candidate, table.value.astype(np.int64))

    def pairs(self, questions: Int[np.ndarray, " pair"], candidates: Int[np.ndarray, " pair"]) -> Int[np.ndarray, " pair"]:
        """One number for each pair of a question and a candidate."""
        return questions * len(self.candidates) + candidates

    @cached_property
    def names(self) -> list[str]:
        """The questions by number."""
        return [name.decode(errors="surrogateescape") for name in self.questions]

    @cached_property
    def sorted_pairs(self) -> tuple[Int[np.ndarray, " pair"], Int[np.ndarray, " pair"]]:
        """All judged pairs in order, and where each stands in the file."""
        pairs = self.pairs(self.question, self.candidate)
        order = np.argsort(pairs, kind="stable")
        return pairs[order], order


@dataclass(frozen=True)
class Measured:
    """What was measured of a run file."""

    path: Path
    values: pd.DataFrame
    """A row for each question that is counted, in the order of the judgements; a column for each measure, by key."""
    not_judged: int
    """Questions of the run without judgements. They are left out, as trec_eval does."""
    not_ranked: int
    """Judged questions that the run lacks. They are left out, as trec_eval does, or count as 0, as with its option -c."""
    missing_pairs: int
    """Number of judged pairs that the run lacks, among the questions that are counted."""


def measure_run(path: Path, qrels: Qrels, measures: Sequence[str], convention: str = "trec", complete: bool = False) -> Measured:
    """The measures of each question of a run.

    Candidates that are not judged count as wrong. As in trec_eval, scores alone make the order, whatever the column `rank` says; under a
    convention with stable ties, equal scores stay in the order of the lines.

    Raises:
        MissingDataError: there is no such file.
        BadDataError: a line has another number of fields, a score is not a number, or a candidate occurs twice for a question.
        ConfigError: the path is a folder, or the convention or a measure is unknown.
        QaexpError: the run has none of the judged questions, or the convention leaves out all of them.
    """
    table = _Table.read(path, 6, value=4, remedy=RUN_LINE)
    place = np.array([qrels.questions.get(name, -1) for name in table.questions])
    if not (place >= 0).any():
        theirs, ours = (next(iter(names)).decode(errors="replace") for names in (qrels.questions, table.questions))
        raise QaexpError(
            f"{path} has none of the {len(qrels.questions)} questions of {qrels.path}, such as {theirs!r}; its own are like {ours!r}: "
            "take the judgements of the same data set"
        )
    questions = place[table.question]
    kept = np.flatnonzero(questions >= 0)
    questions = questions[kept]
    candidates = np.array([qrels.candidates.get(name, -1) for name in table.candidates])[table.candidate[kept]]
    rules = find_convention(convention)
    in_file_order = rules.tie_order is file_tie_order
    order = file_tie_order(questions) if in_file_order else string_tie_order(list(table.candidates))[table.candidate[kept]]

    judged, at = qrels.sorted_pairs
    pairs = np.where(candidates >= 0, qrels.pairs(questions, candidates), -1)
    found = np.minimum(np.searchsorted(judged, pairs), len(judged) - 1)
    hits = judged[found] == pairs
    labels = np.where(hits, qrels.label[at[found]], UNJUDGED)

    missing = np.ones(len(judged), dtype=bool)
    missing[at[found[hits]]] = False
    in_run = np.zeros(len(qrels.questions), dtype=bool)
    in_run[questions] = True
    if not complete:
        missing &= in_run[qrels.question]
    lost = np.flatnonzero(missing)
    everything = [
        np.concatenate([table.value[kept], np.zeros(len(lost))]),
        np.concatenate([labels, qrels.label[lost]]),
        np.concatenate([questions, qrels.question[lost]]),
        np.concatenate([order, np.zeros(len(lost), dtype=order.dtype)]),
    ]
    scores, labels, asked, places = map(torch.from_numpy, everything)
    measured = measure_questions(scores, labels, asked, places, rules, measures, ranked=torch.arange(len(scores)) < len(kept))
    if not len(measured["question"]):
        raise QaexpError(f"{qrels.path} has no right candidate of any question, and the convention {convention} leaves such questions out")
    counted = [qrels.names[number] for number in measured.pop("question").tolist()]
    values = {name: column.numpy() for name, column in measured.items() if name not in ("candidates", "answers")}
    return Measured(path, pd.DataFrame(values, index=counted), int((place < 0).sum()), int((~in_run).sum()), len(lost))


@dataclass(frozen=True)
class _Table:
    """The lines of a file of fields that white space separates: question, any field, candidate and, somewhere after it, a number."""

    questions: Mapping[bytes, int]
    """Name to number, in order of first appearance."""
    candidates: Mapping[bytes, int]
    question: Int[np.ndarray, " line"]
    candidate: Int[np.ndarray, " line"]
    value: Float[np.ndarray, " line"]
    line: Int[np.ndarray, " line"]
    """The number of the line as an editor counts. Blank lines are left out."""

    @classmethod
    def read(cls, path: Path, num_fields: int, value: int, remedy: str) -> "_Table":
        """Read a file, packed by gzip if its name ends in `.gz`. `value` is the index of the field with the number, from 0.

        Raises: MissingDataError; ConfigError on a folder; BadDataError on a line with another number of fields, no number, or a repeated
        pair.
        """
        questions, candidates = dict[bytes, int](), dict[bytes, int]()
        parts: list[list[np.ndarray]] = [[], [], [], []]
        faults, before = list[str](), 0
        if path.is_dir():
            raise ConfigError(f"{path} is a folder; name a file, such as {path / 'test.run'}")
        try:
            with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
                while lines := file.readlines(CHUNK):
                    lines[0] = lines[0] if before else lines[0].removeprefix(BOM_UTF8)
                    rows = [line.split() for line in lines]
                    numbers = list(range(before + 1, before + len(rows) + 1))
                    before += len(rows)
                    if any(len(row) != num_fields for row in rows):
                        faults += _torn(lines, numbers, num_fields)
                        numbers = [number for number, row in zip(numbers, rows, strict=True) if len(row) == num_fields]
                        rows = [row for row in rows if len(row) == num_fields]
                    columns = list(zip(*rows, strict=True)) or [()] * num_fields
                    parts[0].append(_numbered(columns[0], questions))
                    parts[1].append(_numbered(columns[2], candidates))
                    parts[2].append(_numbers(columns[value], numbers, faults))
                    parts[3].append(np.array(numbers, dtype=np.int64))
        except FileNotFoundError as error:
            raise MissingDataError(f"{path}: there is no such file", [path]) from error
        except (OSError, EOFError, zlib.error) as error:
            raise BadDataError(path, [str(error)], remedy) from error
        if faults or not questions:
            raise BadDataError(path, faults or ["it is empty"], remedy)
        table = cls(questions, candidates, *map(np.concatenate, parts))
        if faults := table.repeats():
            raise BadDataError(path, faults, "trec_eval refuses repeats, too: leave one line for each pair.")
        return table

    def repeats(self) -> list[str]:
        """A sentence for each line whose pair stands in an earlier line."""
        again = np.flatnonzero(pd.Series(self.question * len(self.candidates) + self.candidate).duplicated())
        questions, candidates = list(self.questions), list(self.candidates)
        return [
            f"line {self.line[at]}: candidate {candidates[self.candidate[at]].decode(errors='replace')} of question "
            f"{questions[self.question[at]].decode(errors='replace')} again"
            for at in again.tolist()
        ]


def _torn(lines: Sequence[bytes], numbers: Sequence[int], num_fields: int) -> Iterator[str]:
    """A sentence for each line with another number of fields, except blank lines."""
    for number, line in zip(numbers, lines, strict=True):
        if (size := len(line.split())) not in (0, num_fields):
            yield f"line {number}: {plural(size, 'field')}, {num_fields} expected: {line.strip()[:60].decode(errors='replace')!r}"


def _numbered(names: Sequence[bytes], known: dict[bytes, int]) -> Int[np.ndarray, " line"]:
    """The number of each name. New names get the next numbers."""
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)


def _numbers(texts: Sequence[bytes], lines: Sequence[int], faults: list[str]) -> Float[np.ndarray, " line"]:
    """Parses the texts as numbers. Adds a fault for each that is not a number; then the result is an empty array."""
    try:
        values = np.array([float(text) for text in texts], dtype=np.float64)
        if not np.isnan(values).any():
            return values
    except ValueError:
        pass
    for line, text in zip(lines, texts, strict=True):
        try:
            is_number = not math.isnan(float(text))
        except ValueError:
            is_number = False
        if not is_number:
            faults.append(f"line {line}: {text[:40].decode(errors='replace')!r} is not a number")
    return np.zeros(0)
