"""Small texts, and models that read them, for the tests of every model: unlike each other in length, and padded."""

from collections.abc import Sequence
from typing import Any

import torch
from hydra.utils import instantiate
from jaxtyping import Bool, Float, Int
from torch import Tensor

from qaexp.config import compose
from qaexp.models.types import Text


def mask_of(lengths: Sequence[int], longest: int | None = None) -> Bool[Tensor, "text length"]:
    """True on the words of texts of these lengths, padded to the longest of them or further."""
    return torch.arange(longest or max(lengths)) < torch.tensor(lengths)[:, None]


def some_tokens(lengths: Sequence[int], words: int, longest: int | None = None, seed: int = 0) -> Int[Tensor, "text length"]:
    """Words drawn at random from a vocabulary of that many, padding included."""
    mask = mask_of(lengths, longest)
    return torch.randint(1, words, mask.shape, generator=torch.Generator().manual_seed(seed)) * mask


def some_states(lengths: Sequence[int], dim: int, longest: int | None = None, seed: int = 0) -> Text:
    """States drawn at random; what stands on padding is large, and must not be read."""
    mask = mask_of(lengths, longest)
    states = torch.randn(*mask.shape, dim, generator=torch.Generator().manual_seed(seed))
    return {"states": states.masked_fill(~mask.unsqueeze(2), 9.0), "mask": mask}


def built(*overrides: str, words: int, dim: int) -> Any:
    """The model of a configuration, over random word vectors, ready to score; always with the same weights."""
    torch.manual_seed(1)
    vectors: Float[Tensor, "word dim"] = torch.randn(words, dim)
    return instantiate(compose(overrides).model, vectors=vectors).eval()
