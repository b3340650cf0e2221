"""W&B: online with a key, offline without, never a prompt; a run is finished however it ends."""

import logging
import netrc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from pytorch_lightning.loggers import Logger, WandbLogger

from qaexp.errors import ConfigError

log = logging.getLogger(__name__)

MODES = ("auto", "online", "offline", "none")


@contextmanager
def open_logger(config: dict[str, Any], folder: Path) -> Iterator[Logger | bool]:
    """The logger that `logger.mode` asks for, False for none. A W&B run is closed at the end,
    with a failure's exit code after an exception.

    Raises:
        ConfigError: an unknown mode.
    """
    mode = config["logger"]["mode"]
    if mode not in MODES:
        raise ConfigError(f"logger.mode={mode}: choose one of {', '.join(MODES)}")
    if mode == "none":
        yield False
        return
    os.environ.setdefault("WANDB_SILENT", "true")  # read on import
    import wandb

    if mode == "auto":
        mode = "online" if has_key() else "offline"
    logger = WandbLogger(
        project=config["logger"]["project"],
        name=config["run_name"],
        save_dir=str(folder),
        offline=mode == "offline",
        config=config,
        tags=[config["choices"]["model"], config["choices"]["dataset"], f"seed {config['seed']}"],
    )
    run = logger.experiment
    where = Path(run.dir).parent
    exit_code = 1
    try:
        yield logger
        exit_code = 0
    finally:
        wandb.finish(exit_code=exit_code)
        log.info("W&B: %s", run.url if mode == "online" else f"offline; upload with `wandb sync {where}`")


def has_key() -> bool:
    """Whether W&B can log in without asking: a key in the environment or in ~/.netrc."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    host = urlparse(os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai")).hostname or ""
    try:
        return netrc.netrc(os.environ.get("NETRC")).authenticators(host) is not None
    except (OSError, netrc.NetrcParseError):
        return False
