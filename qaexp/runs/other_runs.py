"""The other runs that a configuration refers to: `init_from`, whose weights it starts with, and `loss.teacher`, whose scores it learns.

Such a run is identified by its key and step, not by its path: its folder may be moved, and another run at the same path is noticed.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from qaexp.errors import CheckpointError, MissingDataError
from qaexp.runs.folder import checkpoint_file

OTHER_RUNS = ("init_from", "loss.teacher")


def other_runs(config: Mapping[str, Any]) -> dict[str, Any]:
    """Maps each of these options that is set to its value: a path, or a pinned run (path, key, step, digest of its weights, and command).

    >>> other_runs({"init_from": None, "loss": {"teacher": "runs/a", "scale": 1.0}})
    {'loss.teacher': 'runs/a'}
    """
    return {option: value for option in OTHER_RUNS if (value := _at(config, option)) is not None}


def _at(config: Any, option: str) -> Any:
    for part in option.split("."):
        config = config.get(part) if isinstance(config, Mapping) else None
    return config


def with_other_runs(config: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the configuration with these values of the options.

    >>> with_other_runs({"loss": {"teacher": "runs/a", "scale": 1.0}}, {"loss.teacher": None})
    {'loss': {'teacher': None, 'scale': 1.0}}
    """
    changed = dict(config)
    for option, value in values.items():
        group, _, name = option.rpartition(".")
        if group:
            changed[group] = {**changed[group], name: value}
        else:
            changed[name] = value
    return changed


def require_other_runs(config: Mapping[str, Any]) -> None:
    """Raises MissingDataError if one of these runs does not exist."""
    for option, source in other_runs(config).items():
        try:
            checkpoint_file(str(source))
        except CheckpointError as error:
            raise MissingDataError(f"{option}={error}") from error


def with_pinned_runs(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with each path of another run replaced by a pinned run: the path with key, step, digest of the weights, and
    command.

    Raises:
        CheckpointError: there is no checkpoint.
    """
    pinned = {option: source if isinstance(source, Mapping) else _pinned(option, source) for option, source in other_runs(config).items()}
    return with_other_runs(config, pinned)


def _pinned(option: str, path: object) -> dict[str, Any]:
    facts = checkpoint_file(str(path)).stat()  # a folder's name may be a number
    return dict(_pinned_file(option, str(path), facts.st_size, facts.st_mtime_ns))


@lru_cache(maxsize=64)
def _pinned_file(option: str, path: str, size: int, changed: int) -> Mapping[str, Any]:
    """Read once, until the file changes."""
    from qaexp.runs.checkpoint import digest_of_weights, open_checkpoint  # needs torch

    checkpoint = open_checkpoint(path)
    plan = checkpoint["qaexp"]
    if "key" not in plan:
        raise CheckpointError(f"{option}={path} was written before checkpoints named their run; train it again")
    pinned = {"path": path, "key": plan["key"], "step": checkpoint["global_step"]}
    return {**pinned, "weights": digest_of_weights(checkpoint), "command": plan["command"]}


def open_pinned(option: str, source: Mapping[str, Any]) -> dict[str, Any]:
    """The checkpoint of a pinned run.

    Raises:
        CheckpointError: there is another run at its path now; or as `open_checkpoint`.
    """
    from qaexp.runs.checkpoint import digest_of_weights, open_checkpoint  # needs torch

    checkpoint = open_checkpoint(source["path"])
    found = checkpoint["qaexp"]["key"], checkpoint["global_step"]
    if found != (source["key"], source["step"]):
        raise CheckpointError(
            f"{option}={source['path']} is no longer the run that this one was started with (key and step {found}, not "
            f"{(source['key'], source['step'])}); put that one back, or start a new run"
        )
    if "weights" in source and source["weights"] != digest_of_weights(checkpoint):
        raise CheckpointError(
            f"{option}={source['path']} has other weights than when this run was started; put that run back, or start a new run"
        )
    return checkpoint
