"""Waits for what other processes do."""

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], bool]) -> None:
    """Fails if it is not so after two minutes."""
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
