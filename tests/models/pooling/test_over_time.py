"""Pooling over time against loops over real words: maximum, mean, and the last state of each direction."""

import torch

from qaexp.models.encoder.recurrent import with_last_state
from qaexp.models.pooling.over_time import LastPooling, MaxPooling, MeanPooling
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


def test_the_last_real_state_is_read() -> None:
    states = torch.arange(12.0).reshape(3, 4, 1)
    mask = torch.tensor([[True, True, True, True], [True, False, False, False], [False] * 4])
    assert LastPooling(1)(with_last_state(states, mask))["vector"].flatten().tolist() == [3.0, 4.0, 0.0]


def test_the_last_state_can_be_made_of_length_one() -> None:
    states, mask = torch.tensor([[[1.0, 0.0], [3.0, 4.0]]]), torch.tensor([[True, True]])
    torch.testing.assert_close(LastPooling(2, normalise=True)(with_last_state(states, mask))["vector"], torch.tensor([[0.6, 0.8]]))


def test_each_direction_is_read_where_it_ends() -> None:
    states = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]])
    text = with_last_state(states, torch.tensor([[True, True, False]]), backward_dim=1)
    assert LastPooling(2)(text)["vector"].tolist() == [[3.0, 2.0]]


def test_states_can_be_made_of_length_one_before_they_are_averaged() -> None:
    text = {"states": torch.tensor([[[3.0, 4.0], [0.0, 2.0], [9.0, 9.0]]]), "mask": torch.tensor([[True, True, False]])}
    torch.testing.assert_close(MeanPooling(2, normalise=True)(text)["vector"], torch.tensor([[0.3, 0.9]]))
