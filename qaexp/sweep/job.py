"""One job of a sweep, in any process or on any machine: a run in its own folder, and a file with its outcome for the sweep."""

import gc
import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from qaexp.config import CONF, Program, configuration_flags
from qaexp.files import atomic_write_text, read_small_text
from qaexp.logs import silence_libraries
from qaexp.mistakes import check_config, explain
from qaexp.own_choices import drop_replaced_options_of_job
from qaexp.processes import Process, job_for
from qaexp.runs.record import RunRecord
from qaexp.runs.store import Status, place, run_or_reuse

log = logging.getLogger(__name__)

BEGUN = ".begun"
"""The ending of a file that says that a launcher has started a job."""


@dataclass(frozen=True)
class JobResult:
    """The job `ran`, was `kept` from before, was `pruned`, `failed`, or is `busy` in another process; `score` is its best dev metric."""

    cell: int
    status: Status
    options: Sequence[str]
    folder: str = ""
    score: float | None = None
    error: str = ""
    metric: str = ""
    """The name of the score."""
    measure: str = ""
    """What the score is measured on and how. Only scores of the same measure are compared."""

    @classmethod
    def of(cls, cell: int, status: Status, options: Sequence[str], folder: Path, record: RunRecord) -> "JobResult":
        """The result of a run that left a record."""
        metric = record.selection_metric
        name, fingerprint = record.config["dataset"].get("name", "the data"), str(record.data.get("fingerprint"))[:8]
        facts = [f"data {fingerprint}"]
        if record.convention:
            facts.append(f"convention {record.convention}")
        if pairs := record.pairs_of_dev:
            facts.append(f"{pairs:,} pairs")
        measure = f"{metric} of {name} ({', '.join(facts)})"
        return cls(cell, status, options, str(folder), record.best_on_dev, metric=metric, measure=measure)

    def write(self, outcomes: Path) -> None:
        atomic_write_text(outcomes / f"{self.cell}.json", json.dumps(asdict(self)) + "\n")

    @classmethod
    def read(cls, path: Path) -> "JobResult":
        return cls(**json.loads(read_small_text(path)))


@dataclass(frozen=True)
class Job:
    """The function that a Hydra launcher calls in its workers. Every error becomes a result; only Ctrl-C stops the sweep."""

    runs: Path
    outcomes: Path
    usual: DictConfig
    """The configuration without the cell's values, to check them against."""
    program: Program
    pruner: Mapping[str, Any] | None
    sweep: Process

    def __call__(self, cfg: DictConfig) -> None:
        options = list(HydraConfig.get().overrides.task)
        cell = int(HydraConfig.get().sweeper.cell)
        (self.outcomes / f"{cell}{BEGUN}").touch()
        with job_for(self.sweep):
            try:
                result = self._run(cfg, cell, options)
            except Exception as error:
                sentence = explain(error, options, self.program) or repr(error)
                log.exception("%s", sentence)
                result = JobResult(cell, "failed", options, error=sentence)
        _freeze_imports()
        result.write(self.outcomes)

    def _run(self, cfg: DictConfig, cell: int, options: Sequence[str]) -> JobResult:
        drop_replaced_options_of_job(cfg, CONF)
        check_config(cfg, self.usual, options)
        from qaexp.data.module_cache import reuse_data_modules  # imports torch, which a sweep of finished runs does not need
        from qaexp.sweep.pruning import PruneByDev

        watchers = [PruneByDev(self.pruner, place(cfg, self.runs))] if self.pruner else []
        silence_libraries()
        with _quiet_screen(), reuse_data_modules():
            given = [*configuration_flags(), *options]
            outcome = run_or_reuse(cfg, self.runs, given, self.program, watchers, keep_pruned=bool(self.pruner))
        if outcome.record is None:
            return JobResult(cell, outcome.status, options, str(outcome.folder), error=outcome.error)
        return JobResult.of(cell, outcome.status, options, outcome.folder, outcome.record)


def keep_number_of_threads() -> None:
    """Use OMP_NUM_THREADS in joblib's workers, too; without it they share the processor's cores.

    Joblib sets MKL_NUM_THREADS in each worker, unless it is set already, and torch prefers it to OMP_NUM_THREADS. Another number of
    threads sums in another order, which changes the scores of a run.
    """
    if threads := os.environ.get("OMP_NUM_THREADS"):
        os.environ.setdefault("MKL_NUM_THREADS", threads)


@cache
def _freeze_imports() -> None:
    """After a process's first job, exclude the imported modules from garbage collection.

    Joblib's workers collect garbage every second, which takes a third of a tiny job's time with torch and Lightning imported.
    """
    gc.collect()
    gc.freeze()


@contextmanager
def _quiet_screen() -> Iterator[None]:
    """Show the sweep's progress, which another thread logs, and errors, but not the jobs' lines per epoch."""
    screens = [handler for handler in logging.getLogger().handlers if type(handler) is logging.StreamHandler]
    for screen in screens:
        screen.addFilter(_is_of_sweep)
    try:
        yield
    finally:
        for screen in screens:
            screen.removeFilter(_is_of_sweep)


def _is_of_sweep(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.ERROR or record.name == "qaexp.sweep.progress"
