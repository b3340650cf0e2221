"""Numbers for texts: a hash of their words, the same in every batch and in every process."""

import torch
from jaxtyping import Int
from torch import Tensor

from qaexp.data.batch import token_mask

PRIME = 2_147_483_647
"""2³¹ − 1: products of two residues fit in 64 bits."""

QUESTION_FACTOR, CANDIDATE_FACTOR = 48_271, 69_621
"""One for each side, so that the same words hash differently: multipliers of the "minimal standard" random number generator modulo 2³¹ − 1,
the one that Park & Miller came to recommend and another in use.
"""


def hash_of(tokens: Int[Tensor, "text length"], factor: int) -> Int[Tensor, " text"]:
    """A polynomial of the real tokens, modulo a prime; padding adds nothing.

    >>> hash_of(torch.tensor([[2, 3, 0]]), factor=10).tolist()  # (1·10 + 2)·10 + 3
    [123]
    """
    value = torch.ones(len(tokens), dtype=torch.int64, device=tokens.device)
    mask = token_mask(tokens)
    for position in range(tokens.shape[1]):
        value = torch.where(mask[:, position], (value * factor + tokens[:, position]) % PRIME, value)
    return value
