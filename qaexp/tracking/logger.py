"""W&B: online with a key, offline without one or out of reach, never a prompt; a run is finished however it ends."""

import logging
import os
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from pytorch_lightning.loggers import WandbLogger

from qaexp.errors import ConfigError
from qaexp.runs.record import RunRecord
from qaexp.tracking.wandb_key import has_key

log = logging.getLogger(__name__)

Mode = Literal["online", "offline", "none"]

MODES: dict[str, Mode] = {"online": "online", "offline": "offline", "none": "none"}
MODES_OF_ENVIRONMENT: dict[str, Mode] = {"online": "online", "run": "online", "offline": "offline", "dryrun": "offline", "disabled": "none"}
"""What W&B's own WANDB_MODE can say."""


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

    A run that is resumed goes on under the id that it had. `auto` is what WANDB_MODE says, else online with a key and offline without;
    a run that W&B then does not take, since it cannot be reached or the key is wrong, is kept offline.

    Raises:
        ConfigError: an unknown mode, or W&B does not start.
    """
    asked = record.config["logger"]["mode"]
    mode = _mode(asked)
    if mode == "none":
        yield False
        return
    os.environ.setdefault("WANDB_SILENT", "true")  # read on import
    import wandb

    project = record.config["logger"]["project"]
    described = {"project": project, "dir": str(folder), "id": _earlier_id(folder), "resume": "allow", **identity(record)}
    try:
        run = wandb.init(mode=mode, **described)
    except (wandb.Error, ValueError) as error:
        reason = textwrap.shorten(str(error), 200, placeholder=" ...")
        if asked != "auto" or mode != "online":
            raise ConfigError(f"W&B does not start: {reason}; `logger=none` runs without it") from error
        log.warning("W&B: %s; this run is kept offline", reason)
        run = wandb.init(mode="offline", **described)
    run.define_metric("*", step_metric="epoch", step_sync=False)
    where = Path(run.dir).parent
    exit_code = 1
    try:
        yield RunLogger(project=project, save_dir=str(folder), experiment=run)
        exit_code = 0
    finally:
        wandb.finish(exit_code=exit_code)
        log.info("W&B: %s", run.url if not run.offline else f"offline; upload with `wandb sync {where}`, or all runs with `make sync`")


def _mode(asked: str) -> Mode:
    """`auto` is what WANDB_MODE says; without it, online where there is a key."""
    if asked != "auto":
        if asked not in MODES:
            raise ConfigError(f"logger.mode={asked}: choose one of auto, {', '.join(MODES)}")
        return MODES[asked]
    said = os.environ.get("WANDB_MODE") or ("online" if has_key() else "offline")
    if said not in MODES_OF_ENVIRONMENT:
        raise ConfigError(f"WANDB_MODE={said}: choose online, offline or disabled, or unset it")
    return MODES_OF_ENVIRONMENT[said]


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


def _earlier_id(folder: Path) -> str | None:
    """The id of the W&B run that an interrupted run left in its folder, `run-<time>-<id>`."""
    left = sorted(folder.glob("wandb/*run-*-*"), key=lambda path: path.name.removeprefix("offline-"))
    return left[-1].name.rpartition("-")[2] if left else None
