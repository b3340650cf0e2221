"""Fewer lines on the screen: libraries that chatter, and runs of hours that say now and then how far they are."""

import logging
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


def silence_libraries() -> None:
    """Lightning's chatter says nothing that our screen does not."""
    rank_zero = "pytorch_lightning.utilities.rank_zero"  # by name, as importing Lightning after this sets the level of its parent anew
    for name in ("pytorch_lightning", rank_zero, "lightning_fabric", "lightning", "gensim", "wandb"):
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="pytorch_lightning|torch|wandb|lightning_fabric")


@contextmanager
def throttled_log(seconds: float, of: str, logger: str) -> Iterator[None]:
    """Of this logger's lines only one every so many seconds, behind the name of what it is `of`."""
    last = time.monotonic()

    def one(record: logging.LogRecord) -> bool:
        nonlocal last
        now = time.monotonic()
        if record.levelno < logging.WARNING and now - last < seconds:
            return False
        last = now
        record.msg, record.args = "%s: %s", (of, record.getMessage())
        return True

    logging.getLogger(logger).addFilter(one)
    try:
        yield
    finally:
        logging.getLogger(logger).removeFilter(one)
