"""ARC-II (Hu et al. 2014, §3.2): a grid of window pairs of two texts, convolved and pooled like an image."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from qaexp.limits import PositiveInt
from qaexp.models.embedding.word_vectors import WordEmbedding
from qaexp.models.intermediates import show
from qaexp.models.masking import zero_padding
from qaexp.models.ops.convolution import apply_convolution
from qaexp.models.ops.grid import grid_mask, max_by_cell, max_of_blocks
from qaexp.models.pairwise.classifier import Classifier
from qaexp.models.scorer import AnswerScorer
from qaexp.models.types import Text


class ARCII(AnswerScorer):
    """A grid of window pairs, then pooling and convolution in turn, then an MLP. `num_filters` has one number per layer.

        z_ij^(1) = g(ẑ_ij) · ReLU(W^(1)·[x_{i:i+k−1} ; y_{j:j+k−1}] + b^(1))
        z_ij^(2) = max of z^(1) over 2 × 2 units
        z_ij^(3) = g(ẑ_ij) · ReLU(W^(3)·ẑ_ij + b^(3)),  ẑ_ij = the k × k units of z^(2) that start at i, j; and so on

    W^(1) splits into one half per text. Each half is a convolution over that text alone, computed once per text. g is 1 where both texts
    have a real word (or a unit made of real words), else 0.

    Shows `grid`, z^(1) of each pair: (pair, filter, question_length, candidate_length).

    Departs: the paper's g is 0 only where everything that a unit reads is padding, so a text would meet the padding of the other text.

    Reading: a unit reads itself and the units after it, with zeros beyond the ends. The paper pads all texts to one length and concatenates
    the last units for the MLP; here dynamic pooling makes `cells` × `cells` units of them, whatever the lengths.
    """

    def __init__(
        self,
        embedding: Callable[..., WordEmbedding],
        num_filters: Sequence[PositiveInt],
        window: PositiveInt,
        cells: PositiveInt,
        hidden_dim: PositiveInt,
        num_classes: int,
        vectors: Float[Tensor, "word dim"],
    ) -> None:
        super().__init__()
        self.embedding = embedding(vectors=vectors)
        self.question_windows = nn.Conv1d(self.embedding.output_dim, num_filters[0], window)  # with b^(1)
        self.candidate_windows = nn.Conv1d(self.embedding.output_dim, num_filters[0], window, bias=False)
        self.convolutions = nn.ModuleList(nn.Conv2d(width, wider, window) for width, wider in pairwise(num_filters))
        self.after, self.cells = window - 1, cells
        self.classifier = Classifier(num_filters[-1] * cells**2, hidden_dim, nn.ReLU(), num_classes)

    def encode_question(self, tokens: Int[Tensor, "text length"]) -> Text:
        return self._windows(tokens, self.question_windows)

    def encode_candidate(self, tokens: Int[Tensor, "text length"]) -> Text:
        return self._windows(tokens, self.candidate_windows)

    def score(self, question: Text, candidate: Text) -> Float[Tensor, "pair *class"]:
        rows, columns = question["mask"], candidate["mask"]
        grid = (_below_all_padding(question).unsqueeze(3) + _below_all_padding(candidate).unsqueeze(2)).relu()
        show("grid", grid)
        for convolution in self.convolutions:
            grid, rows, columns = max_of_blocks(grid), rows[:, ::2], columns[:, ::2]
            grid = apply_convolution(convolution, F.pad(grid, (0, self.after, 0, self.after))).relu() * grid_mask(rows, columns)
        grid, rows, columns = max_of_blocks(grid), rows[:, ::2], columns[:, ::2]
        return self.classifier(max_by_cell(grid, rows, columns, self.cells, self.cells).flatten(1))

    def _windows(self, tokens: Int[Tensor, "text length"], convolution: nn.Conv1d) -> Text:
        text = self.embedding.of(tokens)
        words = zero_padding(text["states"], text["mask"])
        padded = F.pad(words.transpose(1, 2), (0, self.after))  # (text, dim, length + after)
        return {"mask": text["mask"], "states": apply_convolution(convolution, padded).transpose(1, 2)}


def _below_all_padding(text: Text) -> Float[Tensor, "pair filter length"]:
    """The states, with a very negative number at padding, so that ReLU gives 0 there. This is cheaper than masking the grid."""
    states = text["states"]
    return states.masked_fill(~text["mask"].unsqueeze(2), torch.finfo(states.dtype).min / 2).transpose(1, 2)
