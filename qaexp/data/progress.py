"""The bar that shows how far a long step is."""

import sys

from rich.console import Console
from rich.progress import Progress, ProgressColumn


def progress(*columns: ProgressColumn) -> Progress:
    """A bar on standard error, which goes when the step is done; none where that is no terminal."""
    return Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True)
