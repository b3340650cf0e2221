"""The share of padding among the tokens that a training epoch encodes, on every data set at hand."""

from collections.abc import Iterator

import numpy as np
import torch
from hydra.utils import instantiate
from jaxtyping import Int
from torch import Tensor

from benchmarks.row import Row
from qaexp.config import choices, compose
from qaexp.data.batch import token_mask
from qaexp.data.module import RankingDataModule
from qaexp.errors import ConfigError, MissingDataError
from qaexp.models.blocks import blocks_of

LIMIT = 0.15
NUM_BATCHES = 100


def rows() -> Iterator[Row]:
    for name in choices("dataset"):
        data: RankingDataModule = instantiate(compose([f"dataset={name}", "dataset/vectors=random"]).dataset)
        try:
            share, unsorted = padding_shares(data)
        except (MissingDataError, ConfigError):  # not at hand, or nothing to train on
            continue
        what = f"padding of training batches, {name}: blocks by length, one block a side"
        yield Row(what, f"{share:.1%}", f"{unsorted:.1%}", (), f"≤ {LIMIT:.0%}", share <= LIMIT)


def padding_shares(data: RankingDataModule) -> tuple[float, float]:
    """Padding over all tokens in the first batches of an epoch: as they are encoded, and with each side of a batch in one block."""
    real, blocked, whole = 0, 0, 0
    for batch, _ in zip(data.training_batches(epoch=0), range(NUM_BATCHES), strict=False):
        for tokens in (*_fields(batch.questions), *_fields(batch.candidates)):
            lengths = token_mask(tokens).sum(dim=1)
            _, sizes, longest = blocks_of(lengths)
            real += int(lengths.sum())
            blocked += int(np.dot(sizes, longest))
            whole += len(tokens) * max(longest)
    return 1 - real / blocked, 1 - real / whole


def _fields(tokens: Int[Tensor, "text *field length"]) -> tuple[Tensor, ...]:
    return torch.unbind(tokens, dim=1) if tokens.ndim == 3 else (tokens,)
