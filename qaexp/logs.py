"""Fewer log lines: silences verbose libraries, and throttles the progress of long runs."""

import logging
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


def silence_libraries() -> None:
    """Hide what Lightning, gensim and W&B log below ERROR, and their warnings. The table of a `trainer.profiler` is shown."""
    rank_zero = "pytorch_lightning.utilities.rank_zero"  # by name, as importing Lightning later resets its parent's level
    for name in ("pytorch_lightning", rank_zero, "lightning_fabric", "lightning", "gensim", "wandb"):
        logging.getLogger(name).setLevel(logging.ERROR)
    logging.getLogger("pytorch_lightning.profilers").setLevel(logging.INFO)
    warnings.filterwarnings("ignore", module="pytorch_lightning|torch|wandb|lightning_fabric")


@contextmanager
def throttled_log(seconds: float, prefix: str, logger: str) -> Iterator[None]:
    """Let through one line of a logger in this many seconds, prefixed with `prefix`, and every warning."""
    last = time.monotonic()

    def passes(record: logging.LogRecord) -> bool:
        nonlocal last
        now = time.monotonic()
        if record.levelno < logging.WARNING and now - last < seconds:
            return False
        last = now
        record.msg, record.args = "%s: %s", (prefix, record.getMessage())
        return True

    logging.getLogger(logger).addFilter(passes)
    try:
        yield
    finally:
        logging.getLogger(logger).removeFilter(passes)
