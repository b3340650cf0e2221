"""The convolution against a loop over words and windows."""

import pytest
import torch

from qaexp.models.encoder.cnn import CNN

LENGTHS = [5, 1, 3]


@pytest.mark.parametrize(("window", "before"), [(1, 0), (2, 0), (3, 1), (4, 1)])
def test_each_word_sees_its_window_and_zeros_beyond_the_ends(window: int, before: int) -> None:
    torch.manual_seed(3)
    encoder = CNN(input_dim=4, num_filters=6, window=window)
    mask = torch.arange(5) < torch.tensor(LENGTHS)[:, None]
    states = torch.randn(3, 5, 4).masked_fill(~mask[:, :, None], 7.0)  # what stands in the padding must not be read
    H = encoder({"states": states, "mask": mask})["states"]
    W, b = encoder.convolution.weight, encoder.convolution.bias
    assert b is not None
    for text, length in enumerate(LENGTHS):
        for m in range(length):
            expected = b.clone()
            for k in range(window):
                if 0 <= m - before + k < length:
                    expected = expected + W[:, :, k] @ states[text, m - before + k]
            torch.testing.assert_close(H[text, m], expected, rtol=1e-5, atol=1e-5)


def test_parameters_are_those_of_equation_1() -> None:
    assert sum(p.numel() for p in CNN(input_dim=300, num_filters=400, window=4).parameters()) == 400 * 300 * 4 + 400
