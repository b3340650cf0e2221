"""Small texts that every model can score, however it is composed."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from qaexp.data.batch import RankingBatch

WORDS, DIM = 60, 24


@pytest.fixture(autouse=True, scope="session")
def weights(tiny_weights: Path) -> None:
    """Pretrained models are small ones."""


@pytest.fixture
def vectors() -> Tensor:
    """Word vectors about as long as the published ones; the padding row is zero."""
    drawn = torch.randn(WORDS, DIM, generator=torch.Generator().manual_seed(5))
    drawn[0] = 0
    return drawn


@pytest.fixture
def batch() -> RankingBatch:
    """Five questions with a right and two wrong candidates each: texts of one word, of exactly one group, of no multiple of it."""
    random = torch.Generator().manual_seed(6)
    questions = _texts([1, 4, 10, 13, 7], random)
    candidates = _texts([23, 1, 10, 20, 3, 17, 11, 9], random)
    return RankingBatch(
        questions=questions,
        candidates=candidates,
        pair_question=torch.arange(5).repeat_interleave(3),
        pair_candidate=torch.tensor([0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 3, 5, 2, 4, 6]),
        labels=torch.tensor([1, 0, 0] * 5),
        groups=torch.arange(5).repeat_interleave(3),
    )


def _texts(lengths: list[int], random: torch.Generator) -> Tensor:
    """Rows of random words, padded to the longest."""
    tokens = torch.randint(1, WORDS, (len(lengths), max(lengths)), generator=random)
    return tokens * (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None])
