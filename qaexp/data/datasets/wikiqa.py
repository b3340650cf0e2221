"""WikiQA (Yang et al. 2015): one TSV file per split, one line for each (question, sentence) pair."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from qaexp.data.corpus import RankingCorpus
from qaexp.data.corpus_builder import CorpusBuilder
from qaexp.data.fetch.remotes import fetch_hint
from qaexp.data.files import locate, published, records
from qaexp.data.tokenise import bare

COLUMNS = ["QuestionID", "Question", "DocumentID", "DocumentTitle", "SentenceID", "Sentence", "Label"]


@dataclass(frozen=True)
class WikiQAReader:
    """Reads `WikiQA-{train,dev,test}.tsv`. Quotes are plain characters, as 1,769 lines of the training file need."""

    folder: str
    splits: Mapping[str, str]
    """Split to file."""
    tokenise: Callable[[str], list[str]]

    version = 1

    def files(self) -> list[Path]:
        """The files to read, in the order of the splits.

        Raises:
            MissingDataError: naming those that are absent.
        """
        return locate([Path(self.folder) / name for name in self.splits.values()], fetch_hint("wikiqa"))

    def read(self) -> RankingCorpus:
        """Read every split.

        Raises:
            BadDataError: the header, or a line's number of fields or label, is not what WikiQA has, an id is given to two questions, a
                sentence has both labels, or a file has no question.
        """
        builder = CorpusBuilder()
        for split, path in zip(self.splits, self.files(), strict=True):
            self._read_split(split, path, builder)
        return builder.build()

    def _read_split(self, split: str, path: Path, builder: CorpusBuilder) -> None:
        tokenise = bare(self.tokenise)
        questions: dict[str, tuple[int, int, list[tuple[str, int, int]]]] = {}
        labelled: dict[tuple[str, str], tuple[int, str]] = {}
        with published(path, fetch_hint("wikiqa")) as faults:
            for line, fields in records(faults, len(COLUMNS)):
                if line == 1:
                    if fields != COLUMNS:
                        faults.add(line, f"the header is not {' '.join(COLUMNS)}")
                    continue
                question_id, question, _, _, sentence_id, sentence, label = fields
                if label not in ("0", "1"):
                    faults.add(line, f"field Label is {label!r}, 0 or 1 expected")
                    continue
                asked = builder.text(tokenise(question), written=question)
                before, first, candidates = questions.setdefault(question_id, (asked, line, []))
                if asked != before:
                    faults.add(line, f"id {question_id} already belongs to the question of line {first}")
                    continue
                first, other = labelled.setdefault((question_id, sentence_id), (line, label))
                if label != other:
                    faults.add(line, f"sentence {sentence_id} of question {question_id} is labelled {label}, and in line {first} {other}")
                    continue
                text = builder.text(tokenise(sentence), written=sentence)
                candidates.append((sentence_id, text, int(label)))
                if split == "train":
                    builder.answer(text)
            if not questions and not faults:
                faults.add_whole("there is no question below the header")
        builder.split(split)
        for question_id, (text, _, candidates) in questions.items():
            builder.question(split, question_id, text, candidates)
