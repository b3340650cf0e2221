"""The recurrences of quasi-recurrent layers, by a CPU's loop and by a scan, against the slow references: values and gradients."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from qaexp.models.ops.recurrence import activate, crossed_fo_pool, crossed_loop, fo_pool, fo_pool_loop, scanned_crossing, scanned_fo_pool

ROWS, LENGTH, PARTNER_LENGTH, DIM = 3, 6, 4, 2
PLACES = torch.tensor([[0, 0, 1, 2, 2, 3], [0, 1, 2, 3, 3, 3], [3, 2, 1, 0, 0, 0]])
PARTNER_PLACES = torch.tensor([[0, 1, 3, 5], [0, 0, 0, 0], [5, 5, 2, 1]])


def gates(length: int) -> Tensor:
    return torch.randn(ROWS, length, 3 * DIM, dtype=torch.float64, requires_grad=True)


def activated(raw: Tensor) -> Tensor:
    """What `activate` gives, written out."""
    Z, F, O = raw.chunk(3, dim=2)
    return torch.cat([Z.tanh(), F.sigmoid(), O.sigmoid()], dim=2)


def same(fast: Tensor, slow: Tensor, leaves: tuple[Tensor, ...]) -> None:
    weights = torch.randn_like(slow)
    torch.testing.assert_close(fast, slow)
    expected = torch.autograd.grad((slow * weights).sum(), leaves)
    for ours, theirs in zip(torch.autograd.grad((fast * weights).sum(), leaves), expected, strict=True):
        torch.testing.assert_close(ours, theirs)


def scanned_crossings(question: Tensor, candidate: Tensor, places: Tensor, partner_places: Tensor) -> tuple[Tensor, Tensor]:
    return scanned_crossing(question, candidate, places), scanned_crossing(candidate, question, partner_places)


@pytest.mark.parametrize("pool", [fo_pool, scanned_fo_pool])
def test_fo_pooling_is_its_loop_and_so_are_its_gradients(pool: Callable[[Tensor], Tensor]) -> None:
    torch.manual_seed(1)
    raw = gates(LENGTH)
    same(pool(activate(raw)), fo_pool_loop(activated(raw)), (raw,))
    assert torch.autograd.gradcheck(lambda each: pool(activated(each)), (raw,))


@pytest.mark.parametrize("crossed", [crossed_fo_pool, scanned_crossings])
def test_a_crossed_recurrence_is_the_product_of_two_loops_and_so_are_its_gradients(crossed: Callable[..., tuple[Tensor, Tensor]]) -> None:
    torch.manual_seed(2)
    raw, partner = gates(LENGTH), gates(PARTNER_LENGTH)
    fast = crossed(activate(raw), activate(partner), PLACES, PARTNER_PLACES)
    slow = (
        crossed_loop(activated(raw), activated(partner), PLACES),
        crossed_loop(activated(partner), activated(raw), PARTNER_PLACES),
    )
    same(torch.cat(fast, dim=1), torch.cat(slow, dim=1), (raw, partner))
    assert torch.autograd.gradcheck(lambda a, b: crossed(activated(a), activated(b), PLACES, PARTNER_PLACES), (raw, partner))


@pytest.mark.parametrize("pool", [fo_pool, scanned_fo_pool])
@pytest.mark.parametrize("length", [1, 2, 3, 8, 9])
def test_a_text_may_have_any_length(pool: Callable[[Tensor], Tensor], length: int) -> None:
    raw = gates(length)
    same(pool(activate(raw)), fo_pool_loop(activated(raw)), (raw,))
