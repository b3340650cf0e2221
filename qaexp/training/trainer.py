"""Lightning's trainer, or what it refuses in one sentence."""

from typing import Any

import pytorch_lightning as pl
import torch
from hydra.utils import instantiate
from omegaconf import DictConfig

from qaexp.errors import ConfigError

WHOLE_EPOCHS = {
    "val_check_interval": (None, 1.0),
    "check_val_every_n_epoch": (1,),
    "limit_val_batches": (None, 1.0),
    "max_steps": (-1,),
    "max_time": (None,),
}
"""Lightning's options that would part epochs from dev's metrics, and the values with which they do not."""


def open_trainer(cfg: DictConfig, **arguments: Any) -> pl.Trainer:
    """The trainer of `conf/trainer/`, with what the run brings, and as yet without a logger: a run that it refuses is not begun in W&B.

    Under `deterministic` torch fills each new tensor with NaN, lest something read what it never wrote. Nothing here does
    (a law of every model), and filling takes up to a tenth of an LSTM's step: it is turned off, for the whole process.

    Raises:
        ConfigError: Lightning does not take an option, or what stands there, or dev would not be ranked once at the end of each epoch.
    """
    if parting := [f"trainer.{name}={cfg[name]}" for name, harmless in WHOLE_EPOCHS.items() if name in cfg and cfg[name] not in harmless]:
        raise ConfigError(
            f"{', '.join(parting)}: a run has whole epochs, each of which ends with the metrics of all of dev; leave it out, and set "
            "trainer.max_epochs, or trainer.limit_train_batches for shorter epochs"
        )
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    try:
        return instantiate(cfg)(logger=False, **arguments)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ConfigError(f"the trainer cannot be built from this configuration: {' '.join(str(error).split())}") from error
