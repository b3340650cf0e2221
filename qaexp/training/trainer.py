"""Lightning's trainer, or what it refuses in one sentence."""

from typing import Any

import pytorch_lightning as pl
from hydra.utils import instantiate
from omegaconf import DictConfig

from qaexp.errors import ConfigError


def open_trainer(cfg: DictConfig, **arguments: Any) -> pl.Trainer:
    """The trainer of `conf/trainer/`, with what the run brings.

    Raises:
        ConfigError: Lightning does not take an option, or what stands there.
    """
    try:
        return instantiate(cfg)(**arguments)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ConfigError(f"the trainer cannot be built from this configuration: {' '.join(str(error).split())}") from error
