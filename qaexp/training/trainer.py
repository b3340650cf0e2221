"""Builds Lightning's trainer, and says in one sentence what it refuses."""

from typing import Any

import pytorch_lightning as pl
from hydra.utils import instantiate
from omegaconf import DictConfig

from qaexp.errors import ConfigError


def open_trainer(cfg: DictConfig, **arguments: Any) -> pl.Trainer:
    """Builds the trainer of `conf/trainer/`, without a logger yet: W&B sees no run that Lightning refuses.

    Raises:
        ConfigError: Lightning does not know an option, or does not take its value.
    """
    try:
        return instantiate({name: value for name, value in cfg.items() if name != "matmul"})(logger=False, **arguments)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ConfigError(f"the trainer cannot be built from this configuration: {' '.join(str(error).split())}") from error
