"""Convolution and pooling by turns against a loop over units, written from Hu et al. 2014, §2."""

import pytest
import torch
from torch import Tensor

from qaexp.models.encoder.cnn import StackedCNN

LENGTHS = [7, 1, 4]


def paper(encoder: StackedCNN, words: Tensor, window: int) -> Tensor:
    """The last units of one text without padding."""
    units = list(words)
    for convolution in encoder.convolutions:
        assert isinstance(convolution, torch.nn.Conv1d)
        assert convolution.bias is not None
        convolved = []
        for i in range(len(units)):
            z = convolution.bias.clone()
            for k in range(window):
                if i + k < len(units):
                    z = z + convolution.weight[:, :, k] @ units[i + k]
            convolved.append(torch.clamp(z, min=0))
        units = [torch.stack(convolved[i : i + 2]).amax(dim=0) for i in range(0, len(convolved), 2)]
    return torch.stack(units)


@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize("num_filters", [[5], [5, 6], [5, 6, 3]])
def test_units_are_the_papers_one_by_one(num_filters: list[int], window: int) -> None:
    torch.manual_seed(2)
    encoder = StackedCNN(4, num_filters, window)
    mask = torch.arange(9) < torch.tensor(LENGTHS)[:, None]
    states = torch.randn(3, 9, 4).masked_fill(~mask[:, :, None], 7.0)  # what stands in the padding must not be read
    text = encoder({"states": states, "mask": mask})
    for i, length in enumerate(LENGTHS):
        expected = paper(encoder, states[i, :length], window)
        assert text["mask"][i].sum() == len(expected)
        torch.testing.assert_close(text["states"][i, : len(expected)], expected, rtol=1e-5, atol=1e-5)
