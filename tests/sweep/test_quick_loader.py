"""Composing jobs quickly gives what Hydra gives."""

from pathlib import Path

import pytest
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import OmegaConf

from qaexp.config import CONF, choices
from qaexp.sweep.quick_loader import QuickLoader
from qaexp.sweep.space import Space


@pytest.mark.parametrize("name", [name for name in choices("experiment") if name.endswith("/grid")])
def test_a_job_is_composed_as_hydra_composes_it(name: str) -> None:
    params = OmegaConf.load(CONF / "experiment" / f"{name}.yaml").hydra.sweeper.params
    space = Space.parse(params, [f"experiment={name}", "trainer.max_epochs=7", "seed=3"])
    with initialize_config_dir(str(CONF), version_base="1.3"):
        theirs = GlobalHydra.instance().config_loader()
        master = theirs.load_configuration("config", [f"experiment={name}"], RunMode.MULTIRUN)
        ours = QuickLoader(theirs.get_search_path())
        cells = list(space.cells())
        for number in (0, len(cells) // 2, -1, 0):
            options = [*space.overrides(cells[number]), f"hydra.sweeper.cell={number % len(cells)}"]
            composed = []
            for loader in (ours, theirs):
                cfg = loader.load_sweep_config(master, list(options))
                cfg.hydra.job.override_dirname = ""
                HydraConfig.instance().set_config(cfg)
                composed.append(OmegaConf.to_container(cfg, resolve=False))
            assert composed[0] == composed[1]
            assert cfg.hydra.sweeper.cell == number % len(cells)


def test_a_value_without_a_place_is_hydras_error(tmp_path: Path) -> None:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        theirs = GlobalHydra.instance().config_loader()
        master = theirs.load_configuration("config", [], RunMode.MULTIRUN)
        with pytest.raises(HydraException, match=r"Could not override 'optimizer\.ler'"):
            QuickLoader(theirs.get_search_path()).load_sweep_config(master, ["optimizer.ler=1"])
