"""The embedded `toy` data set: generated English questions, so that everything can be tried without any file."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from qaexp.data.corpus import RankingCorpus
from qaexp.data.corpus_builder import CorpusBuilder
from qaexp.data.datasets.toy_text import generate
from qaexp.data.tokenise import bare


@dataclass(frozen=True)
class ToyReader:
    """Generates the corpus from `generator_seed`; see `toy_text.py` for what it is made of."""

    generator_seed: int
    num_train: int
    num_dev: int
    num_test: int
    num_candidates: int
    tokenise: Callable[[str], list[str]]

    version = 2

    def files(self) -> list[Path]:
        """None: nothing is read."""
        return []

    def read(self) -> RankingCorpus:
        builder, tokenise = CorpusBuilder(), bare(self.tokenise)
        splits = generate(self.generator_seed, self.num_train, self.num_dev, self.num_test, self.num_candidates)
        for split, questions in splits.items():
            for question in questions:
                pool = [(name, builder.text(tokenise(text)), label) for name, text, label in question.candidates]
                builder.question(split, question.id, builder.text(tokenise(question.text)), pool)
                if split == "train":
                    for _, text, _ in pool:
                        builder.answer(text)
        return builder.build()
