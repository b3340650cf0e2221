"""Composing the jobs of a sweep without reading conf/ for each: jobs with the same choices differ in plain values alone."""

from copy import deepcopy
from functools import cache
from types import ModuleType

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins, ScanStats
from hydra.plugins.plugin import Plugin
from omegaconf import DictConfig, OmegaConf, open_dict, read_write
from omegaconf.errors import OmegaConfBaseException

from qaexp.config import CONF

_scan = Plugins._scan_all_plugins


@cache
def _scan_once(modules: tuple[ModuleType, ...]) -> tuple[list[type[Plugin]], ScanStats]:
    """Hydra has a worker run the modules of all plugins anew before each job, which takes some tens of milliseconds; once is enough."""
    return _scan(list(modules))


Plugins._scan_all_plugins = staticmethod(lambda modules: _scan_once(tuple(modules)))

_COMPOSED: dict[tuple[str, str, tuple[str, ...]], DictConfig] = {}
"""Conf folder, name and choices to a configuration, for as long as the process lives."""


class QuickLoader(ConfigLoaderImpl):
    """Gives a job what Hydra's own loader gives it. Each process composes a combination of choices once and then sets values in a copy.

    A value that does not fit, an addition or a deletion goes through Hydra, so that its errors are Hydra's.
    """

    def __init__(self, config_search_path: ConfigSearchPath) -> None:
        super().__init__(config_search_path=config_search_path)

    def load_sweep_config(self, master_config: DictConfig, sweep_overrides: list[str]) -> DictConfig:
        plain = [option for option in sweep_overrides if _is_plain(option)]
        choices = tuple(option for option in sweep_overrides if not _is_plain(option))
        hydra = tuple(map(str, master_config.hydra.overrides.hydra))
        place = (str(CONF), master_config.hydra.job.config_name, hydra + choices)
        if place not in _COMPOSED:
            _COMPOSED[place] = super().load_sweep_config(master_config, list(choices))
        config = deepcopy(_COMPOSED[place])
        try:
            with read_write(config.hydra), open_dict(config.hydra):
                for override in OverridesParser.create().parse_overrides(plain):
                    OmegaConf.update(config, override.key_or_group, override.value(), merge=True)
                config.hydra.overrides.task = [option for option in sweep_overrides if not option.startswith("hydra")]
                config.hydra.overrides.hydra = [*hydra, *(option for option in sweep_overrides if option.startswith("hydra"))]
        except OmegaConfBaseException:
            return super().load_sweep_config(master_config, sweep_overrides)
        OmegaConf.copy_cache(from_config=master_config, to_config=config)
        return config


def _is_plain(option: str) -> bool:
    """Whether an option sets a value where there is one, and chooses no YAML file.

    >>> [_is_plain(option) for option in ("optimizer.lr=1e-3", "optimizer=adam", "+trainer.profiler=simple", "hydra.sweeper.cell=3")]
    [True, False, False, True]
    """
    key = option.partition("=")[0]
    return key[0] not in "+~" and not (CONF / key).is_dir() and (not key.startswith("hydra") or key == "hydra.sweeper.cell")
