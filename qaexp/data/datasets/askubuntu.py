"""AskUbuntu (Lei et al. 2016): questions with title and body, and for some of them a pool of possibly similar questions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from qaexp.data.corpus import RankingCorpus
from qaexp.data.corpus_builder import Candidate, CorpusBuilder
from qaexp.data.fetch.remotes import fetch_hint
from qaexp.data.files import lines, locate, published, records
from qaexp.data.tokenise import bare
from qaexp.errors import plural, require_among
from qaexp.limits import LARGEST_FLOAT32

FIELDS = ("title", "body")


@dataclass(frozen=True)
class AskUbuntuReader:
    """Reads `text_tokenized.txt`, `train_random.txt`, `dev.txt`, `test.txt` and `heldout.txt`.

    A training pool holds the questions that users marked as similar, which are right, and those drawn at random, which are wrong. A
    pool of dev or test holds the twenty that a search engine found, with its BM25 scores; annotators said which are right. Negatives may
    be drawn from every question of the corpus that is not held out.

    Without `texts` the corpus is not read, and each question's text is its id: enough to rank by BM25 and to check the files.
    """

    name: str
    """The data set's name in hints about missing files."""
    folder: str
    texts: str | None
    splits: Mapping[str, str]
    """Split to file."""
    held_out: str | None
    fields: Sequence[str]
    """`title`, `body`, or both; a model encodes each separately."""
    tokenise: Callable[[str], list[str]]

    version = 2

    def __post_init__(self) -> None:
        require_among("dataset.reader.fields", self.fields, FIELDS)

    def files(self) -> list[Path]:
        """The files to read: texts, held-out questions if used, then one file per split.

        Raises:
            MissingDataError: naming those that are absent.
        """
        names = [name for name in (self.texts, self.held_out, *self.splits.values()) if name is not None]
        return locate([Path(self.folder) / name for name in names], fetch_hint(self.name))

    def read(self) -> RankingCorpus:
        """Read every file.

        Raises:
            BadDataError: a line's number of fields, an id or a score is not what the file should have.
        """
        builder, paths = CorpusBuilder(num_fields=len(self.fields)), iter(self.files())
        text_of = self._texts(next(paths), builder) if self.texts is not None else None
        if self.held_out is not None:
            self._hold_out(next(paths), text_of, builder)
        for split in self.splits:
            builder.split(split)
            for question, pool in self._pools(next(paths), split, text_of, builder):
                builder.question(split, question, _text(question, text_of, builder), pool)
        for text in (text_of or {}).values():
            builder.answer(text)
        return builder.build()

    def _texts(self, path: Path, builder: CorpusBuilder) -> dict[str, int]:
        """Question id to text."""
        tokenise, columns = bare(self.tokenise), [1 + FIELDS.index(field) for field in self.fields]
        text_of: dict[str, int] = {}
        with published(path, fetch_hint(self.name)) as faults:
            for line, row in records(faults, 1 + len(FIELDS)):
                if row[0] in text_of:
                    faults.add(line, f"question {row[0]} again")
                fields = [row[column] for column in columns]
                text_of[row[0]] = builder.text(*map(tokenise, fields), written="\n".join(fields).strip())
        return text_of

    def _hold_out(self, path: Path, text_of: Mapping[str, int] | None, builder: CorpusBuilder) -> None:
        held_out = set[int]()
        with published(path, fetch_hint(self.name)) as faults:
            for line, question in lines(faults):
                if _unknown([question], text_of):
                    faults.add(line, f"question {question!r} has no text")
                    continue
                held_out.add(_text(question, text_of, builder))
        for text in sorted(held_out):
            builder.hold_out(text)

    def _pools(
        self, path: Path, split: str, text_of: Mapping[str, int] | None, builder: CorpusBuilder
    ) -> Iterator[tuple[str, list[Candidate]]]:
        """The questions of a split with their pools."""
        with published(path, fetch_hint(self.name)) as faults:
            for line, row in lines(faults):
                fields = row.split("\t")
                if len(fields) not in (3, 4):
                    faults.add(line, f"{plural(len(fields), 'field')}, 3 or 4 expected")
                    continue
                question, right, listed = fields[0], fields[1].split(), fields[2].split()
                scores = fields[3].split() if len(fields) == 4 else []
                ranked = bool(scores) or split != "train"
                wrong = list(_faults(question, right, listed, scores, text_of, ranked))
                for fault in wrong:
                    faults.add(line, fault)
                if wrong:
                    continue
                candidates = listed if ranked else [*right, *(other for other in listed if other not in right)]
                labelled = [(other, _text(other, text_of, builder), int(other in right)) for other in candidates]
                scored = [(*candidate, float(score)) for candidate, score in zip(labelled, scores, strict=True)] if scores else labelled
                yield question, list[Candidate](scored)


def _text(question: str, text_of: Mapping[str, int] | None, builder: CorpusBuilder) -> int:
    return builder.text([question]) if text_of is None else text_of[question]


def _unknown(questions: Sequence[str], text_of: Mapping[str, int] | None) -> list[str]:
    return [] if text_of is None else [question for question in questions if question not in text_of]


def _faults(
    question: str, right: Sequence[str], listed: Sequence[str], scores: Sequence[str], text_of: Mapping[str, int] | None, ranked: bool
) -> Iterator[str]:
    """What is wrong with a line of a pool. In a `ranked` pool, field 3 lists all candidates in the order that breaks ties."""
    if unknown := _unknown([question, *right, *listed], text_of):
        yield f"no text for question {', '.join(unknown[:5])}{' ...' if len(unknown) > 5 else ''}"
    if scores and len(scores) != len(listed):
        yield f"field 4 has {len(scores)} scores for {len(listed)} candidates of field 3"
    if ranked and (stray := [other for other in right if other not in listed]):
        yield f"field 2 has {', '.join(stray)}, which is not a candidate of field 3"
    if bad := [score for score in scores if not _is_score(score)]:
        yield f"field 4 has {bad[0]!r}, a score expected"


def _is_score(text: str) -> bool:
    """Whether a score is a number that float32 can hold. It may be negative, as log probabilities are.

    >>> [_is_score(text) for text in ("-3.2", "1e-05", "nan", "1e39", "1_0", "high")]
    [True, True, False, False, False, False]
    """
    try:
        return "_" not in text and abs(float(text)) <= LARGEST_FLOAT32
    except ValueError:
        return False
