"""Lightning's trainer, and learning rates that change with the epoch."""

from collections.abc import Sequence
from typing import Any

import pytorch_lightning as pl
from hydra.utils import instantiate
from omegaconf import DictConfig
from pytorch_lightning.callbacks import Callback, ProgressBar
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from qaexp.errors import ConfigError


def open_trainer(cfg: DictConfig, callbacks: Sequence[Callback], plugins: Sequence[Any], enable_progress_bar: bool) -> pl.Trainer:
    """Builds the trainer of `conf/trainer/`, without a logger yet, so that a run that Lightning refuses does not reach W&B.

    The configuration's own `callbacks` and `plugins` are used beside the run's.

    Raises:
        ConfigError: Lightning does not know an option, or does not take its value.
    """
    try:
        build = instantiate({name: value for name, value in cfg.items() if name != "matmul"})
        if build.keywords.get("enable_progress_bar") is False:
            callbacks = [each for each in callbacks if not isinstance(each, ProgressBar)]
            enable_progress_bar = False
        return build(
            logger=False,
            callbacks=[*callbacks, *(build.keywords.get("callbacks") or ())],
            plugins=[*plugins, *(build.keywords.get("plugins") or ())],
            enable_progress_bar=enable_progress_bar,
        )
    except (TypeError, ValueError, RuntimeError) as error:
        raise ConfigError(f"the trainer cannot be built from this configuration: {' '.join(str(error).split())}") from error


class InverseEpoch(LambdaLR):
    """λ_t = λ / t, with t the epoch counted from 1 (dos Santos et al. 2016, §5.3)."""

    def __init__(self, optimizer: Optimizer) -> None:
        super().__init__(optimizer, _inverse)


def _inverse(epoch: int) -> float:
    return 1 / (epoch + 1)
