"""One line of the table. It needs no torch, so that a benchmark of starting does not pay for this package."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """What was measured, how much of it, against which target. `held` is None where nothing was tested."""

    what: str
    ours: str = ""
    other: str = ""
    ratios: Sequence[float] = ()
    target: str = ""
    held: bool | None = None

    @property
    def ratio(self) -> float | None:
        """The median; None where nothing was compared."""
        return statistics.median(self.ratios) if self.ratios else None
