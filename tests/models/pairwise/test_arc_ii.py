"""ARC-II against a loop over units, written from Hu et al. 2014, §3.2."""

from functools import partial

import pytest
import torch
from torch import Tensor, nn

from qaexp.models.embedding.word_vectors import WordEmbedding
from qaexp.models.pairwise.arc_ii import ARCII
from qaexp.models.scorer import read_out

QUESTIONS = torch.tensor([[3, 4, 5, 0, 0], [5, 0, 0, 0, 0], [6, 7, 8, 1, 2]])
CANDIDATES = torch.tensor([[9, 3, 4, 2, 6, 7, 8], [5, 6, 1, 0, 0, 0, 0], [7, 2, 0, 0, 0, 0, 0]])
DIM, CELLS = 4, 2


def model(num_filters: list[int], window: int) -> ARCII:
    torch.manual_seed(1)
    vectors = torch.randn(10, DIM)
    embedding = partial(WordEmbedding, tuned=False, project_dim=None, dropout_rate=0.0)
    return ARCII(embedding, num_filters, window, cells=CELLS, hidden_dim=5, num_classes=1, vectors=vectors)


def paper(scorer: ARCII, x: Tensor, y: Tensor, window: int) -> tuple[Tensor, Tensor]:
    """The score of two texts without padding, and the first grid."""
    W = torch.cat([scorer.question_windows.weight, scorer.candidate_windows.weight], dim=1)  # (filter, 2 · dim, window)
    assert scorer.question_windows.bias is not None
    grid = {}
    for i in range(len(x)):
        for j in range(len(y)):
            z = scorer.question_windows.bias.clone()
            for k in range(window):
                word_x = x[i + k] if i + k < len(x) else torch.zeros(DIM)
                word_y = y[j + k] if j + k < len(y) else torch.zeros(DIM)
                z = z + W[:, :, k] @ torch.cat([word_x, word_y])
            grid[i, j] = torch.clamp(z, min=0)
    first = torch.stack([torch.stack([grid[i, j] for j in range(len(y))], dim=1) for i in range(len(x))], dim=1)
    grid = halved(grid)
    for convolution in scorer.convolutions:
        assert isinstance(convolution, nn.Conv2d)
        assert convolution.bias is not None
        convolved = {}
        for i, j in grid:
            z = convolution.bias.clone()
            for k in range(window):
                for m in range(window):
                    if (i + k, j + m) in grid:
                        z = z + convolution.weight[:, :, k, m] @ grid[i + k, j + m]
            convolved[i, j] = torch.clamp(z, min=0)
        grid = halved(convolved)
    height, width = (1 + max(place[axis] for place in grid) for axis in (0, 1))
    width_of_unit = len(next(iter(grid.values())))
    cells = torch.zeros(width_of_unit, CELLS, CELLS)
    for row in range(CELLS):
        for column in range(CELLS):
            there = [z for (i, j), z in grid.items() if i * CELLS // height == row and j * CELLS // width == column]
            if there:
                cells[:, row, column] = torch.stack(there).amax(dim=0)
    hidden, output = scorer.classifier.hidden, scorer.classifier.output
    return output.weight[0] @ torch.clamp(hidden.weight @ cells.flatten() + hidden.bias, min=0) + output.bias[0], first


def halved(grid: dict[tuple[int, int], Tensor]) -> dict[tuple[int, int], Tensor]:
    """The maximum over 2 × 2 units."""
    units: dict[tuple[int, int], list[Tensor]] = {}
    for (i, j), z in grid.items():
        units.setdefault((i // 2, j // 2), []).append(z)
    return {place: torch.stack(zs).amax(dim=0) for place, zs in units.items()}


@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize("num_filters", [[6], [6, 5], [6, 5, 4]])
def test_scores_and_first_grid_equal_a_loop_over_units(num_filters: list[int], window: int) -> None:
    scorer = model(num_filters, window)
    scores = scorer.score(scorer.encode_question(QUESTIONS), scorer.encode_candidate(CANDIDATES))
    for pair in range(3):
        question, candidate = (t[t != 0] for t in (QUESTIONS[pair], CANDIDATES[pair]))
        score, first = paper(scorer, scorer.embedding.words(question), scorer.embedding.words(candidate), window)
        torch.testing.assert_close(scores[pair], score, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(read_out(scorer, question, candidate)["pair.grid"], first.detach(), rtol=1e-5, atol=1e-5)
