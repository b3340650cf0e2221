"""The longest word sequence that two texts have in common, with gaps or without."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from qaexp.data.batch import token_mask
from qaexp.data.vocabulary import UNKNOWN
from qaexp.models.scorer import AnswerScorer
from qaexp.models.types import Text


class CommonWords(AnswerScorer):
    """s(q, c) = L(|q|, |c|) / |q|,  the longest common subsequence, or substring if `gaps` is false, in words.

        with gaps:     L(i, j) = max(L(i − 1, j), L(i, j − 1), [q_i = c_j] · (L(i − 1, j − 1) + 1))
        without gaps:  L(i, j) = [q_i = c_j] · (L(i − 1, j − 1) + 1), and the largest L counts

    Allison & Dix 1986; Gusfield 1997. Unknown words equal none. A text's fields lie end to end; no substring reaches across.
    """

    reads_fields = True
    reads_vectors = False

    def __init__(self, gaps: bool, vectors: Float[Tensor, "word dim"]) -> None:
        super().__init__()
        self._gaps = gaps

    def encode_question(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        return self._encode(tokens)

    def encode_candidate(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        return self._encode(tokens)

    def score(self, question: Text, candidate: Text) -> Float[Tensor, " pair"]:
        q, c = question["tokens"], candidate["tokens"]
        row = torch.zeros(c.shape, device=c.device)  # L(i, ·)
        longest = row
        for word in q.unbind(dim=1):
            same = (word[:, None] == c) & (word > UNKNOWN)[:, None]  # (pair, candidate_length)
            diagonal = (F.pad(row, (1, 0))[:, :-1] + 1) * same
            row = torch.maximum(row, diagonal).cummax(dim=1).values if self._gaps else diagonal
            longest = torch.maximum(longest, row)
        return longest.amax(dim=1) / token_mask(q).sum(dim=1).clamp(min=1)

    def _encode(self, tokens: Int[Tensor, "text *field length"]) -> Text:
        apart = F.pad(tokens, (0, 1)).flatten(1)  # padding between fields
        return {"tokens": apart, "mask": token_mask(apart)}
