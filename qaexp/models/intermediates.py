"""How a stage shows intermediate tensors, such as attention weights, gates and grids, to a caller that watches."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from torch import Tensor

WATCHER: ContextVar[Callable[[str, Tensor], None] | None] = ContextVar("WATCHER", default=None)
"""The function that is called with each shown tensor; None outside `watch`."""


@contextmanager
def watch(look: Callable[[str, Tensor], None]) -> Iterator[None]:
    """Within the block, call `look(name, tensor)` with every tensor that a stage shows."""
    token = WATCHER.set(look)
    try:
        yield
    finally:
        WATCHER.reset(token)


def is_watched() -> bool:
    """Whether a `watch` block is active. A stage asks before it computes something only to show it."""
    return WATCHER.get() is not None


def show(name: str, tensor: Tensor) -> None:
    """Show a tensor whose first axis counts texts or pairs. Costs nothing outside a `watch` block.

    Pictures place it beside words by its name:
    - `grid` and `alignment` end in the axes (question length, candidate length);
    - `attention` within one text ends in (length) or (attending length, length); in a pair, `attention` ends in the length of the
      candidate, and `question_attention` in that of the question;
    - `...gate` and `...gates` end in (length, width) of the same texts.
    """
    if (look := WATCHER.get()) is not None:
        look(name, tensor)
