"""A Hydra launcher that runs jobs on a Ray cluster, one task per job."""

import logging
from collections.abc import Sequence
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, run_job, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf, open_dict

log = logging.getLogger(__name__)


class RayLauncher(Launcher):
    """`init` are the arguments of `ray.init`, `remote` those of `ray.remote`. The nodes must share the folders."""

    def __init__(self, init: DictConfig, remote: DictConfig) -> None:
        self._init: Any = OmegaConf.to_container(init, resolve=True)
        self._remote: Any = OmegaConf.to_container(remote, resolve=True)

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self._context, self._task, self._config = hydra_context, task_function, config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        import ray  # takes a second
        from ray.exceptions import RayError

        setup_globals()
        if not ray.is_initialized():
            ray.init(**self._init)
        shared = ray.put((self._context, self._config, self._task, Singleton.get_state()))
        execute = ray.remote(**self._remote)(_execute)
        tasks = [execute.remote(shared, number, list(job)) for number, job in enumerate(job_overrides, initial_job_idx)]
        results = []
        fault: Exception | None = None
        for task in tasks:
            try:
                results.append(ray.get(task))
            except RayError as error:  # the other tasks continue
                fault = error
        if fault is not None:
            raise fault
        return results


def _execute(shared: tuple[HydraContext, DictConfig, TaskFunction, Any], number: int, overrides: list[str]) -> JobReturn:
    """Runs in a worker, and does the same as Hydra's own launchers."""
    context, config, task, state = shared
    setup_globals()
    Singleton.set_state(state)
    sweep_config = context.config_loader.load_sweep_config(config, overrides)
    with open_dict(sweep_config):
        sweep_config.hydra.job.id = f"{sweep_config.hydra.job.name}_{number}"
        sweep_config.hydra.job.num = number
    HydraConfig.instance().set_config(sweep_config)
    return run_job(
        hydra_context=context,
        config=sweep_config,
        task_function=task,
        job_dir_key="hydra.sweep.dir",
        job_subdir_key="hydra.sweep.subdir",
    )
