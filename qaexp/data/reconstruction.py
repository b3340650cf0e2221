"""The data of pre-training: titles, and contexts to predict each title from (Lei et al. 2016, §4.2)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from jaxtyping import Int
from torch import Tensor

from qaexp.data.batch import ReconstructionBatch
from qaexp.data.batching import ScoringBlocks, batches_by_length
from qaexp.data.corpus import RankingCorpus, RankingSplit, TokenTable, ranges
from qaexp.data.module import RankingDataModule, epoch_to_load
from qaexp.errors import ConfigError, require_among
from qaexp.limits import PositiveInt

CONTEXTS = ("title", "body", "similar")
THESE = "use dataset=askubuntu, askubuntu_made_up or askubuntu_duplicates"


@dataclass(frozen=True)
class TitlePairs:
    """(title, context) pairs, both as fields: field f of text t is number t · num_fields + f."""

    titles: Int[np.ndarray, " pair"]
    contexts: Int[np.ndarray, " pair"]

    def __len__(self) -> int:
        return len(self.titles)


def title_pairs(corpus: RankingCorpus, kind: str) -> TitlePairs:
    """All pairs of a kind, without the held-out questions and without empty titles or contexts.

    `title`: the title itself; `body`: the question's body; `similar`: title and body of a question that users marked as similar in the
    training split; each of the two serves as context of the other.
    """
    num_fields = corpus.texts.num_fields
    if kind == "similar":
        if "train" not in corpus.splits:
            return TitlePairs(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        train = corpus.splits["train"]
        right = np.flatnonzero(train.labels == 1)
        one, other = train.questions[train.pair_question[right]], train.candidates[right]
        both = np.concatenate([np.stack([one, other], axis=1), np.stack([other, one], axis=1)])
        both = np.unique(both[(both[:, 0] != both[:, 1]) & ~np.isin(both, corpus.held_out).any(axis=1)], axis=0)
        titles = np.repeat(both[:, 0], num_fields) * num_fields
        contexts = np.repeat(both[:, 1], num_fields) * num_fields + np.tile(np.arange(num_fields), len(both))
    else:
        titles = np.setdiff1d(np.arange(len(corpus.texts)), corpus.held_out) * num_fields
        contexts = titles + CONTEXTS.index(kind)
    return _not_empty(corpus.texts, titles, contexts)


def held_out_pairs(corpus: RankingCorpus) -> TitlePairs:
    """The title of each held-out question with its body or, if texts have one field, with itself. A title without a body is left out."""
    titles = np.unique(corpus.held_out) * corpus.texts.num_fields
    return _not_empty(corpus.texts, titles, titles + corpus.texts.num_fields - 1)


def _not_empty(texts: TokenTable, titles: Int[np.ndarray, " pair"], contexts: Int[np.ndarray, " pair"]) -> TitlePairs:
    lengths = np.diff(texts.offsets)
    there = (lengths[titles] > 0) & (lengths[contexts] > 0)
    return TitlePairs(titles[there], contexts[there])


class ReconstructionDataModule(pl.LightningDataModule):
    """Titles and contexts of a ranking data set with fields; the first field is the title.

    An epoch is `steps_per_epoch` steps of an endless walk through all pairs, each pass in its own order. So measuring and saving happen
    after a fixed number of steps, however large the corpus is.

    Reading: "the entire raw corpus" (§8) includes the questions of dev and test, without their annotations.

    Reading: held-out perplexity is that of a title given its body, since it is to show "how the encoder captures information from the
    question bodies" (§7).

    Contexts are cut at the data set's limit, titles are not.

    Raises:
        ConfigError: there are no held-out questions or no pairs, or the data set lacks a kind of context.
    """

    def __init__(self, ranking: RankingDataModule, contexts: Sequence[str], batch_size: PositiveInt, steps_per_epoch: PositiveInt) -> None:
        super().__init__()
        self.ranking, self.steps_per_epoch = ranking, steps_per_epoch
        self._kinds, self._batch_size = list(contexts), batch_size
        corpus = ranking.corpus
        self.fields = TokenTable(corpus.texts.ids, corpus.texts.offsets)
        """Every field as a text of its own."""
        self._require_kinds(corpus)
        self._pairs = {kind: title_pairs(corpus, kind) for kind in self._kinds}
        self._held_out = held_out_pairs(corpus)
        for count, what in ((len(self._held_out), "held-out questions"), (sum(map(len, self._pairs.values())), "pairs to learn from")):
            if not count:
                raise ConfigError(f"dataset={ranking.name} has no {what} with a title and a context, and pre-training needs both; {THESE}")

    @cached_property
    def pairs(self) -> TitlePairs:
        """All training pairs, kind after kind; a pair of several kinds counts in each."""
        kinds = self._pairs.values()
        return TitlePairs(np.concatenate([p.titles for p in kinds]), np.concatenate([p.contexts for p in kinds]))

    @property
    def word_uses(self) -> Int[Tensor, " word"]:
        """How often each word occurs in the training titles; at id 0, the number of titles."""
        titles = np.unique(self.pairs.titles)
        starts = self.fields.offsets[titles]
        words = self.fields.ids[ranges(starts, self.fields.offsets[titles + 1] - starts)]
        uses = np.bincount(words, minlength=len(self.ranking.corpus.vocabulary))
        uses[0] = len(titles)
        return torch.from_numpy(uses)

    def train_dataloader(self) -> "Steps":
        return self.steps(epoch_to_load(self.trainer))

    def steps(self, epoch: int) -> "Steps":
        """The batches of an epoch, which depend only on (seed, epoch)."""
        return Steps(self, epoch * self.steps_per_epoch, self.steps_per_epoch)

    @property
    def steps_per_pass(self) -> int:
        return -(-len(self.pairs) // self._batch_size)

    def one_pass(self, number: int) -> list[Int[np.ndarray, " batch_item"]]:
        """The batches of a pass through all pairs, as positions."""
        lengths = self.fields.lengths(self.pairs.contexts, self.ranking.max_candidate_length)
        return batches_by_length(lengths, self._batch_size, np.random.default_rng([self.ranking.seed, number]))

    def batch(self, pairs: TitlePairs, chosen: Int[np.ndarray, " batch_item"]) -> ReconstructionBatch:
        return ReconstructionBatch(
            titles=torch.from_numpy(self.fields.padded(pairs.titles[chosen])),
            contexts=torch.from_numpy(self.fields.padded(pairs.contexts[chosen], self.ranking.max_candidate_length)),
        )

    def held_out_batches(self) -> "HeldOut":
        """Every held-out title with its body."""
        return HeldOut(self, self._held_out, self._batch_size)

    def val_dataloader(self) -> list[Any]:
        return [self.held_out_batches(), self.title_blocks("dev")]

    def test_dataloader(self) -> list[Any]:
        return [self.held_out_batches(), *map(self.title_blocks, self.ranking.ranked_splits)]

    def title_blocks(self, split: str) -> ScoringBlocks:
        """A split to rank by titles alone, as in figure 3: "using the last hidden states of the question titles"."""
        data, num_fields = self.ranking, self.ranking.corpus.texts.num_fields
        table: RankingSplit = data.splits[split]
        titles = replace(table, questions=table.questions * num_fields, candidates=table.candidates * num_fields)
        return ScoringBlocks(split, self.fields, titles, data.max_question_length, data.max_candidate_length, data.block_tokens)

    def describe(self) -> dict[str, int]:
        """Pairs of each kind of context, and the held-out ones."""
        return {**{kind: len(pairs) for kind, pairs in self._pairs.items()}, "held out": len(self._held_out)}

    def _require_kinds(self, corpus: RankingCorpus) -> None:
        require_among("pairs.contexts", self._kinds, CONTEXTS)
        fields = getattr(self.ranking.reader, "fields", CONTEXTS[:1])
        if fields[0] != "title":
            raise ConfigError(f"dataset.reader.fields={list(fields)}: pre-training generates the first field, which must be the title")
        if "body" in self._kinds and corpus.texts.num_fields == 1:
            raise ConfigError(
                f"dataset={self.ranking.name} has texts without a body; read one with dataset.reader.fields=[title,body], "
                "or leave it out with pairs.contexts=[title,similar]"
                if hasattr(self.ranking.reader, "fields")
                else f"dataset={self.ranking.name} has texts without titles and bodies, and pre-training needs both; {THESE}"
            )


class Steps:
    """Some consecutive steps of the walk through all pairs."""

    def __init__(self, data: ReconstructionDataModule, first: int, num: int) -> None:
        self._data, self._first, self._num = data, first, num

    def __len__(self) -> int:
        return self._num

    def __iter__(self) -> Iterator[ReconstructionBatch]:
        steps = range(self._first, self._first + self._num)
        for number, part in groupby(steps, key=lambda step: step // self._data.steps_per_pass):
            batches = self._data.one_pass(number)
            for step in part:
                yield self._data.batch(self._data.pairs, batches[step - number * self._data.steps_per_pass])


class HeldOut:
    """The held-out pairs, by length of their contexts."""

    def __init__(self, data: ReconstructionDataModule, pairs: TitlePairs, batch_size: int) -> None:
        self._data, self._pairs, self._batch_size = data, pairs, batch_size

    def __len__(self) -> int:
        return -(-len(self._pairs) // self._batch_size)

    def __iter__(self) -> Iterator[ReconstructionBatch]:
        lengths = self._data.fields.lengths(self._pairs.contexts, self._data.ranking.max_candidate_length)
        order = np.argsort(lengths, kind="stable")
        for start in range(0, len(order), self._batch_size):
            yield self._data.batch(self._pairs, order[start : start + self._batch_size])
