"""Your own questions: tables of pairs or pools, one table per split, or one table with a column for the split."""

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import category, normalize

from qaexp.data.corpus import RankingCorpus
from qaexp.data.corpus_builder import CorpusBuilder, text_names
from qaexp.data.files import Faults, locate
from qaexp.data.rows import ENDINGS, Row, ending, is_saved_by_datasets, rows, rows_of_entries, tables_of_datasets
from qaexp.data.tokenise import bare
from qaexp.errors import BadDataError

log = logging.getLogger(__name__)

SPLITS: Mapping[str, tuple[str, ...]] = {"train": ("train", "training"), "dev": ("dev", "validation", "valid", "val"), "test": ("test",)}
"""The names of files, and of splits in a column. Others in a column are test splits with their own names."""
MAX_GRADE = 127
LAYOUT = (
    "Files are UTF-8. A line has columns question, candidate and label: 0, or 1 or more for a right one. Name other columns with "
    "dataset.reader.columns.question=NAME and its like. Without a line of headings, the columns are these three in this order."
)


class Pair(NamedTuple):
    """A line, or a candidate of a line with a pool."""

    place: str
    """Its line, and its number in a pool."""
    question: str
    candidate: str
    grade: int
    question_id: str | None
    candidate_id: str | None


@dataclass
class Pool:
    """A question and its candidates so far."""

    id: str
    place: str
    words: tuple[str, ...]
    shown: str
    """The question's text as a reader sees it."""
    spellings: list[str]
    candidates: dict[Any, tuple[str, int, int]] = field(default_factory=dict)
    """Candidate id, text and grade. Keys are the ids of the file or, without ids, the texts as a reader sees them."""
    places: dict[Any, str] = field(default_factory=dict)


@dataclass(frozen=True)
class OwnReader:
    """Reads questions and candidates from TSV, CSV, JSONL or parquet files.

    The data are a folder with the files `train`, `dev` and `test`, a single file with a column `split`, or a folder that the library
    `datasets` saved. A single file without that column is a test split, unless it has another split's name. See `qaexp.data.rows` for how
    columns are found.

    A line is a pair or a pool. The candidate of a pool is a list of texts, beside a list of labels, or a list of objects. Lines with the
    same question form one pool, wherever they stand in a file; of equal pairs the first counts.

    Questions with the same id are one question. Without ids, questions are one if they have the same words and look the same (see `seen`):
    a no-break space or a byte order mark makes no difference. Without an id, a question is named by its line (`Q12`), a candidate by a
    digest of its words and its line (`2cbb8e1f85-12`). With the line alone, ties would depend on where files put right candidates.
    """

    folder: str
    """Or a file."""
    tokenise: Callable[[str], list[str]]
    columns: Mapping[str, str | int | None] = field(default_factory=dict)
    """Maps our names of columns to the file's. Columns that are not named here are found by their usual names."""

    version = 5

    def files(self) -> list[Path]:
        """The files to read, in the order of the splits. A split may be absent.

        Raises:
            MissingDataError: there is no such file.
            BadDataError: a split has several files, or the name of a single file does not say how to read it.
        """
        where = f"{LAYOUT} Files end in {', '.join(ENDINGS)}. Put them there, or name their folder with dataset.reader.folder=FOLDER."
        folder = Path(self.folder).expanduser()
        if ending(folder) and not folder.is_dir():
            return locate([folder], where)
        if folder.is_file():
            kinds = ", ".join(f".{end}" for end in ENDINGS)
            raise BadDataError(folder, [f"its name does not end in one of {kinds}, which say how to read it"], "Rename it, or convert it.")
        if is_saved_by_datasets(folder):
            return sorted(path for path in folder.rglob("*") if path.is_file())
        found = []
        for split, names in SPLITS.items():
            endings = [f".{end}{packed}" for end in ENDINGS for packed in ("", ".gz")]
            there = [path for name in names for end in endings if (path := folder / f"{name}{end}").is_file()]
            if len(there) > 1:
                fault = f"there are {len(there)} files of {split}: {', '.join(path.name for path in there)}"
                raise BadDataError(folder, [fault], "Keep one of them, or name a file with a column of the split.")
            found += there
        return found or locate([folder / f"{split}.tsv" for split in SPLITS], where)

    def read(self) -> RankingCorpus:
        """Read every split.

        Raises:
            BadDataError: a column or a text is missing, a label is not a grade, a pair has two labels, an id is given to two questions, or
                a split has no right candidate.
        """
        builder, folder = CorpusBuilder(), Path(self.folder).expanduser()
        if is_saved_by_datasets(folder):
            for split, table in tables_of_datasets(folder).items():
                self._read(folder / split, builder, table, split or "test")
        else:
            for path in self.files():
                self._read(path, builder)
        return builder.build()

    def _read(self, path: Path, builder: CorpusBuilder, table: Any = None, other: str = "test") -> None:
        """Read a file or a table. The column `split` says to which split a row belongs. Without that column, the file's name says it; if
        the name is not that of a split, the rows belong to `other`.
        """
        split = next((split for split, names in SPLITS.items() if path.name.lower().partition(".")[0] in names), other)
        with Faults(path, LAYOUT) as faults:
            pools = _Pools(builder, bare(self.tokenise), faults)
            found = rows(faults, self.columns) if table is None else rows_of_entries(faults, self.columns, enumerate(table, start=1))
            for place, row in found:
                line = int(place.partition(".")[0])
                name = str(row.get("split", split) or "")
                if not re.fullmatch(r"\w[\w.-]*", name):
                    faults.add(line, f"the split is {name!r}: train, dev or test is expected")
                    continue
                try:
                    pools.add(_split_name(name), line, _pair(place, row))
                except ValueError as error:
                    faults.add(line, str(error))
            pools.require_answers()
        pools.build(path)


class _Pools:
    """The pools of a file, by split."""

    def __init__(self, builder: CorpusBuilder, tokenise: Callable[[str], list[str]], faults: Faults) -> None:
        self._builder, self._tokenise, self._faults = builder, tokenise, faults
        self._spelled: dict[str, tuple[tuple[str, ...], str]] = {}
        self.of_split: dict[str, dict[Any, Pool]] = {}

    def add(self, split: str, line: int, pair: Pair) -> None:
        """Add a pair to the pool of its question."""
        if pair.question not in self._spelled:
            self._spelled[pair.question] = tuple(self._tokenise(pair.question)), seen(pair.question)
        words, shown = self._spelled[pair.question]
        key = pair.question_id or (words, shown)
        pool = self.of_split.setdefault(split, {}).setdefault(
            key, Pool(pair.question_id or f"Q{line}", pair.place, words, shown, [pair.question])
        )
        if pool.shown != shown:
            self._faults.add(line, f"id {pool.id} already belongs to the question of line {pool.place}")
            return
        if pair.question not in pool.spellings:
            pool.spellings.append(pair.question)
            self._builder.note(f"{split}: questions that look the same (joined)")
        text = self._builder.text(candidate := self._tokenise(pair.candidate), written=pair.candidate)
        same = pair.candidate_id or (text, seen(pair.candidate))
        if same in pool.candidates:
            _, first, grade = pool.candidates[same]
            if grade != pair.grade:
                self._faults.add(line, f"the label of this pair is {pair.grade}, and in line {pool.places[same]} it is {grade}")
            elif first != text:
                self._faults.add(line, f"candidate {pair.candidate_id} has another text than in line {pool.places[same]}")
            else:
                self._builder.note(f"{split}: repeated candidates (dropped)")
            return
        [name] = text_names([candidate])
        pool.candidates[same], pool.places[same] = (pair.candidate_id or f"{name}-{pair.place}", text, pair.grade), pair.place
        if split == "train":
            self._builder.answer(text)

    def require_answers(self) -> None:
        """Adds a fault if there is no question, or a split has no right candidate."""
        if self._faults:
            return
        if not self.of_split:
            self._faults.add_whole("there is no question")
        for split, pools in self.of_split.items():
            if not any(grade for pool in pools.values() for _, _, grade in pool.candidates.values()):
                self._faults.add_whole(f"{split} has no right candidate, one with a label above 0, so there is nothing to learn or measure")

    def build(self, path: Path) -> None:
        """Add everything to the corpus."""
        for split in sorted(self.of_split, key=lambda split: [*SPLITS, split].index(split)):
            pools = list(self.of_split[split].values())
            _warn_of_equal_words(path, [(pool.words, pool.place) for pool in pools])
            self._builder.split(split)
            for pool in pools:
                text = self._builder.text(pool.words, written=pool.spellings[0])
                self._builder.question(split, pool.id, text, pool.candidates.values())


def _split_name(name: str) -> str:
    """The name of a split in qaexp.

    >>> _split_name("Validation"), _split_name("test2")
    ('dev', 'test2')
    """
    return next((split for split, names in SPLITS.items() if name.lower() in names), name)


def _pair(place: str, row: Row) -> Pair:
    """The pair of a row. Raises: ValueError, which says what is wrong with the row."""
    for name in ("question", "candidate"):
        if not isinstance(row[name], str):
            raise ValueError(f"the {name} is {'missing' if row[name] is None else f'of type {type(row[name]).__name__}'}, a text expected")
    question_id, candidate_id = (None if row.get(name) in (None, "") else str(row[name]) for name in ("question_id", "candidate_id"))
    return Pair(place, row["question"], row["candidate"], _grade(row["label"]), question_id, candidate_id)


def _grade(label: object) -> int:
    """The grade that a label stands for. Raises: ValueError, if it stands for none.

    >>> _grade("2"), _grade(1.0), _grade(True), _grade("0.0")
    (2, 1, 1, 0)
    """
    try:
        grade = float(label) if isinstance(label, (str, int, float)) else -1.0
    except (ValueError, OverflowError):
        grade = -1.0
    if not (grade.is_integer() and 0 <= grade <= MAX_GRADE):
        raise ValueError(f"the label is {label!r}, a whole number from 0 to {MAX_GRADE} expected")
    return int(grade)


def seen(text: str) -> str:
    """A text as a reader perceives it: composed letters (NFC) in lower case, single spaces, no double quotes, no invisible characters.

    >>> seen('\ufeffWhat is\u00a0 "soup" ?') == seen("what is soup\u200b ?")
    True
    """
    if not text.isascii():
        text = "".join(character for character in normalize("NFC", text) if category(character) != "Cf")
    return " ".join(text.replace('"', "").split()).casefold()


def _warn_of_equal_words(path: Path, questions: Sequence[tuple[tuple[str, ...], str]]) -> None:
    """Warns of questions that no model can tell apart, given the words and first line of each."""
    first: dict[tuple[str, ...], str] = {}
    again = [(first[words], line) for words, line in questions if first.setdefault(words, line) != line]
    if again:
        log.warning(
            "%s: %d questions have the same words as an earlier one, as in lines %s and %s; each keeps its own candidates",
            *(path, len(again), *again[0]),
        )
