"""The Hydra sweeper of `qaexp -m`: gives the cells of a strategy to a launcher, and counts the outcomes.

Jobs that left no result, since their worker or launcher died, are launched again, and continue after their last whole epoch.
"""

import hashlib
import logging
import os
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf, open_dict

from qaexp.config import Program, is_choice, join_options, program_of
from qaexp.data.missing_files import require_files
from qaexp.ddp import require_one_process
from qaexp.errors import ConfigError, SweepError, first_line, plural
from qaexp.files import RUNS_REMEDY, output_errors, require_writable
from qaexp.limits import violations
from qaexp.mistakes import check_config, check_value
from qaexp.processes import Process, begin_worker
from qaexp.runs.identity import measured_options
from qaexp.runs.other_runs import OTHER_RUNS, require_other_runs
from qaexp.runs.record import RunRecord
from qaexp.sweep.best import BEST_REMEDY, best_of_each_measure, write_best
from qaexp.sweep.job import BEGUN, Job, JobResult, keep_number_of_threads
from qaexp.sweep.progress import Watch
from qaexp.sweep.strategies import Cell, Space

log = logging.getLogger(__name__)

MAX_FRUITLESS = 3
"""After this many launches in a row without a result, the first remaining job counts as failed. If no job ever began, the sweep fails."""

OUTCOMES, LOCK = ".outcomes-", ".lock"
"""The beginning of the name of a folder with results of jobs, and the lock in it that its sweep holds."""

SECONDS_UNTIL_LOCKED = 60.0
"""A folder for results that is younger than this may be of a sweep that has not locked it yet."""

WAITS = (1, 2, 5, 10, 30)
"""Seconds before jobs that are busy in another process are launched again; the last one repeats."""


class Sweep(Sweeper):
    """`strategy` chooses cells of the space of `params` and the command line. Selection sees dev metrics only."""

    def __init__(self, strategy: Any, params: Any, pruner: Any, best: str | None, cell: int | None) -> None:
        self._strategy, self._params, self._best = strategy, params or {}, best

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self._context, self._config = hydra_context, config

    def sweep(self, arguments: list[str]) -> None:
        """Run the jobs that are missing.

        Raises:
            ConfigError, HydraException: an option that no job could have.
            SweepError: some jobs failed, after all others ran.
        """
        started = time.monotonic()
        for chatty in ("hydra", "hydra_plugins"):
            logging.getLogger(chatty).setLevel(logging.WARNING)
        strategy: Any = OmegaConf.to_container(self._config.hydra.sweeper.strategy, resolve=True)
        for sentence in violations(strategy, "hydra.sweeper.strategy."):
            raise ConfigError(sentence)
        space = Space.parse(self._params, arguments)
        total = self._strategy.count(space)
        pruner: Any = self._config.hydra.sweeper.pruner  # each job builds its own
        pruner = OmegaConf.to_container(pruner) if isinstance(pruner, DictConfig) else pruner
        if pruner is not None and not isinstance(pruner, dict):
            raise ConfigError(f"hydra.sweeper.pruner={pruner}: must be null or a pruner of Optuna, as in hydra/sweeper=tpe")
        usual = self._check(space)
        folder = Path(self._config.hydra.sweep.dir) / sweep_name(arguments)
        if self._best:
            require_writable(Path(self._best), BEST_REMEDY)
        with output_errors(folder, RUNS_REMEDY):
            folder.mkdir(parents=True, exist_ok=True)
            _remove_dead_outcomes(folder)
            outcomes = Path(tempfile.mkdtemp(prefix=OUTCOMES, dir=folder)).absolute()
        program = self._program
        keep_number_of_threads()
        launcher = self._launcher(folder, Job(folder.absolute(), outcomes, usual, program, pruner, Process.of(os.getpid())))
        log.info("%s in %s; finished ones are kept", plural(total, "job"), folder)
        try:
            with FileLock(outcomes / LOCK), Watch(outcomes, total, space.axes) as watch:
                self._run_all(launcher, space, watch, outcomes)
        finally:
            shutil.rmtree(outcomes, ignore_errors=True)
        self._conclude(watch, folder, time.monotonic() - started)

    @property
    def _program(self) -> Program:
        return program_of(self._config)

    def _run_all(self, launcher: Launcher, space: Space, watch: Watch, outcomes: Path) -> None:
        batches = self._strategy.batches(space)
        batch, first = next(batches, None), 0
        while batch is not None:
            self._run_batch(launcher, space, dict(enumerate(batch, first)), watch, outcomes)
            results = [watch.results[number] for number in range(first, first + len(batch))]
            first += len(batch)
            alike = len(watch.best) < 2  # a search cannot learn from scores that are measured in different ways
            try:
                batch = batches.send([result.score if alike else None for result in results])
            except StopIteration:
                batch = None

    def _run_batch(self, launcher: Launcher, space: Space, cells: dict[int, Cell], watch: Watch, outcomes: Path) -> None:
        """Launch the cells until each has a result."""
        fruitless, waits = 0, iter(WAITS)
        while missing := [number for number in cells if number not in watch.results]:
            jobs = [[*space.overrides(cells[number]), f"hydra.sweeper.cell={number}"] for number in missing]
            fault: Exception | None = None
            try:
                launcher.launch(jobs, initial_job_idx=missing[0])
            except Exception as error:  # workers died, or a launcher could not start them
                fault = error
            watch.read_results()
            left = [number for number in missing if number not in watch.results]
            busy = _busy(outcomes, left)
            fruitless = fruitless + 1 if len(left) == len(missing) and not busy else 0  # busy jobs do not count: another process runs them
            if left and busy:
                time.sleep(next(waits, WAITS[-1]))
            elif left and fault is not None:
                log.warning("%s: launched again: %s", first_line(fault), plural(len(left), "job"))
            if fruitless >= MAX_FRUITLESS:
                sentence = first_line(fault) if fault else "its worker left no result"
                if fault is not None and not list(outcomes.glob(f"*{BEGUN}")):
                    raise SweepError(f"the launcher starts no job ({sentence}); correct hydra.launcher, or choose another hydra/launcher")
                failed = JobResult(left[0], "failed", space.overrides(cells[left[0]]), error=sentence)
                failed.write(outcomes)
                watch.read_results()
                fruitless = 0

    def _conclude(self, watch: Watch, folder: Path, seconds: float) -> None:
        """Write the best cell, and log how many jobs ran, were skipped and failed."""
        bests = best_of_each_measure(list(watch.results.values()))
        paths = [folder / "best.yaml", *([Path(self._best)] if self._best else [])]
        if len(bests) > 1:
            paths[0].unlink(missing_ok=True)
            each = "\n".join(f"  {measure} {best.score:.4f}: {join_options(best.options)}" for measure, best in bests.items())
            log.warning(
                "the jobs are measured in %d ways, which are not compared; no best.yaml is written. The best of each:\n%s", len(bests), each
            )
        for cell in bests.values() if len(bests) == 1 else ():
            write_best(paths, cell, RunRecord.load(Path(cell.runs[0].folder)), len(watch.results), self._program)
            over = f" (mean of {len(cell.runs)} seeds)" if len(cell.runs) > 1 else ""
            over += f" ({cell.failed} more failed)" if cell.failed else ""
            log.info("best: %s%s\n  %s", join_options(cell.options), over, ", ".join(str(path) for path in paths))
        count = Counter(result.status for result in watch.results.values())
        pruned = f" ({count['pruned']} of them pruned)" if count["pruned"] else ""
        line = (
            f"{plural(len(watch.results), 'job')}: {count['ran'] + count['pruned']} ran{pruned}, {count['kept']} skipped, "
            f"{count['failed']} failed, in {seconds:.0f} s"
        )
        if count["failed"]:
            raise SweepError(f"{line}; the same command runs the failed ones again")
        log.info("%s", line)

    def _check(self, space: Space) -> DictConfig:
        """Check every choice and value of the axes, and the files of every data set, before anything runs.

        Returns: the configuration with the first choices and no other override.
        """
        if any(key == "experiment" for key in space.axes):
            raise ConfigError("experiment= takes one value in a sweep; run one command for each experiment")
        values = {key: getattr(axis, "choices", None) or (axis.low, axis.high) for key, axis in space.axes.items()}  # type: ignore[attr-defined]
        first: Cell = {key: choices[0] for key, choices in values.items()}
        composed = self._compose(space.overrides(first))
        usual = self._compose([option for option in space.overrides(first) if is_choice(option)])
        check_config(composed, usual, space.overrides(first))
        require_other_runs(composed)
        require_files(composed)
        parser = OverridesParser.create()
        for key, value in ((key, value) for key, choices in values.items() for value in choices[1:]):
            other = {**first, key: value}
            if is_choice(key):
                require_files(self._compose(space.overrides(other)))
            elif key in OTHER_RUNS:
                require_other_runs(self._compose(space.overrides(other)))
            else:
                check_value(key, str(value), parser.parse_override(f"{key}={value}").value(), usual)
        return usual

    def _compose(self, overrides: list[str]) -> DictConfig:
        """A job's configuration, without Hydra's own.

        Raises:
            ConfigError: it asks for several processes.
        """
        config = self._context.config_loader.load_sweep_config(self._config, overrides)
        HydraConfig.instance().set_config(config)  # for interpolations such as ${hydra:runtime.choices.model}
        with open_dict(config):
            del config["hydra"]
            # Hydra would resolve the choices by its latest composition
            config.choices = OmegaConf.to_container(config.choices, resolve=True)
        require_one_process(config.trainer, "a run of a sweep")
        return config

    def _launcher(self, folder: Path, job: Job) -> Launcher:
        with open_dict(self._config):
            self._config.hydra.sweep.dir = str(folder)
        launcher = Plugins.instance().instantiate_launcher(hydra_context=self._context, task_function=job, config=self._config)
        if isinstance(options := getattr(launcher, "joblib", None), dict):  # its workers may wait for a first job when the sweep is killed
            options |= {"initializer": begin_worker, "initargs": (job.sweep,)}
        return launcher


def _remove_dead_outcomes(folder: Path) -> None:
    """Remove what sweeps that were killed left of their jobs' results."""
    for left in folder.glob(f"{OUTCOMES}*"):
        with suppress(Timeout, OSError):
            if time.time() - left.stat().st_mtime > SECONDS_UNTIL_LOCKED:
                with FileLock(left / LOCK, blocking=False):
                    shutil.rmtree(left)


def _busy(outcomes: Path, numbers: Sequence[int]) -> bool:
    """Whether any of these jobs is busy in another process; removes their result files."""
    found = False
    for number in numbers:
        path = outcomes / f"{number}.json"
        found |= path.exists()
        path.unlink(missing_ok=True)
    return found


def sweep_name(arguments: Sequence[str]) -> str:
    """The name of a sweep's folder, the same for the same options in any order.

    It has only characters that neither a shell nor Hydra (`init_from=FOLDER/RUN`) needs quotes for.

    >>> sweep_name(["logger=none", "seed=1,2", "experiment=ctrn/grid"])
    'ctrn.grid_seed-1+2'
    """
    meant = sorted(measured_options(arguments))
    names = [option.removeprefix("experiment=") for option in sorted(meant, key=lambda option: not option.startswith("experiment="))]
    exact = "_".join(names).replace(" ", "")
    name = re.sub(r"[^\w.+-]", "-", exact.replace("/", ".").replace(",", "+"), flags=re.ASCII)
    return name if 0 < len(name) <= 100 else f"{name[:80]}-{hashlib.sha256(exact.encode()).hexdigest()[:8]}"


def register() -> None:
    """Register the sweeper and launcher with Hydra, which accepts plugins only under `hydra_plugins`."""
    from qaexp.sweep.ray_launcher import RayLauncher

    for plugin in (Sweep, RayLauncher):
        Plugins.instance().class_name_to_class[f"hydra_plugins.qaexp.{plugin.__name__}"] = plugin
