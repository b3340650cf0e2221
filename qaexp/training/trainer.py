"""Lightning's trainer, or what it refuses in one sentence."""

from typing import Any

import pytorch_lightning as pl
import torch
from hydra.utils import instantiate
from omegaconf import DictConfig

from qaexp.errors import ConfigError


def open_trainer(cfg: DictConfig, **arguments: Any) -> pl.Trainer:
    """The trainer of `conf/trainer/`, with what the run brings, and as yet without a logger: a run that it refuses is not begun in W&B.

    Under `deterministic` torch fills each new tensor with NaN, lest something read what it never wrote. Nothing here does
    (a law of every model), and filling takes up to a tenth of an LSTM's step: it is turned off, for the whole process.

    Raises:
        ConfigError: Lightning does not take an option, or what stands there.
    """
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    try:
        return instantiate(cfg)(logger=False, **arguments)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ConfigError(f"the trainer cannot be built from this configuration: {' '.join(str(error).split())}") from error
