"""AI-CNN (Zhang et al. 2017): attention over the interactions of each text's segments with those of the other text."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from qaexp.limits import PositiveInt
from qaexp.models.embedding.word_vectors import WordEmbedding
from qaexp.models.intermediates import show
from qaexp.models.masking import masked_softmax
from qaexp.models.ops.grid import grid_mask
from qaexp.models.pairwise.classifier import Classifier
from qaexp.models.pairwise.match import Match
from qaexp.models.scorer import AnswerScorer
from qaexp.models.stage import Encoder
from qaexp.models.types import Text


class AICNN(AnswerScorer):
    """Segments, their interactions, row-wise and column-wise pooling, attention.

        q_i, a_j = segments by the encoder (a CNN)
        v_ij = tensor layer of q_i and a_j, or another match
        u^q_i = max_j v_ij,  u^a_j = max_i v_ij                                 over real segments
        α_i = softmax_i(wᵀ·tanh(W·u_i + b)),  r = Σ_i α_i u_i                   for each side
        s = hidden layer over [r^q ; r^a]

    Zhang et al. 2017: "AI-NN learns interactions of each paired segments of two texts. Row-wise and column-wise pooling are used
    afterwards to collect the interactions. We adopt attention mechanism to measure the importance of each segment and combine the
    interactions to obtain fixed-length representations" (abstract). Tay et al. 2018 call it "a tensor-based attentive pooling neural
    model" and compare it without handcrafted features, as here.

    Shows `grid`, v: (pair, slice, question_length, candidate_length), and the attention of each side, `question_attention` and
    `attention` (the candidate's): (pair, length).

    Reading: pooling takes the maximum, as max-pooling convolutions do; each side has its own attention layer.
    """

    def __init__(
        self,
        embedding: Callable[..., WordEmbedding],
        encoder: Callable[..., Encoder],
        match: Callable[..., Match],
        attention_dim: PositiveInt,
        hidden_dim: PositiveInt,
        num_classes: int,
        vectors: Float[Tensor, "word dim"],
    ) -> None:
        super().__init__()
        self.embedding = embedding(vectors=vectors)
        self.encoder = encoder(input_dim=self.embedding.output_dim)
        self.match = match(input_dim=self.encoder.output_dim)
        slices = self.match.num_slices
        self.question_attention = SegmentAttention(slices, attention_dim)
        self.candidate_attention = SegmentAttention(slices, attention_dim)
        self.classifier = Classifier(2 * slices, hidden_dim, nn.Tanh(), num_classes)

    def encode_question(self, tokens: Int[Tensor, "text length"]) -> Text:
        return self.match.begin_question(self._segments(tokens))

    def encode_candidate(self, tokens: Int[Tensor, "text length"]) -> Text:
        return self.match.begin_candidate(self._segments(tokens))

    def score(self, question: Text, candidate: Text) -> Float[Tensor, "pair *class"]:
        grid = self.match(question, candidate)
        show("grid", grid)
        real = grid.masked_fill(~grid_mask(question["mask"], candidate["mask"]), torch.finfo(grid.dtype).min)
        both = question["mask"].any(dim=1) & candidate["mask"].any(dim=1)  # beside an empty text there is nothing to attend to
        alphas, r = [], []
        for attention, u, mask in (
            (self.question_attention, real.amax(dim=3), question["mask"]),
            (self.candidate_attention, real.amax(dim=2), candidate["mask"]),
        ):
            u = u.transpose(1, 2).masked_fill(~(mask & both[:, None]).unsqueeze(2), 0.0)  # (pair, length, slice)
            alpha = attention(u, mask)
            alphas.append(alpha)
            r.append((alpha.unsqueeze(1) @ u).squeeze(1))
        show("question_attention", alphas[0])
        show("attention", alphas[1])
        return self.classifier(torch.cat(r, dim=1))

    def _segments(self, tokens: Int[Tensor, "text length"]) -> Text:
        return self.encoder(self.embedding.of(tokens))


class SegmentAttention(nn.Module):
    """α_i = softmax_i(wᵀ·tanh(W·u_i + b)) over real segments."""

    def __init__(self, input_dim: int, attention_dim: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(input_dim, attention_dim)
        self.w = nn.Linear(attention_dim, 1, bias=False)

    def forward(self, u: Float[Tensor, "pair length dim"], mask: Bool[Tensor, "pair length"]) -> Float[Tensor, "pair length"]:
        return masked_softmax(self.w(self.hidden(u).tanh()).squeeze(2), mask)
