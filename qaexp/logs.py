"""What is logged: silences verbose libraries, throttles the progress of long runs, and says how long something took."""

import logging
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


def silence_libraries() -> None:
    """Hide what Lightning, gensim, W&B and the exporter to ONNX log below ERROR, and their warnings, but not the table of a profiler."""
    rank_zero = "pytorch_lightning.utilities.rank_zero"  # by name, as importing Lightning later resets its parent's level
    for name in ("pytorch_lightning", rank_zero, "lightning_fabric", "lightning", "gensim", "wandb", "onnx_ir", "onnxscript", "torch.onnx"):
        logging.getLogger(name).setLevel(logging.ERROR)
    logging.getLogger("pytorch_lightning.profilers").setLevel(logging.INFO)
    warnings.filterwarnings("ignore", module="pytorch_lightning|torch|wandb|lightning_fabric")


@contextmanager
def throttled_log(seconds: float, prefix: str, logger: str) -> Iterator[None]:
    """Let through every warning of a logger and at most one other line in `seconds`, all prefixed with `prefix`."""
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


def duration(seconds: int | float) -> str:
    """A number of seconds in readable units.

    >>> duration(3.21), duration(41.3), duration(75), duration(180), duration(1000), duration(7260)
    ('3.2 s', '41 s', '1 min 15 s', '3 min', '17 min', '2 h 1 min')
    """
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 10:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
