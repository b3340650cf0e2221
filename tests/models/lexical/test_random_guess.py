"""A guess is uniform, the same in every batch, and another one for every seed."""

import torch

from qaexp.models.lexical.random_guess import RandomGuess


def scores(seed: int, pairs: int = 4_000) -> torch.Tensor:
    words = torch.randint(2, 1_000, (2, pairs, 1, 6), generator=torch.Generator().manual_seed(7))
    guess = RandomGuess(torch.zeros(1, 1), seed)
    return guess.score(guess.encode_question(words[0]), guess.encode_candidate(words[1]))


def test_seeds_draw_independently() -> None:
    drawn = torch.stack([scores(seed) for seed in range(1, 6)])
    assert torch.equal(drawn[0], scores(1))
    assert (drawn.mean(dim=1) - 0.5).abs().max() < 0.03  # six standard errors of 1/√12 over 4,000
    assert (drawn.std(dim=1) - 12**-0.5).abs().max() < 0.02
    correlation = torch.corrcoef(drawn) - torch.eye(5)
    assert correlation.abs().max() < 0.08  # five standard errors of 1/√4,000
