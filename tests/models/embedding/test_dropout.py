"""Dropout of word vectors: torch's own, and the same again for some of the texts."""

import pytest
import torch
from torch import Tensor, nn

from qaexp.models.embedding.dropout import WordDropout

TOKENS = torch.tensor([[5, 6, 7, 0, 0], [8, 5, 0, 0, 0], [6, 5, 7, 9, 3]])
STATES = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(1))


def drawn(dropout: nn.Module, *given: Tensor) -> Tensor:
    torch.manual_seed(2)
    return dropout(*given)


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.3, 0.5])
def test_it_is_torchs_own_to_the_last_bit(rate: float) -> None:
    dropout = WordDropout(rate)
    expected = drawn(nn.Dropout(rate), STATES)
    assert torch.equal(drawn(dropout, STATES, TOKENS), expected)
    with dropout.repeatable(), torch.no_grad():
        assert torch.equal(drawn(dropout, STATES, TOKENS), expected)
    assert torch.equal(dropout.eval()(STATES, TOKENS), STATES)


def test_texts_keep_their_draw_in_any_order_and_with_other_padding() -> None:
    dropout = WordDropout(0.5)
    with dropout.repeatable():
        with torch.no_grad():
            first = [dropout(STATES[:2, :3], TOKENS[:2, :3]), dropout(STATES[2:], TOKENS[2:])]
        state = torch.get_rng_state()
        assert torch.equal(dropout(STATES[1:, :5], TOKENS[1:]).detach()[1], first[1][0])
        assert torch.equal(dropout(STATES[[1]], TOKENS[[1]])[0, :3], first[0][1])
        assert torch.equal(dropout(STATES[[1], :2], TOKENS[[1], :2])[0], first[0][1, :2])
        assert torch.equal(dropout(STATES[:2, :3].flip(0), TOKENS[:2, :3].flip(0)), first[0].flip(0))
        assert torch.equal(torch.get_rng_state(), state)
    assert not torch.equal(dropout(STATES, TOKENS)[2], first[1][0]), "afterwards draws are new"


@pytest.mark.parametrize("tokens", [TOKENS + 1, TOKENS[[0, 0, 2]]], ids=["new texts", "one read twice"])
def test_what_is_not_known_for_certain_is_drawn_anew(tokens: Tensor) -> None:
    dropout = WordDropout(0.5)
    with dropout.repeatable():
        with torch.no_grad():
            dropout(STATES, TOKENS[[0, 0, 2]])
        state = torch.get_rng_state()
        dropout(STATES, tokens)
        assert not torch.equal(torch.get_rng_state(), state)


def test_of_texts_without_words_there_may_be_several() -> None:
    """Titles without a body."""
    dropout = WordDropout(0.5)
    tokens = TOKENS * torch.tensor([[0], [1], [0]])
    with dropout.repeatable():
        with torch.no_grad():
            first = dropout(STATES, tokens)
        state = torch.get_rng_state()
        assert torch.equal(dropout(STATES, tokens)[1], first[1])
        assert torch.equal(torch.get_rng_state(), state)


def test_the_gradient_is_that_of_the_first_draw() -> None:
    dropout = WordDropout(0.3)
    states = STATES.clone().requires_grad_()
    expected = drawn(dropout, states, TOKENS)
    (wanted,) = torch.autograd.grad(expected.square().sum(), states)
    with dropout.repeatable():
        with torch.no_grad():
            drawn(dropout, states, TOKENS)
        (found,) = torch.autograd.grad(dropout(states, TOKENS).square().sum(), states)
    assert torch.equal(found, wanted)
