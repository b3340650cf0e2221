"""Opens the loggers of `conf/logger/`: Lightning's and W&B's. W&B logs online if there is a key, offline otherwise. It never
asks for a key.

W&B is closed after an error, too.
"""

import inspect
import logging
import os
import secrets
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import pandas as pd
from filelock import FileLock
from hydra.utils import get_object, instantiate
from jaxtyping import Float
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.loggers import Logger, WandbLogger
from torch import Tensor

from qaexp.data.module import RankingDataModule
from qaexp.errors import ConfigError, missing_library
from qaexp.files import atomic_write_text
from qaexp.runs.record import RunRecord
from qaexp.runs.tasks import task_of
from qaexp.tracking.sync import OPEN_LOCK, has_key

log = logging.getLogger(__name__)

Mode = Literal["online", "offline", "none"]

MODES: dict[str, Mode] = {"online": "online", "offline": "offline", "none": "none"}
WANDB_MODES: dict[str, Mode] = {"online": "online", "run": "online", "offline": "offline", "dryrun": "offline", "disabled": "none"}
"""The values of W&B's own environment variable WANDB_MODE."""

HARDEST_LISTED = 20
QUESTIONS_LISTED, CANDIDATES_LISTED = 100, 10
"""How many questions, and candidates of each, the tables `ranking/<split>` show."""
CLOSED = "closed.txt"
"""A file in a W&B run's folder, written when the run is closed; a killed run has none. It holds the number of epochs logged so far."""


def _without_failing(method: Callable[..., None]) -> Callable[..., None]:
    """The method of a `RunLogger` that warns of an error, once, and does nothing from then on: the run itself is not at fault."""

    @wraps(method)
    def call(self: "RunLogger", *args: Any, **kwargs: Any) -> None:
        if self.has_failed:
            return
        try:
            method(self, *args, **kwargs)
        except Exception as error:
            self.has_failed = True
            log.warning("W&B: %s; the run goes on without it", _reason(error))

    return call


def _reason(error: BaseException) -> str:
    return missing_library(error) or textwrap.shorten(str(error) or repr(error), 200, placeholder=" ...")


class RunLogger(WandbLogger):
    """A W&B run with one line for each epoch. Its steps are epochs, so that a resumed run continues where it stopped."""

    has_failed = False

    @_without_failing
    def log_line(self, line: Mapping[str, Any], step: int) -> None:
        """Log all values of a step at once. If the step is taken, the next free one is used.

        A finished run has logged its tables under the step after its last epoch. If it is resumed, its next epoch finds that step taken.
        """
        self.experiment.log(dict(line), step=max(step, self.experiment.step), commit=True)

    @_without_failing
    def log_images(self, images: Mapping[str, Any], step: int) -> None:
        """Log pictures beside the line of a step that is still to come."""
        self.experiment.log(dict(images), step=max(step, self.experiment.step), commit=False)

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Does nothing: the lines of `qaexp.training.callbacks` hold what Lightning would log value by value."""

    @_without_failing
    def log_summary(self, record: RunRecord) -> None:
        """Put the final metrics, `<split>/<metric>`, and the best epoch into the run's summary."""
        self.experiment.summary.update({**_final_metrics(record), "best_epoch": record.best_epoch})

    @_without_failing
    def log_questions(
        self, folder: Path, record: RunRecord, data: RankingDataModule, scores: Mapping[str, Float[Tensor, "pair *class"]]
    ) -> None:
        """Log three tables for each split, made with the weights of the best epoch, in a last line:

        questions/<split>         the run's CSV of the split: metrics of each question, or the prediction for each pair with a class
        hardest/<split>           the 20 hardest questions
        ranking/<split>           the first 10 candidates of the first 100 questions as they are ranked, with their texts
        """
        tables: dict[str, Any] = {}
        for split in record.metrics:
            [listed] = [path for path in (folder / f"{split}.questions.csv", folder / f"{split}.pairs.csv") if path.exists()]
            tables[f"questions/{split}"] = _table(pd.read_csv(listed, dtype={0: str}, keep_default_na=False))
            tables[f"hardest/{split}"] = _table(task_of(data).hardest(split, scores[split], HARDEST_LISTED))
            tables[f"ranking/{split}"] = _table(task_of(data).ranked(split, scores[split], QUESTIONS_LISTED, CANDIDATES_LISTED))
        self.log_line(tables, step=len(record.history) + 1)

    @_without_failing
    def log_pages(self, folder: Path, record: RunRecord, data: RankingDataModule) -> None:
        """Log the pages that `logger.pages` asks for, such as the report of the run, each as an artifact.

        A page has `write(run, to, data)`, which returns the file and the folders that it wrote.
        """
        import wandb

        record.save(folder)  # pages read the metrics there
        for writer in map(instantiate, record.config["logger"].get("pages", ())):
            with TemporaryDirectory() as place:
                page, *others = writer.write(folder, Path(place) / "report.html", data)
                artifact = wandb.Artifact(f"report-{self.experiment.id}", type="report")
                artifact.add_file(str(page))
                for other in others:
                    artifact.add_dir(str(other), name=other.name)
                self.experiment.log_artifact(artifact)


def _final_metrics(record: RunRecord) -> dict[str, int | float]:
    return {f"{split}/{name}": value for split, table in record.metrics.items() for name, value in table.items()}


def _table(frame: pd.DataFrame) -> Any:
    import wandb  # after `open_wandb` has set the environment

    return wandb.Table(columns=list(frame.columns), data=frame.astype(object).to_numpy().tolist())


def log_line(logger: Logger, line: Mapping[str, Any], step: int) -> None:
    """Log the values of an epoch at once."""
    if isinstance(logger, RunLogger):
        logger.log_line(line, step)
    else:
        logger.log_metrics({name: float(value) for name, value in line.items()}, step)


def log_summary(logger: Logger, record: RunRecord) -> None:
    """Log the final metrics, `<split>/<metric>`, and the best epoch."""
    if isinstance(logger, RunLogger):
        logger.log_summary(record)
    else:
        log_line(logger, {**_final_metrics(record), "best_epoch": record.best_epoch or 0}, step=len(record.history) + 1)


def log_results(
    logger: Logger, record: RunRecord, folder: Path, data: RankingDataModule, scores: Mapping[str, Float[Tensor, "pair *class"]]
) -> None:
    """Log the final metrics and, in W&B, tables of questions and the report."""
    log_summary(logger, record)
    if isinstance(logger, RunLogger):
        logger.log_questions(folder, record, data, scores)
        logger.log_pages(folder, record, data)


@contextmanager
def open_loggers(cfg: DictConfig, record: RunRecord, folder: Path) -> Iterator[list[Logger]]:
    """The loggers of `conf/logger/`: W&B by its mode, and those of Lightning, which write into the run's folder unless they say otherwise.

    Raises:
        ConfigError: a logger's package is missing, or it does not start.
    """
    others = {name: each for name, each in cfg.items() if OmegaConf.is_dict(each) and "_target_" in each}
    started, status = list[Logger](), "failed"
    try:
        started += (_started(str(name), each, folder, record) for name, each in others.items())
        with open_wandb(record, folder) as run:
            yield [*([run] if run else []), *started]
        status = "success"
    finally:
        for logger in started:
            logger.finalize(status)


def _started(name: str, options: Mapping[str, Any], folder: Path, record: RunRecord) -> Logger:
    try:
        takes = inspect.signature(get_object(options["_target_"])).parameters
        logger: Logger = instantiate({"save_dir": str(folder), **options} if "save_dir" in takes else options)
        logger.log_hyperparams({**record.config, "key": record.key})
    except Exception as error:
        if any(isinstance(each, ImportError) for each in (error, error.__cause__)):
            usual = f"logger={name}: a package is missing ({error.__cause__ or error})"
            raise ConfigError(f"{missing_library(ModuleNotFoundError(name=name)) or usual}, or leave it out with logger=none") from error
        raise ConfigError(f"logger={name} does not start: {_reason(error.__cause__ or error)}; `logger=none` runs without it") from error
    return logger


@contextmanager
def open_wandb(record: RunRecord, folder: Path) -> Iterator[RunLogger | Literal[False]]:
    """The W&B run that `logger.mode` asks for, False for none. The W&B run is closed at the end, as failed after an exception.

    A resumed run keeps its id. The mode `auto` is what WANDB_MODE says; without it, online with a key and offline without. Under `auto`, a
    run is kept offline if W&B cannot be reached or refuses the key. Once something was measured, a failure of W&B is only a warning.

    Raises:
        ConfigError: an unknown mode, or W&B does not start.
    """
    asked = record.config["logger"].get("mode", "none")
    mode = _mode(asked)
    if mode == "none":
        yield False
        return
    for name, value in {"WANDB_SILENT": "true", "WANDB_FINISH_TIMEOUT": "600", "WANDB_FINISH_TIMEOUT_RAISES": "true"}.items():
        os.environ.setdefault(name, value)  # read on import; without a timeout, W&B waits forever for a lost network
    import wandb

    run = _begin(record, folder, mode, or_offline=asked == "auto" and mode == "online")
    if run is None:
        yield False
        return
    where = Path(run.dir).parent
    exit_code = 1
    logger = RunLogger(project=record.config["logger"]["project"], save_dir=str(folder), experiment=run)
    with FileLock(where / OPEN_LOCK):
        try:
            for line in _lost_lines(record, folder, run):
                logger.log_line(line, step=int(line["epoch"]))
            yield logger
            exit_code = 0
        finally:
            try:
                wandb.finish(exit_code=exit_code)
                if not logger.has_failed:
                    atomic_write_text(where / CLOSED, f"{len(record.history)}\n")
            except Exception as error:
                log.warning("W&B: %s; its last lines may be missing", _reason(error))
            log.info("W&B: %s", run.url if not run.offline else f"offline; upload with `wandb sync {where}`, or all runs with `qaexp sync`")


def _begin(record: RunRecord, folder: Path, mode: Literal["online", "offline"], or_offline: bool) -> Any:
    """Start the W&B run. If that fails and `or_offline` is true, start it offline. Otherwise return None if an epoch has finished already.

    Raises:
        ConfigError: it does not start, and no epoch has finished.
    """
    import wandb

    described = {
        "project": record.config["logger"]["project"],
        "dir": str(folder),
        "id": _earlier_id(folder) or secrets.token_hex(4),  # not that of WANDB_RUN_ID, which all runs of a shell would share
        "resume": "allow",
        **identity(record),
    }
    try:
        run = wandb.init(mode=mode, **described)
        run.define_metric("*", step_metric="epoch", step_sync=False)
        return run
    except Exception as error:  # such as OSError in a home that is read-only
        if or_offline:
            log.warning("W&B: %s; this run is kept offline", _reason(error))
            wandb.teardown()  # its service would call the id in use
            return _begin(record, folder, "offline", or_offline=False)
        if not record.history:
            raise ConfigError(f"W&B does not start: {_reason(error)}; `logger=none` runs without it") from error
        log.warning("W&B does not start: %s; the run goes on without it", _reason(error))
        return None


def _mode(asked: str) -> Mode:
    if asked != "auto":
        if asked not in MODES:
            raise ConfigError(f"logger.mode={asked}: choose one of auto, {', '.join(MODES)}")
        return MODES[asked]
    if find_spec("wandb") is None:
        log.info("W&B is not installed, and this run goes on without it; pip install 'qaexp[wandb]' for it, or logger=none")
        return "none"
    wandb_mode = os.environ.get("WANDB_MODE") or ("online" if has_key() else "offline")
    if wandb_mode not in WANDB_MODES:
        raise ConfigError(f"WANDB_MODE={wandb_mode}: choose online, offline or disabled, or unset it")
    return WANDB_MODES[wandb_mode]


def identity(record: RunRecord) -> dict[str, Any]:
    """How a run is named and found in W&B: grouped by paper and table, named by row, tagged by model, data set and seed.

    Its configuration is nested as in `conf/`, beside `fingerprints` of code and data and the rest of the record.
    """
    config = record.config
    paper, table, row = (config.get("labels", {}).get(part) for part in ("paper", "table", "row"))
    return {
        "group": f"{paper}/{table}" if paper and table else None,
        "name": f"{row}, seed {record.seed}" if row else config["run_name"],
        "tags": [
            config["choices"]["model"],
            config["choices"]["dataset"],
            f"seed {record.seed}",
            *record.debug.split(),
        ],
        "config": {
            **config,
            "fingerprints": {"code": record.commit, "data": record.data.get("fingerprint"), "run": record.key},
            "record": {name: getattr(record, name) for name in ("command", "started", "versions", "hardware", "data", "parameters")},
        },
    }


def _lost_lines(record: RunRecord, folder: Path, run: Any) -> list[dict[str, int | float]]:
    """The record's lines of epochs that W&B may lack: a process that is killed has not written, or not sent, its last ones.

    What a killed process left of an offline run is set aside, since these lines repeat it.
    """
    if run.resumed:  # W&B says what it has
        logged = int(run.summary.get("epoch", run.step - 1))
    else:
        earlier = [each for each in folder.glob(f"wandb/offline-run-*-{run.id}") if each != Path(run.dir).parent]
        logged = max((int((each / CLOSED).read_text()) for each in earlier if (each / CLOSED).is_file()), default=0)
        for killed in (each for each in earlier if not (each / CLOSED).is_file()):
            for file in killed.glob("run-*.wandb"):
                file.rename(file.with_name(f"{file.name}.killed"))
    return [line for line in record.history if line["epoch"] > logged]


def _earlier_id(folder: Path) -> str | None:
    """The id of the W&B run that an interrupted run left in its folder, `run-<time>-<id>`."""
    left = sorted(folder.glob("wandb/*run-*-*"), key=lambda path: path.name.removeprefix("offline-"))
    return left[-1].name.rpartition("-")[2] if left else None
