"""Padding's only home against loops over real tokens; a text of padding alone stays finite, and so do its gradients."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from qaexp.data.batch import token_mask
from qaexp.models.masking import NUMBERS_PER_SLICE, masked_amax, masked_max, masked_mean, masked_softmax, zero_padding

LENGTHS = [3, 1, 5, 0]
MASK = torch.arange(5) < torch.tensor(LENGTHS)[:, None]
TYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]


def states(dtype: torch.dtype = torch.float32) -> Tensor:
    """All negative, so that a zero of padding would win a maximum; padding holds large numbers."""
    drawn = -1 - torch.rand(4, 5, 3, generator=torch.Generator().manual_seed(0))
    return drawn.masked_fill(~MASK[:, :, None], 1000.0).to(dtype)


def test_real_tokens_are_those_that_are_not_padding() -> None:
    assert token_mask(torch.tensor([[3, 1, 0], [0, 0, 0]])).tolist() == [[True, True, False], [False, False, False]]


@pytest.mark.parametrize("dtype", TYPES)
def test_the_maximum_is_over_real_tokens_and_zero_without_any(dtype: torch.dtype) -> None:
    values = states(dtype)
    result = masked_max(values, MASK)
    assert result.dtype == dtype
    for row, length in enumerate(LENGTHS):
        for k in range(3):
            assert result[row, k].item() == max([values[row, t, k].item() for t in range(length)], default=0.0)


def test_highest_is_the_same_maximum_along_any_axis() -> None:
    values = states()
    assert torch.equal(masked_amax(values, MASK.unsqueeze(2), dim=1), masked_max(values, MASK))
    assert torch.equal(masked_amax(values.transpose(1, 2), MASK.unsqueeze(1), dim=2), masked_max(values, MASK))


def test_zero_padded_states_are_zero_on_padding_and_unchanged_elsewhere() -> None:
    values = states()
    assert zero_padding(values, MASK)[~MASK].eq(0).all()
    assert torch.equal(zero_padding(values, MASK)[MASK], values[MASK])


@pytest.mark.parametrize("dtype", TYPES)
def test_the_mean_is_over_real_tokens_and_zero_without_any(dtype: torch.dtype) -> None:
    values = states(dtype)
    result = masked_mean(values, MASK)
    assert result.dtype == dtype
    for row, length in enumerate(LENGTHS):
        for k in range(3):
            expected = sum(values[row, t, k].item() for t in range(length)) / max(length, 1)
            assert result[row, k].item() == pytest.approx(expected, rel=2 * torch.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", TYPES)
def test_the_softmax_is_over_real_tokens_and_padding_gets_nothing(dtype: torch.dtype) -> None:
    scores = states(dtype)[:, :, 0]
    result = masked_softmax(scores, MASK)
    assert result.dtype == dtype
    for row, length in enumerate(LENGTHS[:3]):
        exponentials = [math.exp(scores[row, t].item()) for t in range(length)]
        expected = [e / sum(exponentials) for e in exponentials] + [0.0] * (5 - length)
        assert result[row].tolist() == pytest.approx(expected, rel=4 * torch.finfo(dtype).eps)
    assert torch.isfinite(result[3]).all()


def test_the_softmax_takes_one_mask_for_many_rows() -> None:
    scores = torch.randn(4, 2, 5, generator=torch.Generator().manual_seed(1))
    result = masked_softmax(scores, MASK[:, None])
    for row in range(2):
        torch.testing.assert_close(result[:3, row], masked_softmax(scores[:3, row], MASK[:3]))


@pytest.mark.parametrize("pooling", [masked_max, masked_mean, lambda x, mask: masked_softmax(x[:, :, 0], mask) * x[:, :, 0]])
def test_gradients_are_finite_everywhere_and_zero_on_padding(pooling: Callable[[Tensor, Tensor], Tensor]) -> None:
    values = states().requires_grad_()
    pooling(values, MASK)[:3].square().sum().backward()
    assert values.grad is not None
    assert torch.isfinite(values.grad).all()
    assert not values.grad[~MASK].any()
    assert values.grad[MASK].any()


@pytest.mark.parametrize("pooling", [masked_max, masked_mean, lambda x, mask: masked_softmax(x[:, :, 0], mask)])
def test_a_text_of_padding_alone_has_finite_gradients(pooling: Callable[[Tensor, Tensor], Tensor]) -> None:
    values = states().requires_grad_()
    pooling(values, MASK)[3].square().sum().backward()
    assert values.grad is not None
    assert torch.isfinite(values.grad).all()
    assert not values.grad[:3].any()


def test_a_text_that_fills_more_than_a_slice_has_its_maximum() -> None:
    values = torch.tensor([1.0, 3.0, 2.0])[None, :, None].expand(1, 3, NUMBERS_PER_SLICE["cpu"])
    assert masked_max(values, torch.tensor([[True, False, True]])).eq(2).all()
