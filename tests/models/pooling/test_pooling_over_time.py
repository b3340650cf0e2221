"""Maximum and mean over time against loops over real words."""

import torch

from qaexp.models.pooling.over_time import MaxPooling, MeanPooling
from qaexp.models.types import Text

LENGTHS = [4, 1, 6]


def text() -> Text:
    mask = torch.arange(6) < torch.tensor(LENGTHS)[:, None]
    states = torch.randn(3, 6, 5, generator=torch.Generator().manual_seed(0)) - 3  # maxima below the zeros of padding
    return {"states": states.masked_fill(~mask[:, :, None], 50.0), "mask": mask}


def test_the_maximum_and_the_mean_are_over_real_words_alone() -> None:
    states = text()["states"].tolist()
    largest = [[max(states[i][t][k] for t in range(length)) for k in range(5)] for i, length in enumerate(LENGTHS)]
    mean = [[sum(states[i][t][k] for t in range(length)) / length for k in range(5)] for i, length in enumerate(LENGTHS)]
    torch.testing.assert_close(MaxPooling(5, squash=False)(text())["vector"], torch.tensor(largest), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(MaxPooling(5, squash=True)(text())["vector"], torch.tensor(largest).tanh(), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(MeanPooling(5, normalise=False)(text())["vector"], torch.tensor(mean), rtol=1e-5, atol=1e-5)


def test_the_right_neighbour_is_built_as_wide_as_the_states() -> None:
    assert MaxPooling(5, squash=False).output_dim == MeanPooling(5, normalise=False).output_dim == 5
