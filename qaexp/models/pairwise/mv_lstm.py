"""MV-LSTM (Wan et al. 2016): the strongest matches between the positions of two texts, each position seen in context."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from qaexp.limits import PositiveInt
from qaexp.models.embedding.word_vectors import WordEmbedding
from qaexp.models.intermediates import show
from qaexp.models.lexical.overlap_features import WordOverlapFeatures
from qaexp.models.ops.grid import grid_mask, k_largest
from qaexp.models.pairwise.classifier import Classifier
from qaexp.models.pairwise.match import Match
from qaexp.models.scorer import AnswerScorer
from qaexp.models.stage import Encoder
from qaexp.models.types import Text


class MVLSTM(AnswerScorer):
    """Positions, the grid of their matches, its k largest values, a hidden layer.

        u_i, v_j = states of the encoder (a bidirectional LSTM)
        S_ij = s(u_i, v_j), the match
        x = the k largest values of each slice of S, sorted; with `overlap`, also the four word-overlap features
        r = f(W_r·x + b_r),  s = W_s·r + b_s

    Wan et al. 2016: positional sentence representations, interactions between two sentences, k-max pooling, multilayer perceptron. The
    features are those that Tay et al. 2018 add before the dense layers on TREC QA.

    Shows `grid`, S of each pair: (pair, slice, question_length, candidate_length).

    b_s starts at `initial_bias`, if given; `TensorLayer` explains why.

    Reading: if the grid has fewer than k values, zeros fill up; f is ReLU.
    """

    def __init__(
        self,
        embedding: Callable[..., WordEmbedding],
        encoder: Callable[..., Encoder],
        match: Callable[..., Match],
        k: PositiveInt,
        hidden_dim: PositiveInt,
        num_classes: int,
        overlap: bool,
        initial_bias: float | None,
        vectors: Float[Tensor, "word dim"],
    ) -> None:
        super().__init__()
        self.embedding = embedding(vectors=vectors)
        self.encoder = encoder(input_dim=self.embedding.output_dim)
        self.match = match(input_dim=self.encoder.output_dim)
        self.k = k
        self.overlap = WordOverlapFeatures(len(vectors), self.subwords) if overlap else None
        num_features = WordOverlapFeatures.num_features if overlap else 0
        self.classifier = Classifier(self.match.num_slices * k + num_features, hidden_dim, nn.ReLU(), num_classes)
        if initial_bias is not None:
            nn.init.constant_(self.classifier.output.bias, initial_bias)

    def encode_question(self, tokens: Int[Tensor, "text length"]) -> Text:
        return self._with_words(self.match.begin_question(self._positions(tokens)), tokens)

    def encode_candidate(self, tokens: Int[Tensor, "text length"]) -> Text:
        return self._with_words(self.match.begin_candidate(self._positions(tokens)), tokens)

    def score(self, question: Text, candidate: Text) -> Float[Tensor, "pair *class"]:
        grid = self.match(question, candidate)
        show("grid", grid)
        x = k_largest(grid, grid_mask(question["mask"], candidate["mask"]), self.k).flatten(1)  # (pair, slice · k)
        if self.overlap is not None:
            x = torch.cat([x, self.overlap(question["tokens"], candidate["tokens"])], dim=1)
        return self.classifier(x)

    def _positions(self, tokens: Int[Tensor, "text length"]) -> Text:
        return self.encoder(self.embedding.of(tokens))

    def _with_words(self, text: Text, tokens: Int[Tensor, "text length"]) -> Text:
        """The words, too, where their overlap is counted; subwords are not as many as the states."""
        return text if self.overlap is None else {**text, "tokens": tokens}
