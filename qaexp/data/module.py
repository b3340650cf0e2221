"""The LightningDataModule of ranking: a reader's corpus, its word vectors, batches to learn from and blocks to score."""

import logging
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from qaexp.data.audit import card
from qaexp.data.batching import ScoringBlocks, TrainingBatches
from qaexp.data.corpus import RankingCorpus, RankingSplit, TokenTable, ranges
from qaexp.data.negatives import NegativeSampling
from qaexp.data.prepare import Reader, prepared
from qaexp.data.tokenise import TextReader
from qaexp.data.vectors.sources import VectorSource, WordVectors, coverage, digests
from qaexp.ddp import do_not_sync, rank_and_world_size
from qaexp.errors import BadDataError, ConfigError
from qaexp.evaluation.conventions import METRICS, file_tie_order, find_convention
from qaexp.evaluation.measures import measure_keys, metric_key
from qaexp.evaluation.metrics import RankingMetrics
from qaexp.limits import Fraction, PositiveInt, Seed

log = logging.getLogger(__name__)

BY_COLUMN = "In a file of your own, a column `split` says where a line belongs: train, dev or test."


def epoch_to_load(trainer: pl.Trainer | None) -> int:
    """The epoch, counted from 0, whose batches a trainer asks for: the first one if it takes the same batches in every epoch."""
    return trainer.current_epoch if trainer and trainer.reload_dataloaders_every_n_epochs else 0  # type: ignore[attr-defined]


class RankingDataModule(pl.LightningDataModule):
    """Gives any ranking model its batches. `train` is for learning, `dev` for selection, and every other split is a test split.

    Raises:
        ConfigError: a measure is unknown, the selection metric is not a measure of dev, or pairs with classes are given measures of
            rankings.
    """

    classes: Sequence[str] = ()
    """Names of the classes of a pair, where these take the place of right and wrong."""
    measures: Sequence[str] = METRICS
    """The keys of a split's measures: the five that every ranking has, those of the option `measures`, and the selection metric."""

    def __init__(
        self,
        name: str,
        partial_data: bool,
        reader: Reader,
        vectors: VectorSource,
        negatives: NegativeSampling,
        tokenise: Callable[[str], list[str]],
        num_classes: PositiveInt,
        convention: str,
        selection_metric: str,
        keep_unanswered: bool,
        shuffle_seed: Seed | None,
        max_question_length: PositiveInt,
        max_candidate_length: PositiveInt,
        batch_size: PositiveInt,
        block_tokens: PositiveInt,
        seed: Seed,
        cache_dir: str,
        expected: card.Card | None,
        measures: Sequence[str] = (),  # a default, since older runs have no such option
        train_fraction: Fraction = 1.0,
        drop_unknown: bool = False,
    ) -> None:
        super().__init__()
        self.name = name
        self.partial_data = partial_data
        self.tokenise = tokenise
        self.num_classes = num_classes
        self.convention = convention
        self.selection_metric = metric_key(selection_metric)
        self.max_question_length = max_question_length
        self.max_candidate_length = max_candidate_length
        self.reader, self._vectors, self._negatives = reader, vectors, negatives
        self._keep_unanswered, self._shuffle_seed, self._train_fraction = keep_unanswered, shuffle_seed, train_fraction
        self.drop_unknown, self.batch_size, self.block_tokens = drop_unknown, batch_size, block_tokens
        self.seed, self._cache = seed, Path(cache_dir).expanduser()
        self._expected = expected
        self._text_reader: TextReader | None = None
        if num_classes == 1:
            find_convention(convention)
            split, _, chosen = selection_metric.partition("/")
            self.measures = measure_keys([*METRICS, *measures, *([chosen] if split == "dev" else [])])
        elif measures:
            raise ConfigError(f"dataset.measures={list(measures)}: pairs with classes are not ranked; leave it empty")
        if self.selection_metric not in (known := [f"dev/{name}" for name in self.measures]):
            raise ConfigError(f"dataset.selection_metric={selection_metric}: one of {', '.join(known)} is expected")

    @cached_property
    def corpus(self) -> RankingCorpus:
        """The whole data set. It is read once, and memory-mapped from then on. With `drop_unknown`, words without a vector are left out.

        Raises:
            MissingDataError, BadDataError: from the reader.
            BadDataError: its counts are not those of the data card.
            ConfigError: the word vectors have none of its words.
        """
        if not self.drop_unknown:
            return self._whole_corpus
        known = self._all_vectors.known
        if not len(known):
            raise ConfigError("dataset.drop_unknown=true would leave no word, as all vectors are drawn; choose other dataset/vectors")
        return self._whole_corpus.of_words(known)

    @cached_property
    def _whole_corpus(self) -> RankingCorpus:
        return card.as_expected(prepared(self.reader, self._cache), self._expected, str(self.name), self.classes)

    @cached_property
    def texts(self) -> TokenTable:
        """The distinct texts as the model reads them."""
        return self.corpus.texts

    def read_by(self, reader: TextReader | None) -> "RankingDataModule":
        """The same data set with texts as this reader cuts them, each spelling once. None leaves the data set's own tokens."""
        if reader is None:
            return self
        data = self.by_spelling()
        texts, words = data.corpus.texts, data.corpus.vocabulary.words
        if texts.num_fields == 1:
            written = map(data.corpus.written, range(len(texts)))
        else:  # of each field, only its words are known
            written = (" ".join(words[number] for number in texts.ids[slice(*ends)]) for ends in pairwise(texts.offsets))
        ids = reader.ids(list(written))
        data.texts = TokenTable(np.fromiter(chain.from_iterable(ids), np.int32), np.cumsum([0, *map(len, ids)]), texts.num_fields)
        data.max_question_length, data.max_candidate_length = reader.limits(self.max_question_length, self.max_candidate_length)
        data._text_reader = reader
        return data

    def by_spelling(self) -> "RankingDataModule":
        """The same data set with a text of its own for each spelling; see `RankingCorpus.by_spelling`."""
        data = copy(self)
        data.__dict__["corpus"] = self.corpus.by_spelling()
        data.__dict__["splits"] = {name: split.by_spelling() for name, split in self.splits.items()}
        data.__dict__.pop("texts", None)
        return data

    def with_ids(self, ids: Int[np.ndarray, " word"]) -> "RankingDataModule":
        """The same data set with texts in another vocabulary: `ids` has a number for each word of its own."""
        data = copy(self)
        data.texts = self.corpus.texts.renumbered(ids)
        return data

    @cached_property
    def splits(self) -> Mapping[str, RankingSplit]:
        """The splits as they are used: pools shuffled, questions without a right candidate left out unless `keep_unanswered` is set, and
        only `train_fraction` of the training questions.

        Raises:
            ConfigError: there is no split to rank.
            BadDataError: no question of a split can be used.
        """
        if not set(self.corpus.splits) - {"train"}:
            raise ConfigError(f"dataset={self.name} has no questions to rank; add dev and test. {BY_COLUMN}")
        splits = {}
        for number, (name, split) in enumerate(self.corpus.splits.items()):
            keep = self.usable(name, split)
            used = split if keep.all() else split.keep(np.flatnonzero(keep))
            if not used.num_questions:
                lacking = "candidates" if self._keep_unanswered and name != "train" else "a right candidate"
                fault = f"split {name}: none of its {split.num_questions} questions has {lacking}, so there is nothing to learn or measure"
                remedy = "Restore the published files; in your own data, give questions a candidate that is labelled 1."
                raise BadDataError(f"data set {self.name}", [fault], remedy)
            if name == "train" and self._train_fraction < 1:
                used = used.keep(self._drawn(used.num_questions))
            splits[name] = used if self._shuffle_seed is None else used.shuffled(self._shuffle_seed + number)
        self._warn_of_repeats(splits)
        self._warn_of_sure_ranks(splits)
        if self.num_classes == 1 and self._shuffle_seed is not None and find_convention(self.convention).tie_order is file_tie_order:
            log.warning(
                "dataset=%s: %s breaks ties by the order of the files, but dataset.shuffle_seed=%s shuffles it; null keeps it",
                *(self.name, self.convention, self._shuffle_seed),
            )
        return splits

    def _drawn(self, num_questions: int) -> Int[np.ndarray, " kept"]:
        """The training questions of `train_fraction`, drawn by the run's seed. With one seed, a smaller fraction is a subset of a larger
        one.
        """
        order = np.random.default_rng([self.seed, num_questions]).permutation(num_questions)
        return np.sort(order[: max(1, round(self._train_fraction * num_questions))])

    def _warn_of_repeats(self, splits: Mapping[str, RankingSplit]) -> None:
        """Warn if most ranked questions are in training, too, as with a file that was copied to two names."""
        train = splits.get("train")
        for name, split in splits.items():
            if train is None or split is train:
                continue
            if 2 * (seen := split.asked_in(train)) > split.num_questions:
                log.warning(
                    "dataset=%s: %s of the %s questions of %s are asked in train too, word for word; the results there say little about "
                    "new questions",
                    *(self.name, f"{seen:,}", f"{split.num_questions:,}", name),
                )

    def _warn_of_sure_ranks(self, splits: Mapping[str, RankingSplit]) -> None:
        """Warn of splits without wrong candidates, where every order is perfect."""
        for name, split in splits.items():
            if name != "train" and split.labels.all():
                log.warning(
                    "dataset=%s: all %s candidates of %s are labelled 1, so any order is perfect there; give questions wrong ones too, "
                    "labelled 0",
                    *(self.name, f"{split.num_pairs:,}", name),
                )

    def usable(self, name: str, split: RankingSplit) -> Bool[np.ndarray, " question"]:
        """The questions to learn from or to rank: those with a right candidate or, if unanswered ones are kept, with any candidate."""
        return np.diff(split.offsets) > 0 if self._keep_unanswered and name != "train" else split.answers_per_question > 0

    @property
    def ranked_splits(self) -> list[str]:
        """The splits that are ranked at the end: dev and the test splits, in the reader's order."""
        return [name for name in self.splits if name != "train"]

    @property
    def test_splits(self) -> list[str]:
        return [name for name in self.ranked_splits if name != "dev"]

    @property
    def shown_split(self) -> str:
        """The default split of pages and figures: the first test split or, without one, dev."""
        return next(iter(self.test_splits), "dev")

    def limited(self, parts: Mapping[str, int | float | None]) -> "RankingDataModule":
        """The same data with the first questions of some splits: a whole number of batches of `batch_size`, or a share."""
        limited = copy(self)

        def first(split: RankingSplit, part: int | float) -> RankingSplit:
            count = part * self.batch_size if isinstance(part, int) else int(part * split.num_questions)
            return split.keep(np.arange(max(1, min(count, split.num_questions))))

        chosen = {name: split if (part := parts.get(name)) is None else first(split, part) for name, split in self.splits.items()}
        limited.__dict__["splits"] = chosen
        limited.__dict__.pop("tie_orders", None)
        return limited

    @cached_property
    def tie_orders(self) -> Mapping[str, np.ndarray]:
        """For each ranked split, the numbers that decide between equal scores (larger first); see `qaexp.evaluation.conventions`."""
        tie_order = find_convention(self.convention).tie_order
        return {name: tie_order(self.splits[name].candidate_ids) for name in self.ranked_splits}

    def metrics(self, split: str, scores: Float[Tensor, " pair"]) -> RankingMetrics:
        """The metrics of a ranked split, given the scores of its pairs in order."""
        table = self.splits[split]
        metrics = RankingMetrics(self.convention, self.measures)
        metrics.distributed_available_fn = do_not_sync
        metrics.update(
            scores,
            torch.from_numpy(table.relevance.astype(np.int64)),
            torch.from_numpy(table.pair_question),
            torch.from_numpy(self.tie_orders[split]),
        )
        return metrics

    def words_of_pair(self, split: str, pair: int) -> tuple[list[str], list[str]]:
        """Question and candidate of a pair, in the words that a model reads of them."""
        table = self.splits[split]
        question, candidate = table.questions[table.pair_question[pair]], table.candidates[pair]
        sides = ((question, self.max_question_length), (candidate, self.max_candidate_length))
        if (reader := self._text_reader) is not None:
            first, second = (reader.words(self.corpus.written(int(text)), limit) for text, limit in sides)
        else:
            first, second = (self.corpus.words(int(text))[:limit] or [""] for text, limit in sides)
        return first, second

    @cached_property
    def vector_files(self) -> list[str]:
        return digests(self._vectors, self._cache)

    @cached_property
    def _all_vectors(self) -> WordVectors:
        return self._vectors.build(self._whole_corpus, self._cache, self.seed)

    @property
    def _word_vectors(self) -> WordVectors:
        return self._all_vectors.of_known_words() if self.drop_unknown else self._all_vectors

    @property
    def word_vectors(self) -> Float[Tensor, "word dim"]:
        """A row for each word of the vocabulary: a copy, since a model may train them in place and other runs share these data."""
        return torch.from_numpy(np.array(self._word_vectors.matrix, dtype=np.float32))

    @property
    def no_vectors(self) -> Float[Tensor, "word dim"]:
        """The same rows with width 0, for models that read no vectors."""
        return torch.zeros(len(self.corpus.vocabulary), 0)

    @property
    def training_words(self) -> Int[np.ndarray, " word"]:
        """The ids of all words that training may read in any epoch; none without a training split."""
        if "train" not in self.splits:
            return np.empty(0, dtype=np.int64)
        texts = np.unique(self._negatives.texts(self.splits["train"], self.corpus))
        return np.unique(np.concatenate([self.corpus.texts.words(text) for text in texts.tolist()]))

    def train_dataloader(self) -> TrainingBatches:
        """The batches of the trainer's current epoch or, if it does not reload them, of its first one."""
        return self.training_batches(epoch_to_load(self.trainer))

    def training_batches(self, epoch: int) -> TrainingBatches:
        """The batches of an epoch, which depend on (seed, epoch) alone. Raises: ConfigError, if there is no training split."""
        self._require("train", "nothing to train on")
        rng = np.random.default_rng([self.seed, epoch])
        groups = self._negatives.draw(self.splits["train"], self.corpus, rng)
        return TrainingBatches(self.texts, groups, self.batch_size, self.max_question_length, self.max_candidate_length, rng)

    def _require(self, split: str, lacking: str) -> None:
        """Raises: ConfigError, if the data have no such split."""
        if split not in self.splits:
            there = ", ".join(self.splits)
            raise ConfigError(
                f"dataset={self.name} has {there}, and {lacking}; add {split}, or choose a model that needs no training. {BY_COLUMN}"
            )

    def val_dataloader(self) -> ScoringBlocks:
        self._require("dev", "no dev to choose the best epoch by")
        return self.scoring_blocks("dev")

    def test_dataloader(self) -> list[ScoringBlocks]:
        return [self.scoring_blocks(split) for split in self.ranked_splits]

    def share(self, split: str, process: int, processes: int) -> tuple[RankingSplit, Int[np.ndarray, " pair"]]:
        """The questions that one of several processes scores, and the positions of their pairs in the split. A question is never divided.

        Raises:
            ConfigError: there are fewer questions than processes.
        """
        table = self.splits[split]
        if processes == 1:
            return table, np.arange(table.num_pairs)
        if table.num_questions < processes:
            raise ConfigError(f"split {split} has {table.num_questions} questions for {processes} processes; set trainer.devices lower")
        questions = np.arange(process, table.num_questions, processes)
        return table.keep(questions), ranges(table.offsets[:-1][questions], np.diff(table.offsets)[questions])

    def scoring_blocks(self, split: str) -> ScoringBlocks:
        return ScoringBlocks(
            split,
            self.texts,
            self.share(split, *rank_and_world_size())[0],
            self.max_question_length,
            self.max_candidate_length,
            self.block_tokens,
        )

    def describe(self, reads_vectors: bool = True) -> dict[str, Any]:
        """What a record says of the data: card, counts as read and as used, irregularities, texts that were cut, fingerprint.

        Vectors, which may have to be trained, come last, so that a faulty split is reported first.
        """
        return {
            "name": self.name,
            "partial": self.partial_data,
            "fingerprint": self.corpus.fingerprint,
            "words": len(self.corpus.vocabulary),
            "texts": len(self.corpus.texts),
            "card": card.standing(self._expected),
            "as read": {name: self._spelled_counts(split) for name, split in self.corpus.splits.items()},
            **self.describe_splits(),
            "notes": dict(self.corpus.notes),
            "vectors": self._describe_vectors() if reads_vectors or self.drop_unknown else {"source": "none read", "coverage": {}},
        }

    def describe_splits(self) -> dict[str, Any]:
        """Counts as used, and how many texts are longer than what the model reads of them."""
        return {"splits": {name: self._describe_split(split) for name, split in self.splits.items()}}

    def _describe_vectors(self) -> dict[str, Any]:
        return {"source": repr(self._vectors), "files": self.vector_files, "coverage": coverage(self._all_vectors, self._whole_corpus)}

    def _describe_split(self, split: RankingSplit) -> dict[str, int]:
        cut = {}
        for side, used, limit in (
            ("questions", split.questions, self.max_question_length),
            ("candidates", split.candidates, self.max_candidate_length),
        ):
            texts = np.unique(used)
            cut[f"cut {side}"] = int((self.texts.lengths(texts) > limit).sum())
        return {**self._spelled_counts(split), **cut}

    def _spelled_counts(self, split: RankingSplit) -> dict[str, int]:
        return {name.replace("_", " "): count for name, count in card.counted(split, self.classes).items()}
