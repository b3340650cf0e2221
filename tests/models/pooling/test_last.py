"""The last real state, never one of the padding, and each direction's where it ends; states of length one before they are averaged."""

import torch

from qaexp.models.encoder.recurrent import with_last_state
from qaexp.models.pooling.over_time import LastPooling, MeanPooling


def test_the_last_real_state_is_read() -> None:
    states = torch.arange(12.0).reshape(3, 4, 1)
    mask = torch.tensor([[True, True, True, True], [True, False, False, False], [False] * 4])
    assert LastPooling(1)(with_last_state(states, mask))["vector"].flatten().tolist() == [3.0, 4.0, 0.0]


def test_each_direction_is_read_where_it_ends() -> None:
    states = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]])
    text = with_last_state(states, torch.tensor([[True, True, False]]), backward_dim=1)
    assert LastPooling(2)(text)["vector"].tolist() == [[3.0, 2.0]]


def test_states_can_be_made_of_length_one_before_they_are_averaged() -> None:
    text = {"states": torch.tensor([[[3.0, 4.0], [0.0, 2.0], [9.0, 9.0]]]), "mask": torch.tensor([[True, True, False]])}
    torch.testing.assert_close(MeanPooling(2, normalise=True)(text)["vector"], torch.tensor([[0.3, 0.9]]))
