"""Coupled LSTMs (Liu et al. 2016): two texts become a grid of LSTM cells, one cell for each pair of words."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from qaexp.errors import ConfigError
from qaexp.limits import PositiveInt
from qaexp.models.embedding.word_vectors import WordEmbedding
from qaexp.models.intermediates import show
from qaexp.models.ops.coupled_cells import CoupledCell
from qaexp.models.ops.coupled_grid import over_cells, over_words
from qaexp.models.ops.grid import max_by_cell
from qaexp.models.pairwise.classifier import Classifier
from qaexp.models.scorer import AnswerScorer, draw_uniformly
from qaexp.models.types import Text


class CoupledLSTM(AnswerScorer):
    """Blocks of coupled LSTMs in one or four directions, then dynamic pooling, a hidden layer and the output.

        h_{i,j} = Σ_δ h^δ_{i,j}                                                 eq. 13, over the directions
        v = max over each of the p × q parts of the real grid                    §4.3
        s = W_s·tanh(W_h·v + b_h) + b_s                                          §4.4–4.5

    Liu et al. 2016, §4. The words' share of the gates is computed once per text, the grid once per pair. Weights start uniformly within
    ±0.1 (§6.1), the embeddings as given.

    Shows `grid` (pair, dim, question length, candidate length): the last block's states, as in Figure 3; for a loose cell h¹, then h².

    Reading: all directions of a block share one set of weights, as only this gives the counts of Table 2.

    Reading: the two LSTMs of a loose cell stay separate up to the hidden layer, which reads the pooled states of both, concatenated. They
    receive their inputs "separately" and let "the two sequences interact closely without being conflated" (§3.3), and Table 2 has at least
    twice as many parameters after the recurrence of LC-LSTMs (4.8K; stacked 4.2K) as after that of TC-LSTMs (2.3K; 1.5K). A hidden layer of
    width 45 then matches these counts to 1K. The paper does not name its activation; here it is tanh.

    Raises:
        ConfigError: the number of directions is neither 1 nor 4.
    """

    def __init__(
        self,
        embedding: Callable[..., WordEmbedding],
        cell: Callable[..., CoupledCell],
        hidden_dim: PositiveInt,
        num_directions: PositiveInt,
        num_blocks: PositiveInt,
        pooling_rows: PositiveInt,
        pooling_columns: PositiveInt,
        output_dim: PositiveInt,
        num_classes: int,
        vectors: Float[Tensor, "word dim"],
    ) -> None:
        super().__init__()
        if num_directions not in (1, 4):
            raise ConfigError(f"model.num_directions={num_directions}: a grid has 1 direction or 4")
        self.embedding = embedding(vectors=vectors)
        widths = [self.embedding.output_dim, *[hidden_dim] * (num_blocks - 1)]
        first, *rest = (cell(input_dim=width, hidden_dim=hidden_dim, stacked=place > 0) for place, width in enumerate(widths))
        self.words_block, self.stacked_blocks = first, nn.ModuleList(rest)
        self.num_directions = num_directions
        self.parts = (pooling_rows, pooling_columns)
        self.output = Classifier(pooling_rows * pooling_columns * first.num_parts * hidden_dim, output_dim, nn.Tanh(), num_classes)
        draw_uniformly(self, 0.1)

    def encode_question(self, tokens: Int[Tensor, "text length"]) -> Text:
        return self._gates(tokens, self.words_block.from_question)

    def encode_candidate(self, tokens: Int[Tensor, "text length"]) -> Text:
        return self._gates(tokens, self.words_block.from_candidate)

    def score(self, question: Text, candidate: Text) -> Float[Tensor, "pair *class"]:
        with torch.autocast(question["gates"].device.type, enabled=False):  # rounding errors would add up along the grid
            H = self._grid(question, candidate).permute(0, 3, 1, 2)  # (pair, dim, row, column)
            show("grid", H)
            pooled = max_by_cell(H, question["mask"], candidate["mask"], *self.parts)
            return self.output(pooled.flatten(1))

    def _grid(self, question: Text, candidate: Text) -> Float[Tensor, "pair row column dim"]:
        X, Y = (text["gates"].float().permute(2, 1, 0) for text in (question, candidate))  # (gates, length, pair)
        rows, columns = question["mask"].T, candidate["mask"].T
        H = over_words(self.words_block, X, Y, rows, columns, self.num_directions)  # (dim, part, row · column, pair)
        for block in self.stacked_blocks:
            assert isinstance(block, CoupledCell)
            W, b = block.from_question.weight, block.from_question.bias
            below = torch.addmm(b.unsqueeze(1), W, H.flatten(1)).unflatten(1, H.shape[1:])  # (gates, part, row · column, pair)
            H = over_cells(block, below, rows, columns, self.num_directions)
        return H.unflatten(2, (len(rows), len(columns))).permute(4, 2, 3, 1, 0).flatten(3)

    def _gates(self, tokens: Int[Tensor, "text length"], linear: nn.Linear | None) -> Text:
        assert linear is not None  # only stacked blocks have none
        words = self.embedding.of(tokens)
        return {"mask": words["mask"], "gates": linear(words["states"])}
