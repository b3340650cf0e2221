"""aNMM (Yang et al. 2016): matches are weighted by their strength, not by their position, and question words by attention."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from qaexp.data.vocabulary import UNKNOWN
from qaexp.errors import ConfigError
from qaexp.limits import PositiveInt
from qaexp.models.embedding.word_vectors import WordEmbedding
from qaexp.models.intermediates import show
from qaexp.models.masking import masked_softmax
from qaexp.models.ops.grid import grid_mask
from qaexp.models.scorer import AnswerScorer
from qaexp.models.types import Text


class ANMM(AnswerScorer):
    """Cosines of words, weights shared by value, attention over the question's words.

        P_ji = cos(q_j, a_i)
        x_jk = Σ_i P_ji over the words i with P_ji in bin k
        h_j = σ(Σ_k w_k x_jk)                                                   aNMM-1
        h_j = σ(Σ_t r_t σ(Σ_k w_kt x_jk))                                       aNMM-2, with several sets of weights
        s = Σ_j g_j h_j,  g_j = softmax_j(vᵀ·q_j)

    Yang et al. 2016, "value-shared weighting" and "question attention network". `num_bins` bins of equal width divide [−1, 1); one more bin
    is for exact matches. `num_weight_sets: 1` is aNMM-1.

    Shows `attention`, g of each question: (text, length), and `grid`, P of each pair: (pair, 1, question_length, candidate_length).

    Scores lie between 0 and 1; Yang et al. train them with loss=pairwise_hinge loss.margin=1.0.

    Under autocast everything stays in float32: rounded cosines would fall into other bins, and rounded scores would tie.

    Reading: an exact match is the same word in both texts, so that rounding cannot move it to another bin. Two words with the same vector
    are not an exact match, and neither are two unknown words. The activation is the logistic function, and w, r and v start uniformly
    within ±1/√(number of weights).

    Raises:
        ConfigError: the embedding reads subwords.
    """

    bounded = True

    def __init__(
        self,
        embedding: Callable[..., WordEmbedding],
        num_bins: PositiveInt,
        num_weight_sets: PositiveInt,
        vectors: Float[Tensor, "word dim"],
    ) -> None:
        super().__init__()
        self.embedding = embedding(vectors=vectors)
        if self.embedding.subwords:
            raise ConfigError(
                "model=anmm looks for exact matches of words, and this embedding reads subwords; choose frozen, tuned or projected"
            )
        self.num_bins = num_bins
        self.w = _uniform(num_bins + 1, num_weight_sets, by=num_bins + 1)
        self.r = _uniform(num_weight_sets, by=num_weight_sets) if num_weight_sets > 1 else None
        self.v = _uniform(self.embedding.output_dim, by=self.embedding.output_dim)

    def encode_question(self, tokens: Int[Tensor, "text length"]) -> Text:
        words = self.embedding.of(tokens)
        attention = masked_softmax(words["states"] @ self.v, words["mask"])
        show("attention", attention)
        return {"tokens": tokens, "mask": words["mask"], "states": F.normalize(words["states"].float(), dim=2), "attention": attention}

    def encode_candidate(self, tokens: Int[Tensor, "text length"]) -> Text:
        words = self.embedding.of(tokens)
        return {"tokens": tokens, "mask": words["mask"], "states": F.normalize(words["states"].float(), dim=2)}

    def score(self, question: Text, candidate: Text) -> Float[Tensor, " pair"]:
        with torch.autocast(question["states"].device.type, enabled=False):
            P = question["states"] @ candidate["states"].transpose(1, 2)  # (pair, question_length, candidate_length)
            P = P * grid_mask(question["mask"], candidate["mask"]).squeeze(1)
            show("grid", P.unsqueeze(1))
            bins = ((P.detach() + 1) * (self.num_bins / 2)).long().clamp(0, self.num_bins - 1)
            words = question["tokens"].unsqueeze(2)
            bins = bins.masked_fill((words == candidate["tokens"].unsqueeze(1)) & (words > UNKNOWN), self.num_bins)
            x = P.new_zeros(*P.shape[:2], self.num_bins + 1).scatter_add(2, bins, P)  # (pair, question_length, bin)
            h = (x @ self.w).sigmoid()  # (pair, question_length, weight set)
            h = h.squeeze(2) if self.r is None else (h @ self.r).sigmoid()
            return (question["attention"].float() * h).sum(dim=1)


def _uniform(*shape: int, by: int) -> nn.Parameter:
    return nn.Parameter(torch.empty(shape).uniform_(-(by**-0.5), by**-0.5))
