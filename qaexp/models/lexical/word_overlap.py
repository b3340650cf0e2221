"""Word overlap, the baseline that needs no training."""

from jaxtyping import Float, Int
from torch import Tensor

from qaexp.data.batch import token_mask
from qaexp.data.vocabulary import UNKNOWN
from qaexp.models.scorer import AnswerScorer
from qaexp.models.types import Text


class WordOverlap(AnswerScorer):
    """s = |W(q) ∩ W(a)|: the distinct words of the question that occur in the candidate (Yang et al. 2015, "Word Count").

    Every word counts, stop words too, of all fields of a text together; unknown words equal none. Ties are broken by the data set's
    convention.
    """

    reads_fields = True
    reads_vectors = False

    def __init__(self, vectors: Float[Tensor, "word dim"]) -> None:
        super().__init__()

    def encode_question(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        ordered = tokens.flatten(1).sort(dim=1).values
        repeated = ordered.diff(dim=1, prepend=ordered.new_full((len(ordered), 1), -1)) == 0
        return {"tokens": ordered, "mask": (ordered > UNKNOWN) & ~repeated}

    def encode_candidate(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        return {"tokens": tokens.flatten(1), "mask": token_mask(tokens.flatten(1))}

    def score(self, question: Text, candidate: Text) -> Float[Tensor, " pair"]:
        same = question["tokens"][:, :, None] == candidate["tokens"][:, None, :]  # (pair, question_length, candidate_length)
        return (same.any(dim=2) & question["mask"]).sum(dim=1).float()
