"""qaexp: repeatable experiments in neural answer selection.

`qaexp.train(model="ggsa", dataset="toy")` trains and ranks, as `qaexp model=ggsa dataset=toy` does on the command line, and
`qaexp.load(path).rank(question, answers)` ranks with a trained model. `qaexp --help` lists the choices.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qaexp.api import Run as Run
    from qaexp.api import compare as compare
    from qaexp.api import evaluate as evaluate
    from qaexp.api import train as train
    from qaexp.runs.ranker import load as load

_PLACES = {"load": "qaexp.runs.ranker", "Run": "qaexp.api", "compare": "qaexp.api", "evaluate": "qaexp.api", "train": "qaexp.train"}
"""The module of each public name. `qaexp.train` is a callable module."""

__all__ = ["Run", "compare", "evaluate", "load", "train"]


def __getattr__(name: str) -> Any:
    """Import torch only when a name needs it: `qaexp --help` does not."""
    if name not in _PLACES:
        raise AttributeError(f"module 'qaexp' has no attribute {name!r}")
    module = import_module(_PLACES[name])
    return module if name == "train" else getattr(module, name)
