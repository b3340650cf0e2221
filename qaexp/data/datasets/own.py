"""Your own questions: one TSV file per split, one line for each (question, candidate) pair."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from unicodedata import category, normalize

from qaexp.data.corpus import RankingCorpus
from qaexp.data.corpus_builder import CorpusBuilder, text_names
from qaexp.data.files import Faults, locate, records
from qaexp.data.tokenise import bare

log = logging.getLogger(__name__)

SPLITS = ("train", "dev", "test")
LAYOUT = "A line is a question, a candidate, and 1 if it is a right one, else 0, separated by tabs. A first line of headings ends in label."

Spelled = tuple[tuple[str, ...], str]
"""The words of a question, and what is seen of it."""


@dataclass(frozen=True)
class OwnReader:
    """Reads `train.tsv`, `dev.tsv` and `test.tsv`, with or without a header line whose third column is `label`.

    Lines with the same question, wherever they stand in a file, are its pool; of equal ones the first counts. Two questions are the same if
    nobody sees a difference but for letter case and double quotes, and if their words are the same: a no-break blank or a byte order mark
    does not split a pool. A question is named by its line, `Q12`, a candidate also by a digest of its words, `2cbb8e1f85-12`: by the
    line alone equal scores would be decided by where files put right candidates.
    """

    folder: str
    tokenise: Callable[[str], list[str]]

    version = 4

    def files(self) -> list[Path]:
        """The files to read, in the order of the splits.

        Raises:
            MissingDataError: naming those that are absent.
        """
        where = "Put them there, or name their folder with dataset.reader.folder=FOLDER."
        return locate([Path(self.folder) / f"{split}.tsv" for split in SPLITS], f"{LAYOUT} {where}")

    def read(self) -> RankingCorpus:
        """Read every split.

        Raises:
            BadDataError: a line has not three fields or another label, a pair has both labels, or a file has no question.
        """
        builder = CorpusBuilder()
        for split, path in zip(SPLITS, self.files(), strict=True):
            self._read_split(split, path, builder)
        return builder.build()

    def _read_split(self, split: str, path: Path, builder: CorpusBuilder) -> None:
        tokenise = bare(self.tokenise)
        pools: dict[Spelled, tuple[str, int, dict[tuple[int, str], tuple[str, int, int]]]] = {}
        spelled: dict[str, Spelled] = {}
        with Faults(path, LAYOUT) as faults:
            for line, (question, candidate, label) in records(faults, 3):
                if line == 1 and label.strip().lower() == "label":
                    continue
                if label not in ("0", "1"):
                    faults.add(line, f"the label is {label!r}, 0 or 1 expected")
                    continue
                if question not in spelled:
                    spelled[question] = tuple(tokenise(question)), seen(question)
                    if spelled[question] in pools:
                        builder.note(f"{split}: questions that differ in nothing that is seen (joined)")
                _, _, pool = pools.setdefault(spelled[question], (f"Q{line}", line, {}))
                key = builder.text(words := tokenise(candidate), written=candidate), seen(candidate)
                if key in pool:
                    first, _, before = pool[key]
                    if before == int(label):
                        builder.note(f"{split}: repeated candidates (dropped)")
                    else:
                        faults.add(line, f"the label of this pair is {label}, and in line {first.rpartition('-')[2]} it is {before}")
                    continue
                [name] = text_names([words])
                pool[key] = (f"{name}-{line}", key[0], int(label))
                if split == "train":
                    builder.answer(key[0])
            if not pools and not faults:
                faults.add_whole("there is no question")
        _warn_of_equal_words(path, [(words, line) for (words, _), (_, line, _) in pools.items()])
        builder.split(split)
        for (question_words, _), (question_id, _, pool) in pools.items():
            builder.question(split, question_id, builder.text(question_words), pool.values())


def seen(text: str) -> str:
    """What a reader tells a text by: composed letters in lower case, single blanks, no double quotes, no characters without a shape.

    >>> seen('\ufeffWhat is\u00a0 "soup" ?') == seen("what is soup\u200b ?")
    True
    """
    if not text.isascii():
        text = "".join(character for character in normalize("NFC", text) if category(character) != "Cf")
    return " ".join(text.replace('"', "").split()).casefold()


def _warn_of_equal_words(path: Path, questions: Sequence[tuple[tuple[str, ...], int]]) -> None:
    """Says which questions no model can tell apart, given the words and first line of each."""
    first: dict[tuple[str, ...], int] = {}
    again = [(first[words], line) for words, line in questions if first.setdefault(words, line) != line]
    if again:
        log.warning(
            "%s: %d questions have the same words as an earlier one, as in lines %d and %d; each keeps its own candidates",
            *(path, len(again), *again[0]),
        )
