"""How a stage shows what it computed on the way: attention weights, gates, activations of a grid."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from torch import Tensor

WATCHER: ContextVar[Callable[[str, Tensor], None] | None] = ContextVar("WATCHER", default=None)
"""Who looks on, if anybody does; see `watch`."""


@contextmanager
def watch(look: Callable[[str, Tensor], None]) -> Iterator[None]:
    """Have `look` called with the name and tensor of all that is shown within the block."""
    token = WATCHER.set(look)
    try:
        yield
    finally:
        WATCHER.reset(token)


def is_watched() -> bool:
    """Whether anybody looks on: a stage that would have to compute what it shows asks first."""
    return WATCHER.get() is not None


def show(name: str, tensor: Tensor) -> None:
    """Show a tensor whose first axis counts texts or pairs. Costs nothing when nobody looks on."""
    if (look := WATCHER.get()) is not None:
        look(name, tensor)
