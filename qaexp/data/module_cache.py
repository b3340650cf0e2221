"""One data module for all runs of a process that read the same data: texts and vectors are loaded once, not a thousand times."""

import json
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from qaexp.data.module import RankingDataModule

KEPT = 4
"""Data modules that are kept; in a grid, those of as many batch sizes."""

_open: OrderedDict[str, RankingDataModule] = OrderedDict()
_sharing = False


@contextmanager
def reuse_data_modules() -> Iterator[None]:
    """Within the block, data modules of equal configurations are the same one. They outlive the block, for the process' next job."""
    global _sharing
    before, _sharing = _sharing, True
    try:
        yield
    finally:
        _sharing = before


def open_data(cfg: DictConfig) -> RankingDataModule:
    """The data module that the configuration describes. Nothing in a module depends on the run that uses it."""
    if not _sharing:
        return instantiate(cfg)
    resolved: Any = OmegaConf.to_container(cfg, resolve=True)
    key = json.dumps(resolved, sort_keys=True, default=str)
    if key not in _open:
        _open[key] = instantiate(cfg)
        while len(_open) > KEPT:
            _open.popitem(last=False)
    _open.move_to_end(key)
    return _open[key]
