"""Which classes and functions a checkpoint may use. A file from elsewhere could name any function, so names are checked before any call."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hydra.utils import get_object
from torch import nn

from qaexp.data import tokenise
from qaexp.errors import CheckpointError

TRUSTED = "QAEXP_TRUSTED"
"""The environment variable with the user's own packages, separated by commas, whose classes and functions a checkpoint may name."""


def require_ours(node: object, file: Path) -> None:
    """Allow qaexp's modules and tokenisers, and what packages in `QAEXP_TRUSTED` define themselves; nothing that either imports.

    Raises:
        CheckpointError: some part of the node names anything else, or holds a reference, which could name anything when resolved.
    """
    if isinstance(node, Mapping):
        if "_target_" in node:
            _require_our_part(str(node["_target_"]), file)
        node = list(node.values())
    if isinstance(node, (list, tuple)):
        for each in node:
            require_ours(each, file)
    if isinstance(node, str) and "${" in node:
        raise CheckpointError(f"{file} has {node} in place of a plain value; do not load it")


def _require_our_part(target: str, file: Path) -> None:
    trusted = {"qaexp", *(name.strip() for name in os.environ.get(TRUSTED, "").split(","))} - {""}
    package = target.partition(".")[0]
    if package in trusted:
        part = _located(target, file)
        module = str(getattr(part, "__module__", None) or "builtins")
        package = module.partition(".")[0]
        is_module = isinstance(part, type) and issubclass(part, nn.Module)
        if package == "qaexp" and not is_module and module != tokenise.__name__:
            raise CheckpointError(f"{file} wants to build {target}, which is neither a module nor a tokeniser; do not load it")
    if package not in trusted:
        raise CheckpointError(
            f"{file} wants to build {target}, which is no part of qaexp; if that is your own, set {TRUSTED}={package}, else do not load it"
        )


def _located(target: str, file: Path) -> Any:
    """The object that Hydra would call by this name."""
    try:
        return get_object(target)
    except Exception as error:
        raise CheckpointError(
            f"{file} wants to build {target}, which is not there; go back to the version that has it, or put its package in PYTHONPATH"
        ) from error
