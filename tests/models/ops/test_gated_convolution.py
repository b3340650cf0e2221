"""The recurrence of gated convolutions against its slow reference, and its written-out gradients against finite differences."""

import pytest
import torch

from qaexp.models.ops.gated_convolution import gated_convolution, gated_convolution_loop


@pytest.mark.parametrize("gate", [1, 3])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_states_gates_and_gradients_are_those_of_the_loop(gate: int, order: int) -> None:
    random = torch.Generator().manual_seed(5)
    shapes = [(5, 2, gate + order * 3), (gate, 3), (3,)]
    inputs = [torch.randn(shape, generator=random, dtype=torch.float64, requires_grad=True) for shape in shapes]
    fast, slow = gated_convolution(*inputs), gated_convolution_loop(*inputs)
    for ours, theirs in zip(fast, slow, strict=True):
        torch.testing.assert_close(ours, theirs)
    gradients = (torch.autograd.grad(H.square().sum() + C.square().sum(), inputs) for H, _, C in (fast, slow))
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("gate", [1, 3])
def test_gradients_to_double_precision(gate: int) -> None:
    random = torch.Generator().manual_seed(6)
    shapes = [(4, 2, gate + 2 * 3), (gate, 3), (3,)]
    inputs = [torch.randn(shape, generator=random, dtype=torch.float64, requires_grad=True) for shape in shapes]
    assert torch.autograd.gradcheck(lambda *given: gated_convolution(*given)[::2], inputs)
    start = [torch.randn(shape, generator=random, dtype=torch.float64, requires_grad=True) for shape in [(2, 2, 3), (2, 3)]]
    assert torch.autograd.gradcheck(lambda *given: gated_convolution(*given)[::2], [*inputs, *start])
