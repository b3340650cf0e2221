"""Lightning's trainer, and schedules of the learning rate."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from hydra.utils import instantiate
from omegaconf import DictConfig
from pytorch_lightning.callbacks import Callback
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from qaexp.data.module import RankingDataModule
from qaexp.errors import ConfigError
from qaexp.limits import NonNegativeInt, Rate


def with_batch_limits(cfg: Mapping[str, Any]) -> dict[str, Any]:
    """The trainer's options, with `fast_dev_run` and `overfit_batches` replaced by the limits that they stand for.

    Lightning's own `fast_dev_run` would switch off the checkpoints, and its `overfit_batches` would draw other negatives in each epoch.

    >>> with_batch_limits({"max_epochs": 9, "fast_dev_run": True})
    {'max_epochs': 1, 'limit_train_batches': 1, 'limit_val_batches': 1, 'limit_test_batches': 1}
    >>> with_batch_limits({"overfit_batches": 2})
    {'limit_train_batches': 2, 'limit_val_batches': 2, 'limit_test_batches': 2, 'reload_dataloaders_every_n_epochs': 0}
    """
    options = dict(cfg)
    tried, overfitted = int(options.pop("fast_dev_run", None) or 0), options.pop("overfit_batches", None)
    if tried:
        options |= {"max_epochs": 1, **dict.fromkeys(LIMITS, tried)}
    if overfitted:
        options |= {**dict.fromkeys(LIMITS, overfitted), "reload_dataloaders_every_n_epochs": 0}
    return options


def limited_data(data: RankingDataModule, cfg: Mapping[str, Any]) -> RankingDataModule:
    """The data with only the first questions of dev and test, as `limit_val_batches` and `limit_test_batches` say."""
    options = with_batch_limits(cfg)
    dev, test = options.get("limit_val_batches"), options.get("limit_test_batches")
    if dev is None and test is None:
        return data
    return data.limited({split: dev if split == "dev" else test for split in data.ranked_splits})


LIMITS = ("limit_train_batches", "limit_val_batches", "limit_test_batches")


@contextmanager
def interruptible() -> Iterator[None]:
    """Raises KeyboardInterrupt for an error that Lightning raises while it cleans up after Ctrl-C, as it may between two epochs."""
    try:
        yield
    except Exception as error:
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        raise


def open_trainer(
    cfg: DictConfig, folder: Path, callbacks: Sequence[Callback], plugins: Sequence[Any], enable_progress_bar: bool
) -> pl.Trainer:
    """Builds the trainer of `conf/trainer/`, without a logger yet, so that a run that Lightning refuses does not reach W&B.

    The configuration's own `callbacks` and `plugins` are used beside the run's. They write into the run's folder unless they say otherwise.

    Raises:
        ConfigError: Lightning does not know an option, or does not take its value.
    """
    try:
        of_data = ("matmul", "limit_val_batches", "limit_test_batches")  # these are not for Lightning: see `limited_data`
        build = instantiate({name: value for name, value in with_batch_limits(cfg).items() if name not in of_data})  # type: ignore[arg-type]
        trainer: pl.Trainer = build(
            logger=False,
            default_root_dir=build.keywords.get("default_root_dir") or folder,
            callbacks=[*callbacks, *(build.keywords.get("callbacks") or ())],
            plugins=[*plugins, *(build.keywords.get("plugins") or ())],
            enable_progress_bar=enable_progress_bar,
        )
        if cfg.get("precision") == "16-mixed" and trainer.precision != "16-mixed":  # Lightning takes bfloat16 instead, with a warning alone
            raise ConfigError("trainer.precision=16-mixed needs a GPU; choose bf16-mixed, or leave it out")
        return trainer
    except (TypeError, ValueError, RuntimeError, ModuleNotFoundError) as error:  # the last one: a library of an accelerator
        raise ConfigError(f"the trainer cannot be built from this configuration: {' '.join(str(error).split())}") from error


class WarmUp(LambdaLR):
    """Linear warm-up during the first `warmup` (a fraction) of all steps, then a decay to 0. The rate changes at every step."""

    def __init__(self, optimizer: Optimizer, num_steps: NonNegativeInt, warmup: Rate) -> None:
        rising = warmup * num_steps

        def factor(step: int) -> float:
            return step / rising if step < rising else self.falling(min(1.0, (step - rising) / max(1.0, num_steps - rising)))

        super().__init__(optimizer, factor)

    def falling(self, share: float) -> float:
        """The factor of the learning rate after this share, in [0, 1], of the steps that follow the warm-up."""
        raise NotImplementedError


class LinearWarmUp(WarmUp):
    """Linear decay (Devlin et al. 2019)."""

    def falling(self, share: float) -> float:
        return 1 - share


class CosineWarmUp(WarmUp):
    """Cosine decay (Loshchilov & Hutter 2017)."""

    def falling(self, share: float) -> float:
        return (1 + math.cos(math.pi * share)) / 2


class InverseEpoch(LambdaLR):
    """λ_t = λ / t, with t the epoch counted from 1 (dos Santos et al. 2016, §5.3)."""

    def __init__(self, optimizer: Optimizer) -> None:
        super().__init__(optimizer, _inverse)


def _inverse(epoch: int) -> float:
    return 1 / (epoch + 1)
