"""W&B: online with a key, offline without, never a prompt; a run is finished however it ends."""

import logging
import netrc
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlparse

from pytorch_lightning.loggers import WandbLogger

from qaexp.errors import ConfigError
from qaexp.results.record import RunRecord

log = logging.getLogger(__name__)

MODES = ("auto", "online", "offline", "none")


class RunLogger(WandbLogger):
    """A W&B run that hears whole lines; its steps are epochs, so that those of a resumed run go on where it had stopped."""

    def log_line(self, line: Mapping[str, Any], step: int) -> None:
        """Log everything there is at a step."""
        self.experiment.log(dict(line), step=step, commit=True)

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """What Lightning would log by itself, value by value, is in the lines of `qaexp.training.epochs`."""


@contextmanager
def open_logger(record: RunRecord, folder: Path) -> Iterator[RunLogger | Literal[False]]:
    """The logger that `logger.mode` asks for, False for none. A W&B run is closed at the end, as failed after an exception.

    A run that is resumed goes on under the id that it had.

    Raises:
        ConfigError: an unknown mode.
    """
    mode = record.config["logger"]["mode"]
    if mode not in MODES:
        raise ConfigError(f"logger.mode={mode}: choose one of {', '.join(MODES)}")
    if mode == "none":
        yield False
        return
    os.environ.setdefault("WANDB_SILENT", "true")  # read on import
    import wandb

    if mode == "auto":
        mode = "online" if has_key() else "offline"
    project = record.config["logger"]["project"]
    run = wandb.init(project=project, dir=str(folder), mode=mode, id=_earlier_id(folder), resume="allow", **identity(record))
    run.define_metric("*", step_metric="epoch", step_sync=False)
    where = Path(run.dir).parent
    exit_code = 1
    try:
        yield RunLogger(project=project, save_dir=str(folder), experiment=run)
        exit_code = 0
    finally:
        wandb.finish(exit_code=exit_code)
        log.info("W&B: %s", run.url if mode == "online" else f"offline; upload with `wandb sync {where}`, or all runs with `make sync`")


def identity(record: RunRecord) -> dict[str, Any]:
    """What a run is called and found by: grouped by paper and table, named by row, tagged by model, data set and seed.

    Its configuration is nested as `conf/` is; `fingerprints` of code and data, and what else the record says of them, stand beside it.
    """
    config = record.config
    paper, table, row = (config.get("labels", {}).get(part) for part in ("paper", "table", "row"))
    return {
        "group": f"{paper}/{table}" if paper and table else None,
        "name": f"{row}, seed {record.seed}" if row else config["run_name"],
        "tags": [config["choices"]["model"], config["choices"]["dataset"], f"seed {record.seed}"],
        "config": {
            **config,
            "fingerprints": {"code": record.commit, "data": record.data.get("fingerprint"), "run": record.key},
            "record": {name: getattr(record, name) for name in ("command", "started", "versions", "hardware", "data", "parameters")},
        },
    }


def has_key() -> bool:
    """Whether W&B can log in without asking: a key in the environment or in ~/.netrc."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    host = urlparse(os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai")).hostname or ""
    try:
        return netrc.netrc(os.environ.get("NETRC")).authenticators(host) is not None
    except (OSError, netrc.NetrcParseError):
        return False


def _earlier_id(folder: Path) -> str | None:
    """The id of the W&B run that an interrupted run left in its folder, `run-<time>-<id>`."""
    left = sorted(folder.glob("wandb/*run-*-*"), key=lambda path: path.name.removeprefix("offline-"))
    return left[-1].name.rpartition("-")[2] if left else None
