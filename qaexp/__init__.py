"""qaexp: repeatable experiments in neural answer selection.

`qaexp.load(path).rank(question, answers)` ranks with a trained model; `python -m qaexp --help` says how to train one.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qaexp.runs.ranker import load as load

__all__ = ["load"]


def __getattr__(name: str) -> Any:
    """Import torch only when a name needs it: `python -m qaexp --help` does not."""
    if name == "load":
        from qaexp.runs.ranker import load

        return load
    raise AttributeError(f"module 'qaexp' has no attribute {name!r}")
