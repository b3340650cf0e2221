"""Training steps of models that do much for each pair: pairs in blocks of similar lengths against all in one, as long as the longest."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from hydra.utils import instantiate
from jaxtyping import Int

from benchmarks.made_up import scorer, texts
from benchmarks.row import Row
from benchmarks.timing import DEVICE, paired
from qaexp.config import compose
from qaexp.data.batch import RankingBatch
from qaexp.models import blocks

NUM_PAIRS, SIZE = 5, 64


class Side(NamedTuple):
    """Lengths of texts: a gamma distribution between two bounds."""

    shape: float
    scale: float
    least: int
    most: int

    def lengths(self, rng: np.random.Generator) -> Int[np.ndarray, " pair"]:
        return np.clip(rng.gamma(self.shape, self.scale, SIZE), self.least, self.most).astype(np.int64)


STEPS = {
    f"iGGSA, {SIZE} answers of 95 words on average, questions of 7": (["iggsa"], Side(2.0, 3.5, 2, 20), Side(3.0, 32.0, 5, 200)),
    f"four stacked LC-LSTMs of 50, {SIZE} premises of 14 words on average, hypotheses of 8": (
        ["stacked_lc_lstm", "model.hidden_dim=50", "model.num_blocks=4"],
        Side(4.0, 3.5, 2, 60),
        Side(8.0, 1.0, 2, 30),
    ),
}


def rows() -> Iterator[Row]:
    share = blocks.SHARE_OF_CELLS
    for name, (options, *sides) in STEPS.items():
        step = training_step(options, *sides)
        ours, other = with_share(share, step), with_share(1.0, step)
        yield paired(ours, other, NUM_PAIRS, DEVICE).told(f"training step of {name}: pairs in blocks by length, in one")
    blocks.SHARE_OF_CELLS = share


def training_step(options: Sequence[str], *sides: Side) -> Callable[[], None]:
    """Forward and backward."""
    module = scorer(*options).to(DEVICE)
    loss = instantiate(compose(["loss=pairwise_hinge"]).loss)
    rng = np.random.default_rng(0)
    lengths = [side.lengths(rng) for side in sides]
    questions, candidates = (torch.from_numpy(texts(each, rng).padded(np.arange(SIZE), int(each.max()))) for each in lengths)
    rows = torch.arange(SIZE)
    batch = RankingBatch(questions, candidates, rows, rows, rows % 2, rows // 2).to(DEVICE)

    def step() -> None:
        module.zero_grad()
        loss(module(batch), batch.labels, batch.groups).backward()

    return step


def with_share(share: float, step: Callable[[], None]) -> Callable[[], None]:
    def run() -> None:
        blocks.SHARE_OF_CELLS = share
        step()

    return run
