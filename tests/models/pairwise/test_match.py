"""Each match against a loop over pairs of words (Wan et al. 2016)."""

import math

import pytest
import torch
from small_texts import some_states
from torch import Tensor

from qaexp.errors import ConfigError
from qaexp.models.pairwise.match import BilinearMatch, CosineMatch, Match, TensorMatch

DIM = 4


def cosine(match: CosineMatch, u: Tensor, v: Tensor) -> list[float]:
    return [(u @ v).item() / math.sqrt((u @ u).item() * (v @ v).item())]


def bilinear(match: BilinearMatch, u: Tensor, v: Tensor) -> list[float]:
    return [sum(u[i].item() * match.M[i, j].item() * v[j].item() for i in range(DIM) for j in range(DIM)) + match.b.item()]


def tensor(match: TensorMatch, u: Tensor, v: Tensor) -> list[float]:
    W = torch.cat([match.W_question.weight, match.W_candidate.weight], dim=1)
    s = [(u @ T @ v + W[k] @ torch.cat([u, v]) + match.W_candidate.bias[k]).item() for k, T in enumerate(match.T)]
    return [max(0.0, value) if match.activation is torch.relu else math.tanh(value) for value in s]


MATCHES = [
    (lambda: CosineMatch(DIM), cosine),
    (lambda: BilinearMatch(DIM), bilinear),
    (lambda: TensorMatch(DIM, 3, "relu"), tensor),
    (lambda: TensorMatch(DIM, 2, "tanh"), tensor),
]


@pytest.mark.parametrize(("build", "paper"), MATCHES)
def test_the_grid_equals_a_loop_over_word_pairs(build, paper) -> None:
    torch.manual_seed(3)
    match: Match = build()
    for parameter in match.parameters():
        torch.nn.init.normal_(parameter)
    question, candidate = some_states([3, 3], DIM, seed=1), some_states([5, 5], DIM, seed=2)
    grid = match(match.begin_question(question), match.begin_candidate(candidate))
    assert grid.shape == (2, match.num_slices, 3, 5)
    for pair in range(2):
        for i in range(3):
            for j in range(5):
                expected = torch.tensor(paper(match, question["states"][pair, i], candidate["states"][pair, j]))
                torch.testing.assert_close(grid[pair, :, i, j], expected, rtol=1e-5, atol=1e-5)


def test_an_unknown_activation_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"match.activation=cubic: choose relu or tanh"):
        TensorMatch(DIM, 2, "cubic")
