"""Composing conf/ as the command line does, for everything else that needs a configuration."""

from collections.abc import Sequence
from pathlib import Path

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, open_dict

CONF = Path(__file__).resolve().parent.parent / "conf"


def choices(group: str) -> list[str]:
    """The YAML files of a group, by name; those that begin with an underscore are parts of others. A paper's experiments lie in its folder.

    >>> choices("schedule")
    ['constant', 'inverse_epoch']
    """
    if group == "experiment":
        return sorted(str(path.relative_to(CONF / group).with_suffix("")) for path in (CONF / group).glob("*/*.yaml"))
    return sorted(path.stem for path in (CONF / group).glob("*.yaml") if not path.stem.startswith("_"))


def groups() -> list[str]:
    """Every group that has choices.

    >>> {"model", "model/encoder", "experiment", "hydra/launcher"} <= set(groups())
    True
    """
    folders = [str(folder.relative_to(CONF)) for folder in sorted(CONF.rglob("*")) if folder.is_dir()]
    return [folder for folder in folders if not folder.startswith("experiment/") and choices(folder)]


def compose(overrides: Sequence[str] = ()) -> DictConfig:
    """The configuration that `python -m qaexp` composes from these overrides."""
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = hydra_compose("config", overrides=list(overrides), return_hydra_config=True)
    HydraConfig.instance().set_config(cfg)
    with open_dict(cfg):
        del cfg["hydra"]
    return cfg
