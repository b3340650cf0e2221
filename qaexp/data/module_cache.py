"""A cache of data modules: the runs of a process that read the same data share one, so texts and vectors are loaded once."""

import json
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from qaexp.data.module import RankingDataModule

MAX_MODULES = 4
"""Number of data modules that stay in the cache; in a grid, one for each batch size."""

_open: OrderedDict[str, RankingDataModule] = OrderedDict()
_sharing = False


@contextmanager
def reuse_data_modules() -> Iterator[None]:
    """Within the block, equal configurations get the same data module. Modules stay in the cache for the next job of the process."""
    global _sharing
    before, _sharing = _sharing, True
    try:
        yield
    finally:
        _sharing = before


def open_data(cfg: DictConfig) -> RankingDataModule:
    """The data module of a configuration. It does not depend on the run that uses it, so runs can share it."""
    if not _sharing:
        return instantiate(cfg)
    resolved: Any = OmegaConf.to_container(cfg, resolve=True)
    key = json.dumps(resolved, sort_keys=True, default=str)
    if key not in _open:
        _open[key] = instantiate(cfg)
        while len(_open) > MAX_MODULES:
            _open.popitem(last=False)
    _open.move_to_end(key)
    return _open[key]
