"""A training step that learns from the hardest of 50 negatives: chosen without gradients, against learning through all 51."""

from collections.abc import Iterator

import numpy as np
import torch

from benchmarks.made_up import MEAN_LENGTH, VOCABULARY, answer_lengths, scorer
from benchmarks.row import Row
from benchmarks.timing import CPU, DEVICE, paired
from qaexp.losses import PairwiseHinge
from qaexp.training.hardest_negatives import hardest_negatives
from qaexp.types import RankingBatch

NUM_NEGATIVES = 50
NUM_GROUPS = 4 if DEVICE == CPU else 64
NUM_PAIRS = 3


def rows() -> Iterator[Row]:
    module, loss, batch = scorer("ggsa").to(DEVICE), PairwiseHinge(margin=0.1), made_up_batch().to(DEVICE)

    def learn(from_pairs: RankingBatch) -> None:
        module.zero_grad()
        loss(module(from_pairs), from_pairs.labels, from_pairs.groups).backward()

    ours = paired(lambda: learn(hardest_negatives(module, batch)), lambda: learn(batch), NUM_PAIRS, DEVICE)
    what = f"GGSA learns from the hardest of {NUM_NEGATIVES} negatives ({MEAN_LENGTH} tokens on average): chosen first, through all"
    yield ours.at_most(what, 0.45)


def made_up_batch() -> RankingBatch:
    """Groups of one right candidate and 50 negatives, each a text of its own, with InsuranceQA's spread of lengths."""
    rng = np.random.default_rng(0)
    shape = (NUM_GROUPS, 1 + NUM_NEGATIVES)
    lengths = answer_lengths(NUM_GROUPS * (1 + NUM_NEGATIVES), rng)
    words = rng.integers(2, VOCABULARY, (len(lengths), lengths.max()))
    labels = torch.zeros(shape, dtype=torch.int64)
    labels[:, 0] = 1
    groups = torch.arange(NUM_GROUPS).repeat_interleave(1 + NUM_NEGATIVES)
    return RankingBatch(
        questions=torch.from_numpy(rng.integers(2, VOCABULARY, (NUM_GROUPS, 8))),
        candidates=torch.from_numpy(np.where(np.arange(lengths.max()) < lengths[:, None], words, 0)),
        pair_question=groups,
        pair_candidate=torch.arange(len(lengths)),
        labels=labels.flatten(),
        groups=groups,
    )
