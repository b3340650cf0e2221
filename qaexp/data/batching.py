"""Makes padded tensors from texts and pairs: batches for training and blocks for scoring, both grouped by length."""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from qaexp.data.batch import RankingBatch, ScoringBlock
from qaexp.data.corpus import RankingSplit, TokenTable, ranges
from qaexp.data.negatives import Groups

WINDOW = 32
"""Texts are sorted by length only within stretches of about this many batches, so that an epoch's order stays random."""


class TrainingBatches:
    """One epoch of training, in an order that depends only on the seed."""

    def __init__(
        self,
        texts: TokenTable,
        groups: Groups,
        batch_size: int,
        max_question_length: int,
        max_candidate_length: int,
        rng: np.random.Generator,
    ) -> None:
        self._texts, self._groups = texts, groups
        self._max_question_length, self._max_candidate_length = max_question_length, max_candidate_length
        longest = np.maximum.reduceat(texts.lengths(groups.candidates, max_candidate_length), groups.offsets[:-1])
        self._batches = batches_by_length(longest, batch_size, rng)

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[RankingBatch]:
        return map(self._collate, self._batches)

    def _collate(self, chosen: Int[np.ndarray, " group"]) -> RankingBatch:
        start, sizes = self._groups.offsets[chosen], np.diff(self._groups.offsets)[chosen]
        group = np.repeat(np.arange(len(chosen)), sizes)  # (pair)
        pairs = ranges(start, sizes)
        questions, pair_question = np.unique(self._groups.questions[chosen][group], return_inverse=True)
        candidates, pair_candidate = np.unique(self._groups.candidates[pairs], return_inverse=True)
        return RankingBatch(
            questions=torch.from_numpy(self._texts.padded(questions, self._max_question_length)),
            candidates=torch.from_numpy(self._texts.padded(candidates, self._max_candidate_length)),
            pair_question=torch.from_numpy(pair_question),
            pair_candidate=torch.from_numpy(pair_candidate),
            labels=torch.from_numpy(self._groups.labels[pairs].astype(np.int64)),
            groups=torch.from_numpy(group),
            question_texts=torch.from_numpy(questions),
            candidate_texts=torch.from_numpy(candidates),
        )


def batches_by_length(lengths: Int[np.ndarray, " item"], batch_size: int, rng: np.random.Generator) -> list[Int[np.ndarray, " batch_item"]]:
    """All items in random order, in batches whose items are of similar length."""
    order = rng.permutation(len(lengths))
    num_batches = -(-len(order) // batch_size)
    num_windows = max(1, round(num_batches / WINDOW))
    ends = batch_size * (np.arange(1, num_windows) * num_batches // num_windows)  # whole batches, so that only the last can be short
    batches: list[np.ndarray] = []
    for window in np.split(order, ends):
        window = window[np.argsort(lengths[window], kind="stable")]
        batches += [window[i : i + batch_size] for i in range(0, len(window), batch_size)]
    return [batches[i] for i in rng.permutation(len(batches))]


def blocks_within(lengths: Int[np.ndarray, " text"], most: int) -> Iterator[slice]:
    """Splits texts, given by ascending length, into blocks of at most `most` tokens with padding; a longer text is a block of its own.

    >>> [(block.start, block.stop) for block in blocks_within(np.array([1, 2, 2, 9]), most=6)]
    [(0, 3), (3, 4)]
    """
    start = 0
    while start < len(lengths):
        tokens = np.arange(1, len(lengths) - start + 1) * lengths[start:]  # of a block that ends with each text
        stop = start + max(1, int(np.searchsorted(tokens, most, side="right")))
        yield slice(start, stop)
        start = stop


class ScoringBlocks:
    """Everything to score in a split, each distinct text once: first the questions, then the candidates with their pairs.

    Texts are sorted by length; a block holds about `block_tokens` tokens, padding included.
    """

    def __init__(
        self, name: str, texts: TokenTable, split: RankingSplit, max_question_length: int, max_candidate_length: int, block_tokens: int
    ) -> None:
        self._name, self._texts = name, texts
        self._max_length = {"question": max_question_length, "candidate": max_candidate_length}
        questions, question_row = np.unique(split.questions, return_inverse=True)
        candidates, candidate_row = np.unique(split.candidates, return_inverse=True)
        self._question_blocks, place = self._blocks(questions, max_question_length, block_tokens)
        self._pair_question = place[question_row][split.pair_question]
        self._candidate_blocks, place = self._blocks(candidates, max_candidate_length, block_tokens)
        self._pair_place = place[candidate_row]
        self._by_place = np.argsort(self._pair_place, kind="stable")
        self._sorted_places = self._pair_place[self._by_place]

    def _blocks(self, texts: np.ndarray, max_length: int, block_tokens: int) -> tuple[list[np.ndarray], np.ndarray]:
        """The blocks of texts, and each text's position in the order of the blocks."""
        lengths = self._texts.lengths(texts, max_length)
        order = np.argsort(lengths, kind="stable")
        blocks = [texts[order[block]] for block in blocks_within(lengths[order], block_tokens)]
        place = np.empty(len(texts), dtype=np.int64)
        place[order] = np.arange(len(texts))
        return blocks, place

    def __len__(self) -> int:
        return len(self._question_blocks) + len(self._candidate_blocks)

    def __iter__(self) -> Iterator[ScoringBlock]:
        none = torch.empty(0, dtype=torch.int64)
        for texts in self._question_blocks:
            yield ScoringBlock(self._name, "question", self._padded(texts, "question"), none, none, none)
        first = 0
        for texts in self._candidate_blocks:
            pairs = self._by_place[slice(*np.searchsorted(self._sorted_places, [first, first + len(texts)]))]
            yield ScoringBlock(
                split=self._name,
                side="candidate",
                tokens=self._padded(texts, "candidate"),
                pairs=torch.from_numpy(pairs),
                pair_question=torch.from_numpy(self._pair_question[pairs]),
                pair_candidate=torch.from_numpy(self._pair_place[pairs] - first),
            )
            first += len(texts)

    def _padded(self, texts: np.ndarray, side: str) -> Int[Tensor, "text *field length"]:
        return torch.from_numpy(self._texts.padded(texts, self._max_length[side]))
