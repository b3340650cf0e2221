"""Random Guess: the scores that any model must beat."""

from jaxtyping import Float, Int
from torch import Tensor

from qaexp.models.lexical.hashing import CANDIDATE_FACTOR, PRIME, QUESTION_FACTOR, hash_of
from qaexp.models.scorer import AnswerScorer
from qaexp.models.types import Text

SEED_FACTOR, MIX_FACTOR = 69_069, 1_103_515_245
"""Multipliers of old linear congruential generators, MTH$RANDOM of the VAX and rand() of BSD and ANSI C: one sets the seeds apart, the
other stirs the hash of a pair.
"""


class RandomGuess(AnswerScorer):
    """s in [0, 1], drawn for each pair by hashing its words and the seed: no order, no state, the same draw in every batch."""

    reads_fields = True
    reads_vectors = False

    def __init__(self, vectors: Float[Tensor, "word dim"], seed: int = 1) -> None:
        super().__init__()
        self.seed = seed

    def encode_question(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        return {"hash": hash_of(tokens.flatten(1), QUESTION_FACTOR)}

    def encode_candidate(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        return {"hash": hash_of(tokens.flatten(1), CANDIDATE_FACTOR)}

    def score(self, question: Text, candidate: Text) -> Float[Tensor, " pair"]:
        mixed = (question["hash"] + candidate["hash"] + SEED_FACTOR * (self.seed - 1)) % PRIME
        for _ in range(3):
            mixed = (mixed ^ (mixed >> 13)) * MIX_FACTOR % PRIME
        return (mixed.double() / PRIME).float()
