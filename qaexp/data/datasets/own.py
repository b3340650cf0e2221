"""Your own questions: one TSV file per split, one line for each (question, candidate) pair."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from qaexp.data.corpus import RankingCorpus
from qaexp.data.corpus_builder import CorpusBuilder, text_names
from qaexp.data.files import Faults, locate, records
from qaexp.data.tokenise import bare

SPLITS = ("train", "dev", "test")
LAYOUT = "A line is a question, a candidate, and 1 if it is a right one, else 0, separated by tabs. A first line of headings ends in label."


@dataclass(frozen=True)
class OwnReader:
    """Reads `train.tsv`, `dev.tsv` and `test.tsv`, with or without a header line whose third column is `label`.

    Lines with the same question, wherever they stand in a file, are its pool; of equal ones the first counts. A question is named by its
    line, `Q12`, a candidate also by a digest of its words, `2cbb8e1f85-12`: by the line alone equal scores would be decided by where
    files put right candidates.
    """

    folder: str
    tokenise: Callable[[str], list[str]]

    version = 3

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
        pools: dict[str, tuple[str, dict[str, tuple[str, int, int]]]] = {}
        with Faults(path, LAYOUT) as faults:
            for line, (question, candidate, label) in records(faults, 3):
                if line == 1 and label.strip().lower() == "label":
                    continue
                if label not in ("0", "1"):
                    faults.add(line, f"the label is {label!r}, 0 or 1 expected")
                    continue
                _, pool = pools.setdefault(question, (f"Q{line}", {}))
                if candidate in pool:
                    first, _, before = pool[candidate]
                    if before == int(label):
                        builder.note(f"{split}: repeated candidates (dropped)")
                    else:
                        faults.add(line, f"the label of this pair is {label}, and in line {first.rpartition('-')[2]} it is {before}")
                    continue
                text, [name] = builder.text(words := tokenise(candidate)), text_names([words])
                pool[candidate] = (f"{name}-{line}", text, int(label))
                if split == "train":
                    builder.answer(text)
            if not pools and not faults:
                faults.add_whole("there is no question")
        builder.split(split)
        for question, (question_id, pool) in pools.items():
            builder.question(split, question_id, builder.text(tokenise(question)), pool.values())
