"""A training step that learns from the hardest of 50 negatives: chosen without gradients, against learning through all 51."""

from collections.abc import Iterator

from benchmarks.made_up import MEAN_LENGTH, batch_of, scorer
from benchmarks.row import Row
from benchmarks.timing import CPU, DEVICE, paired
from qaexp.data.batch import RankingBatch
from qaexp.training.hardest_negatives import hardest_negatives
from qaexp.training.losses import PairwiseHinge

NUM_NEGATIVES = 50
NUM_GROUPS = 4 if DEVICE == CPU else 64
NUM_PAIRS = 3


def rows() -> Iterator[Row]:
    module, loss, batch = scorer("ggsa").to(DEVICE), PairwiseHinge(margin=0.1), batch_of(NUM_GROUPS, NUM_NEGATIVES).to(DEVICE)

    def learn(from_pairs: RankingBatch) -> None:
        module.zero_grad()
        loss(module(from_pairs), from_pairs.labels, from_pairs.groups).backward()

    ours = paired(lambda: learn(hardest_negatives(module, batch)), lambda: learn(batch), NUM_PAIRS, DEVICE)
    what = f"GGSA learns from the hardest of {NUM_NEGATIVES} negatives ({MEAN_LENGTH} tokens on average): chosen first, through all"
    yield ours.at_most(what, 0.45)
