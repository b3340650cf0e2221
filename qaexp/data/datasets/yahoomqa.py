"""Matching questions and answers of Yahoo! Answers (Liu et al. 2016, §6.4): short pairs, with wrong answers similar to the right one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import ClassVar, NamedTuple

import numpy as np

from qaexp.data.bm25 import BM25Index
from qaexp.data.corpus import RankingCorpus
from qaexp.data.corpus_builder import CorpusBuilder, text_names
from qaexp.data.datasets.webscope import posts
from qaexp.data.datasets.yahooqa import read_text_file
from qaexp.data.fetch.remotes import fetch_hint
from qaexp.data.files import Faults, locate, progress, published
from qaexp.data.tokenise import bare
from qaexp.data.vocabulary import Vocabulary
from qaexp.errors import ConfigError, require_among
from qaexp.limits import NonNegativeFloat, NonNegativeInt, PositiveInt, Seed, Share


class Pair(NamedTuple):
    """A question and its best answer, as tokens joined by spaces, and both as they were written."""

    id: str
    question: str
    answer: str
    written_question: str
    written_answer: str


@dataclass(frozen=True)
class YahooMQAReader(ABC):
    """Makes pools of pairs of a question and its best answer, with wrong answers that BM25 retrieves for the right one.

    "We then select the pairs in which the length of questions and answers are both in the interval [4, 30] … we first use each question's
    best answer as a query to retrieval top 1,000 results from the whole answer set with Lucene, where 4 or 9 answers will be selected
    randomly to construct the negative pairs. The whole dataset is divided into training, validation and testing data with
    proportion 20 : 1 : 1." (§6.4)

    Reading: lengths are in tokens of `tokenise`; the question is the subject of the post, without its further details; the whole answer set
    is that of the selected pairs of all splits, so that wrong answers have the lengths of right ones; BM25 with Lucene's k1 and b ranks,
    without Lucene's stemming and stop words. Of a question asked more than once, in the same tokens, the first pair is kept, so that no
    question is in two splits. An answer equal to the right one is never a wrong one. Pools are drawn once, so that every epoch shows the
    same; a pool of 10 holds that of 5.

    Departs: with `wrong_from: split`, wrong answers come from the question's own split, not from the whole answer set. That is for small
    sets: there, wrong answers of dev and test that are drawn from all splits would mostly be right answers of training questions, while
    the right answers of dev and test are new. Remembering answers would then lower the score. `wrong_from: all` is the published way.

    Departs: if too few answers share a word with the right one, the missing ones are drawn at random from the same set of answers, and
    counted.
    """

    folder: str
    tokenise: Callable[[str], list[str]]
    min_length: NonNegativeInt
    max_length: PositiveInt
    num_pairs: PositiveInt | None
    """Number of selected pairs to use, drawn with `split_seed`; null: all."""
    num_candidates: PositiveInt
    """Candidates per question: one right, the others wrong."""
    hits: PositiveInt
    k1: NonNegativeFloat
    b: Share
    parts: Mapping[str, int]
    """Maps a split to its part of the pairs, relative to the sum. The first split gets the remainder of rounding."""
    split_seed: Seed
    candidate_seed: Seed
    wrong_from: str
    """`all`: wrong answers come from all splits; `split`: from the question's own."""

    version = 2
    hint: ClassVar[str]
    """Where the files are published."""

    def __post_init__(self) -> None:
        require_among("dataset.reader.wrong_from", [self.wrong_from], ("all", "split"))

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """The files within the folder."""

    def files(self) -> list[Path]:
        """The files to read, plain, `.gz` or `.bz2`.

        Raises:
            MissingDataError: naming those that are absent.
        """
        paths = [Path(self.folder).expanduser() / name for name in self.names]
        return locate([bz2 if (bz2 := Path(f"{path}.bz2")).is_file() else path for path in paths], self.hint)

    def read(self) -> RankingCorpus:
        """Select pairs, retrieve wrong answers, draw the splits.

        Raises:
            BadDataError: a file is not in its layout.
            ConfigError: there are fewer different answers than a pool has candidates.
        """
        builder = CorpusBuilder()
        with ExitStack() as stack:
            files = [stack.enter_context(published(path, self.hint)) for path in self.files()]
            pairs = self._selected(self._pairs(files, builder), builder)
        Random(self.split_seed).shuffle(pairs)
        splits = self._divided(pairs)
        sources = {"all": [pairs], "split": [members for members in splits.values() if members]}
        pools: dict[str, list[str]] = {}
        for members in sources[self.wrong_from]:
            pools |= zip((pair.id for pair in members), self._pools(members, builder), strict=True)
        written = {pair.answer: pair.written_answer for pair in pairs}
        for split, members in splits.items():
            builder.split(split)
            for pair in members:
                pool = [pair.answer, *pools[pair.id]]
                texts = [text.split(" ") for text in pool]
                candidates = [builder.text(words, written=written[text]) for text, words in zip(pool, texts, strict=True)]
                labels = [1] + [0] * (len(texts) - 1)
                question = builder.text(pair.question.split(" "), written=pair.written_question)
                builder.question(split, pair.id, question, zip(text_names(texts), candidates, labels, strict=True))
                if split == "train":
                    for candidate in candidates:
                        builder.answer(candidate)
        return builder.build()

    @abstractmethod
    def _pairs(self, files: Sequence[Faults], builder: CorpusBuilder) -> Iterator[tuple[str, str, str]]:
        """Id, question and best answer of every post in the files."""

    def _selected(self, pairs: Iterable[tuple[str, str, str]], builder: CorpusBuilder) -> list[Pair]:
        """`num_pairs` pairs of allowed length, each question once (reservoir sampling, Vitter 1985, algorithm R)."""
        tokenise, random = bare(self.tokenise), Random(self.split_seed)
        asked, selected = set[str](), list[Pair]()
        for name, question, answer in pairs:
            words = tokenise(question), tokenise(answer)
            if not all(self.min_length <= len(each) <= self.max_length for each in words):
                builder.note(f"pairs with a text of fewer than {self.min_length} or more than {self.max_length} tokens (left out)")
                continue
            pair = Pair(name, " ".join(words[0]), " ".join(words[1]), question, answer)
            if pair.question in asked:
                builder.note("pairs whose question was asked before (left out)")
                continue
            asked.add(pair.question)
            if self.num_pairs is None or len(selected) < self.num_pairs:
                selected.append(pair)
            elif (place := random.randrange(len(asked))) < self.num_pairs:
                selected[place] = pair
        if self.num_pairs is not None and len(asked) > self.num_pairs:
            builder.note(f"pairs beyond the {self.num_pairs:,} drawn (left out)", len(asked) - self.num_pairs)
        return selected

    def _pools(self, pairs: Sequence[Pair], builder: CorpusBuilder) -> Iterator[list[str]]:
        """Draws the wrong answers of each pair from the answers of the given pairs.

        Raises:
            ConfigError: there are fewer different answers than `num_candidates`.
        """
        answers = list(dict.fromkeys(pair.answer for pair in sorted(pairs)))
        if len(answers) < self.num_candidates:
            raise ConfigError(
                f"dataset.reader.num_candidates is {self.num_candidates}, but the pairs of {self.min_length} to {self.max_length} tokens "
                f"have only {len(answers)} different answers; widen min_length and max_length, or lower num_candidates"
            )
        place_of = {answer: place for place, answer in enumerate(answers)}
        vocabulary = Vocabulary.of_words(word for answer in answers for word in answer.split(" "))
        words = [vocabulary.ids(answer.split(" ")) for answer in answers]
        index = BM25Index(words, len(vocabulary), self.k1, self.b)
        with progress() as bar:
            for number, pair in enumerate(bar.track(pairs, description="BM25")):
                right, rng = place_of[pair.answer], np.random.default_rng([self.candidate_seed, number])
                hits = index.best(words[right], self.hits + 1)
                wrong = rng.permutation(hits[hits != right][: self.hits])[: self.num_candidates - 1].tolist()
                if lacking := self.num_candidates - 1 - len(wrong):
                    builder.note("wrong answers that share no word with the right one (drawn from the other answers)", lacking)
                while len(wrong) < self.num_candidates - 1:
                    drawn = int(rng.integers(len(answers)))
                    wrong += [drawn] if drawn not in (right, *wrong) else []
                yield [answers[place] for place in wrong]

    def _divided(self, pairs: Sequence[Pair]) -> dict[str, Sequence[Pair]]:
        """The splits, one after the other in the order of `pairs`."""
        first, *others = self.parts
        sizes = {split: round(len(pairs) * self.parts[split] / sum(self.parts.values())) for split in others}
        sizes = {first: len(pairs) - sum(sizes.values()), **sizes}
        ends = np.cumsum(list(sizes.values())).tolist()
        return {split: pairs[end - size : end] for (split, size), end in zip(sizes.items(), ends, strict=True)}


@dataclass(frozen=True)
class YahooMQAWebscopeReader(YahooMQAReader):
    """Reads the two parts of Yahoo! Answers Comprehensive (Webscope L6).

    Departs: the paper collected 963,072 questions with an interface that Yahoo! has closed since, and 220,000 of their pairs were short
    enough. L6 has 4,483,032 questions of the same site, up to October 2007; as many of its short pairs are drawn as the paper had.
    """

    file_parts: Sequence[str]
    language: str
    """Only posts in this language (their `qlang`) are read, and posts that name none."""

    hint = fetch_hint("yahoomqa")

    @property
    def names(self) -> Sequence[str]:
        return self.file_parts

    def _pairs(self, files: Sequence[Faults], builder: CorpusBuilder) -> Iterator[tuple[str, str, str]]:
        for post in posts(files, builder.note):
            if post.language in ("", self.language):
                yield post.uri, post.subject, post.best_answer
            else:
                builder.note(f"posts in a language other than {self.language} (left out)")


@dataclass(frozen=True)
class YahooMQATextReader(YahooMQAReader):
    """Takes the right pairs of the two public excerpts that `YahooQATextReader` reads; their wrong candidates are not used."""

    hash_separated: str
    tab_separated: str

    hint = fetch_hint("yahoomqa_partial")

    @property
    def names(self) -> Sequence[str]:
        return self.hash_separated, self.tab_separated

    def _pairs(self, files: Sequence[Faults], builder: CorpusBuilder) -> Iterator[tuple[str, str, str]]:
        for name, file, separator in zip(("hash", "tab"), files, ("#", "\t"), strict=True):
            for line, question, pool in read_text_file(file, separator, builder):
                yield from ((f"{name}-{line}", question, answer) for answer, label in pool if label)
