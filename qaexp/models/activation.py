"""Non-linearities that a configuration chooses by name."""

from collections.abc import Callable

import torch
from torch import Tensor

from qaexp.errors import ConfigError

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": torch.relu, "tanh": torch.tanh}


def activation_of(option: str, name: str) -> Callable[[Tensor], Tensor]:
    """The function that an option names.

    Raises:
        ConfigError: there is none of that name.

    >>> activation_of("model.encoder.squash", "relu")(torch.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    if name not in ACTIVATIONS:
        raise ConfigError(f"{option}={name}: choose {' or '.join(ACTIVATIONS)}")
    return ACTIVATIONS[name]
