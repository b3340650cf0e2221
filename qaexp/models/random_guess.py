"""Random Guess: the scores that any model must beat."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from qaexp.masking import token_mask
from qaexp.models.scorer import AnswerScorer
from qaexp.types import Text

PRIME = 2_147_483_647
"""2³¹ − 1: products of two residues fit in 64 bits."""


class RandomGuess(AnswerScorer):
    """s in [0, 1), drawn for each pair by hashing its words and the seed: no order, no state, the same draw in every batch."""

    reads_fields = True
    reads_vectors = False

    def __init__(self, vectors: Float[Tensor, "word dim"], seed: int = 1) -> None:
        super().__init__()
        self.seed = seed

    def encode_question(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        return {"hash": hash_of(tokens.flatten(1), factor=48_271)}

    def encode_candidate(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        return {"hash": hash_of(tokens.flatten(1), factor=69_621)}

    def score(self, question: Text, candidate: Text) -> Float[Tensor, " pair"]:
        mixed = (question["hash"] + candidate["hash"] + 69_069 * (self.seed - 1)) % PRIME
        for _ in range(3):
            mixed = (mixed ^ (mixed >> 13)) * 1_103_515_245 % PRIME
        return (mixed.double() / PRIME).float()


def hash_of(tokens: Int[Tensor, "text length"], factor: int) -> Int[Tensor, " text"]:
    """A polynomial of the real tokens, modulo a prime; padding adds nothing."""
    value = torch.ones(len(tokens), dtype=torch.int64, device=tokens.device)
    mask = token_mask(tokens)
    for position in range(tokens.shape[1]):
        value = torch.where(mask[:, position], (value * factor + tokens[:, position]) % PRIME, value)
    return value
