"""Composing conf/ as the command line does, for everything else that needs a configuration."""

from collections.abc import Sequence
from pathlib import Path

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, open_dict

CONF = Path(__file__).resolve().parent.parent / "conf"


def choices(group: str) -> list[str]:
    """The YAML files of a group, by name; those that begin with an underscore are parts of others.

    >>> choices("schedule")
    ['constant', 'inverse_epoch']
    """
    return sorted(path.stem for path in (CONF / group).glob("*.yaml") if not path.stem.startswith("_"))


def compose(overrides: Sequence[str] = ()) -> DictConfig:
    """The configuration that `python -m qaexp` composes from these overrides."""
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = hydra_compose("config", overrides=list(overrides), return_hydra_config=True)
    HydraConfig.instance().set_config(cfg)
    with open_dict(cfg):
        del cfg["hydra"]
    return cfg
