"""What can go wrong outside our code: each exception says in one sentence what, where, and how to mend it."""

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path


class QaexpError(Exception):
    """An error that the user can mend. The command line prints its message and exits 2; no traceback."""


class MissingDataError(QaexpError):
    """Files of a data set are not where the configuration says: `files`, where each is known."""

    def __init__(self, message: str, files: Sequence[Path] = ()) -> None:
        super().__init__(message)
        self.files = files


class BadDataError(QaexpError):
    """A file of a data set does not hold what its format promises. Lists every fault of the file at once."""

    def __init__(self, path: Path | str, faults: Sequence[str], remedy: str, shown: int = 20) -> None:
        more = [f"... and {len(faults) - shown} more"] if len(faults) > shown else []
        lines = "\n".join(f"  {fault}" for fault in [*faults[:shown], *more])
        super().__init__(f"{path}: {len(faults)} fault{'s' if len(faults) != 1 else ''}\n{lines}\n{remedy}")


class ConfigError(QaexpError):
    """The composed configuration cannot be built: an unknown name, or two stages that do not fit."""


class NonFiniteLossError(QaexpError):
    """Training produced a NaN or infinite loss."""


class PrunedError(QaexpError):
    """A run of a sweep was given up, as its dev metric had no prospects."""


class SweepError(QaexpError):
    """Jobs of a sweep failed."""


class CheckpointError(QaexpError):
    """A checkpoint cannot be read, or belongs to another vocabulary or model."""


class RecordError(QaexpError):
    """The record of a run cannot be read."""


class OutputError(QaexpError):
    """The output folder cannot be written to."""


class KilledError(QaexpError):
    """The process of a run is gone, and nothing but that is known of it."""


def require_among(option: str, names: Iterable[str], known: Sequence[str]) -> None:
    """Raises: ConfigError, when an option names something that is not known."""
    for name in names:
        if name not in known:
            raise ConfigError(f"{option}: there is no {name!r}; {meant(str(name), known)}")


def meant(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """What a name that is not known may stand for, or else all that is known.

    >>> meant("GGS", ["ggsa", "ctrn"]), meant("xyz", ["ggsa", "ctrn"])
    ('did you mean ggsa?', 'choose among ggsa, ctrn')
    """
    spelled = {each.lower(): each for each in known}
    near = difflib.get_close_matches(name.lower(), spelled, n=2, cutoff=cutoff)
    return f"did you mean {' or '.join(spelled[each] for each in near)}?" if near else f"choose among {', '.join(spelled.values())}"
