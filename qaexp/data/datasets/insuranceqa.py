"""InsuranceQA V1 (Feng et al. 2015) in its four-file layout: vocabulary, answers, training questions, question pools."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from qaexp.data.corpus import RankingCorpus
from qaexp.data.corpus_builder import CorpusBuilder
from qaexp.data.fetch.remotes import fetch_hint
from qaexp.data.files import Faults, locate, published, records
from qaexp.data.vocabulary import Vocabulary


@dataclass(frozen=True)
class InsuranceQAReader:
    """Reads the files of one folder.

    Formats, tab-separated, words as `idx_N` of the vocabulary and several ids separated by spaces:

        vocabulary   idx_N, word
        answers      answer id, words
        train        words, right answer ids
        pools        right answer ids, words, candidate answer ids
    """

    name: str
    """The data set's name in the fetch command."""
    folder: str
    vocabulary: str
    answers: str
    train: str
    pools: Mapping[str, str]
    """Split to file."""

    version = 1

    def files(self) -> list[Path]:
        """The files to read, in the order vocabulary, answers, train, pools.

        Raises:
            MissingDataError: naming those that are absent.
        """
        folder = Path(self.folder)
        names = [folder / name for name in (self.answers, self.train, *self.pools.values())]
        return locate([Path(self.vocabulary), *names], fetch_hint(self.name))

    def read(self) -> RankingCorpus:
        """Read everything.

        Raises:
            BadDataError: a line has another number of fields, an unknown word, an id that is used twice, or the id of no answer.
        """
        vocabulary_file, answers_file, train_file, *pool_files = self.files()
        words = self._words(vocabulary_file)
        builder = CorpusBuilder(Vocabulary.of_words(words.values()))
        answer_text = self._answers(answers_file, builder, words)
        builder.split("train")
        for split, path in zip(["train", *self.pools], [train_file, *pool_files], strict=True):
            self._questions(split, path, builder, words, answer_text)
        return builder.build()

    def _words(self, path: Path) -> dict[str, str]:
        words: dict[str, str] = {}
        with published(path, fetch_hint(self.name)) as faults:
            for line, (index, word) in records(faults, 2):
                if index in words:
                    faults.add(line, f"{index} is used twice")
                words[index] = word
        return words

    def _answers(self, path: Path, builder: CorpusBuilder, words: Mapping[str, str]) -> dict[str, int]:
        answer_text: dict[str, int] = {}
        with published(path, fetch_hint(self.name)) as faults:
            for line, (answer_id, indices) in records(faults, 2):
                if answer_id in answer_text:
                    faults.add(line, f"answer id {answer_id} is used twice")
                answer_text[answer_id] = builder.text(_tokens(indices, words, line, faults))
                builder.answer(answer_text[answer_id])
        return answer_text

    def _questions(self, split: str, path: Path, builder: CorpusBuilder, words: Mapping[str, str], answer_text: Mapping[str, int]) -> None:
        is_train = split == "train"
        with published(path, fetch_hint(self.name)) as faults:
            for line, fields in records(faults, 2 if is_train else 3):
                indices, right = fields[:2] if is_train else (fields[1], fields[0])
                answers = dict.fromkeys(right.split())
                pool = right.split() if is_train else fields[2].split()
                text = builder.text(_tokens(indices, words, line, faults))
                unknown = [answer for answer in dict.fromkeys([*answers, *pool]) if answer not in answer_text]
                if unknown:
                    faults.add(line, f"no answer has the id {', '.join(unknown[:5])}{' ...' if len(unknown) > 5 else ''}")
                    continue
                if outside := len(answers.keys() - set(pool)):
                    builder.note(f"{split}: right answers outside their pool (not ranked)", outside)
                builder.question(split, f"{split}-{line}", text, ((a, answer_text[a], int(a in answers)) for a in pool))


def _tokens(indices: str, words: Mapping[str, str], line: int, faults: Faults) -> list[str]:
    tokens = [words.get(index) for index in indices.split()]
    if None in tokens:
        faults.add(line, f"the vocabulary has no {indices.split()[tokens.index(None)]}")
    return [token for token in tokens if token is not None]
