"""Sinusoids against their formula, entry by entry."""

import math

import pytest
import torch

from qaexp.models.encoder.self_attention import sinusoids


@pytest.mark.parametrize("dim", [6, 7])
def test_every_entry_is_the_formula_of_vaswani(dim: int) -> None:
    table = sinusoids(50, dim, like=torch.zeros(0))
    assert table.shape == (50, dim)
    for i in range(50):
        for j in range(dim):
            rate = 10000 ** -((j if j % 2 == 0 else j - 1) / dim)
            expected = math.sin(i * rate) if j % 2 == 0 else math.cos(i * rate)
            assert table[i, j].item() == pytest.approx(expected, abs=1e-5)


def test_positions_take_the_type_of_the_words_but_not_its_precision() -> None:
    """Computed in bfloat16, positions 256 and 257 would be one."""
    table = sinusoids(258, 4, like=torch.zeros(0, dtype=torch.bfloat16))
    assert table.dtype == torch.bfloat16
    torch.testing.assert_close(table, sinusoids(258, 4, like=torch.zeros(0)).bfloat16())
    assert not torch.equal(table[256], table[257])
