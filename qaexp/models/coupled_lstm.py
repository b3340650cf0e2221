"""Coupled LSTMs (Liu et al. 2016): two texts fuse into a grid of LSTM cells, one for each pair of their words."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from qaexp.errors import ConfigError
from qaexp.masking import token_mask
from qaexp.models.classifier import Classifier
from qaexp.models.coupled_cells import CoupledCell
from qaexp.models.diagonals import diagonals, to_cells, to_grid
from qaexp.models.grid import max_by_cell
from qaexp.models.scorer import AnswerScorer
from qaexp.models.shown import show
from qaexp.models.stage import Stage
from qaexp.types import Text

FLIPS = ((False, False), (False, True), (True, True), (True, False))
"""Whether a direction runs from the end of the question, of the candidate (§4.2.1)."""


class CoupledLSTM(AnswerScorer):
    """Blocks of coupled LSTMs in one or four directions, dynamic pooling, a hidden layer, the output.

        h_{i,j} = Σ_δ h^δ_{i,j}                                                 eq. 13, over the directions
        v = max over each of p × q parts of the real grid                        §4.3
        s = W_s·tanh(W_h·v + b_h) + b_s                                          §4.4–4.5

    Liu et al. 2016, §4. The words' share of the gates is computed once for each text, the grid once for each pair.

    Reading: all directions of a block share one set of weights, as only then the counts of Table 2 come out; a stacked block reads the
    summed state of its cell. A hidden layer 45 wide fits all of Table 2's counts; its activation, which the paper does not name, is tanh.
    Weights begin uniformly within ±0.1 (§6.1), the embeddings as given.

    Shows `grid` (pair, question length, candidate length, dim): the last block's states, which Figure 3 draws.

    Raises:
        ConfigError: a number of directions other than 1 and 4, or no block.
    """

    def __init__(
        self,
        embedding: Callable[..., Stage],
        cell: Callable[..., CoupledCell],
        hidden_dim: int,
        num_directions: int,
        num_blocks: int,
        pooling_rows: int,
        pooling_columns: int,
        output_dim: int,
        num_classes: int,
        vectors: Float[Tensor, "word dim"],
    ) -> None:
        super().__init__()
        if num_directions not in (1, 4):
            raise ConfigError(f"model.num_directions={num_directions}: a grid is run through in 1 direction or in 4")
        if num_blocks < 1:
            raise ConfigError(f"model.num_blocks={num_blocks}: there must be at least 1 block")
        self.embedding = embedding(vectors=vectors)
        widths = [self.embedding.output_dim, *[hidden_dim] * (num_blocks - 1)]
        first, *rest = (cell(input_dim=width, hidden_dim=hidden_dim, stacked=place > 0) for place, width in enumerate(widths))
        self.words_block, self.stacked_blocks = first, nn.ModuleList(rest)
        self.num_directions = num_directions
        self.parts = (pooling_rows, pooling_columns)
        self.output = Classifier(pooling_rows * pooling_columns * hidden_dim, output_dim, nn.Tanh(), num_classes)
        for parameter in (*self.words_block.parameters(), *self.stacked_blocks.parameters(), *self.output.parameters()):
            nn.init.uniform_(parameter, -0.1, 0.1)

    def encode_question(self, tokens: Int[Tensor, "text length"]) -> Text:
        return self._gates(tokens, self.words_block.from_question)

    def encode_candidate(self, tokens: Int[Tensor, "text length"]) -> Text:
        return self._gates(tokens, self.words_block.from_candidate)

    def score(self, question: Text, candidate: Text) -> Float[Tensor, "pair *class"]:
        with torch.autocast(question["gates"].device.type, enabled=False):  # errors of rounding would add up along the grid
            H = self._words_block(question, candidate)
            for block in self.stacked_blocks:
                assert isinstance(block, CoupledCell)
                H = self._stacked_block(block, H, question["mask"], candidate["mask"])
            show("grid", H)
            pooled = max_by_cell(H.permute(0, 3, 1, 2), question["mask"], candidate["mask"], *self.parts)
            return self.output(pooled.flatten(1))

    def _gates(self, tokens: Int[Tensor, "text length"], linear: nn.Linear | None) -> Text:
        assert linear is not None  # a block of words has one for each side
        mask = token_mask(tokens)
        return {"mask": mask, "gates": linear(self.embedding({"tokens": tokens, "mask": mask})["states"])}

    def _words_block(self, question: Text, candidate: Text) -> Float[Tensor, "pair row column dim"]:
        block, flips = self.words_block, FLIPS[: self.num_directions]
        X, Y = question["gates"].float(), candidate["gates"].float()  # (pair, length, gates)
        x_turned, y_turned = turned(question["mask"]), turned(candidate["mask"])
        of_rows = torch.cat([_rows_of(X, x_turned if flip else None) for flip, _ in flips], dim=1)  # (row, direction · pair, gates)
        of_columns = torch.cat([_rows_of(Y, y_turned if flip else None) for _, flip in flips], dim=1)
        cells = block.over_words(of_rows, of_columns, diagonals(X.shape[1], Y.shape[1]))
        return self._summed(cells, x_turned, y_turned)

    def _stacked_block(
        self,
        block: CoupledCell,
        H: Float[Tensor, "pair row column dim"],
        question: Bool[Tensor, "pair row"],
        candidate: Bool[Tensor, "pair column"],
    ) -> Float[Tensor, "pair row column dim"]:
        x_turned, y_turned = turned(question), turned(candidate)
        below = block.from_question(H)  # (pair, row, column, gates)
        turns = [_turn(below, x_turned if x else None, y_turned if y else None) for x, y in FLIPS[: self.num_directions]]
        order = diagonals(H.shape[1], H.shape[2])
        return self._summed(block.over_cells(to_cells(torch.cat(turns), order), order), x_turned, y_turned)

    def _summed(
        self,
        cells: Float[Tensor, "cell directed_pair dim"],
        x_turned: Int[Tensor, "pair row"],
        y_turned: Int[Tensor, "pair column"],
    ) -> Float[Tensor, "pair row column dim"]:
        """All directions of a block, each turned back."""
        by_direction = to_grid(cells, x_turned.shape[1], y_turned.shape[1]).chunk(self.num_directions)
        grids = zip(by_direction, FLIPS, strict=False)
        return torch.stack([_turn(grid, x_turned if x else None, y_turned if y else None) for grid, (x, y) in grids]).sum(dim=0)


def turned(mask: Bool[Tensor, "pair length"]) -> Int[Tensor, "pair length"]:
    """The places of a text read from its last real word to its first; those of padding stay where they are.

    >>> turned(torch.tensor([[True, True, True, False]])).tolist()
    [[2, 1, 0, 3]]
    """
    places, lengths = torch.arange(mask.shape[1], device=mask.device), mask.sum(dim=1, keepdim=True)
    return torch.where(mask, lengths - 1 - places, places)


def _rows_of(gates: Float[Tensor, "pair length gates"], places: Int[Tensor, "pair length"] | None) -> Float[Tensor, "length pair gates"]:
    if places is not None:
        gates = gates.take_along_dim(places.unsqueeze(2), dim=1)
    return gates.transpose(0, 1)


def _turn(
    grid: Float[Tensor, "pair row column dim"], rows: Int[Tensor, "pair row"] | None, columns: Int[Tensor, "pair column"] | None
) -> Float[Tensor, "pair row column dim"]:
    if rows is not None:
        grid = grid.take_along_dim(rows[:, :, None, None], dim=1)
    return grid if columns is None else grid.take_along_dim(columns[:, None, :, None], dim=2)
