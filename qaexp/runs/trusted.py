"""Checks a saved configuration, which may come from elsewhere, before anything is built: each slot may only build classes of its kind."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import isclass, isfunction
from pathlib import Path
from typing import Any

import yaml
from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from qaexp.errors import CheckpointError, first_line
from qaexp.files import MAX_DEPTH, nested_values, read_small_text
from qaexp.limits import violations
from qaexp.runs.folder import CONFIG
from qaexp.runs.places import with_places
from qaexp.runs.renamed import with_current_targets

TRUSTED = "QAEXP_TRUSTED"
"""The environment variable with packages of the user's own, separated by commas, whose classes a saved configuration may name."""

MAX_BYTES, MAX_VALUES = 1 << 20, 20_000
"""The largest file, and the most values in a configuration. Runs leave some kilobytes, some hundred values and a depth of six."""

OF_EVERY_RUN = ("model._target_", "dataset._target_", "dataset.name", "choices.model", "choices.dataset")
"""Options that every run's configuration has, and that are read before anything is built."""


@dataclass(frozen=True)
class Kind:
    """What a slot builds."""

    name: str
    """In words, with its article."""
    base: str = ""
    """The class that it is derived from."""
    parts: Sequence[str] = ()
    """The attributes that it has, where there is no such class."""
    library: str = ""
    """A library whose classes are admitted as well, besides those of qaexp and of trusted packages; may be empty."""

    def admits(self, part: Any) -> bool:
        return isclass(part) and (issubclass(part, get_object(self.base)) if self.base else all(hasattr(part, each) for each in self.parts))


class Tokeniser(Kind):
    """A function that is annotated to return `list[str]`. Without this check, a configuration could call any function."""

    def admits(self, part: Any) -> bool:
        return isfunction(part) and part.__annotations__.get("return") in (list[str], "list[str]")


class OfOnesOwn(Kind):
    """Any class of a trusted package."""

    def admits(self, part: Any) -> bool:
        return isclass(part) and part.__module__.partition(".")[0] != "qaexp"


LIGHTNING = "pytorch_lightning"
TOKENISER, CALLBACK = (
    Tokeniser("a tokeniser, a function that says `-> list[str]`"),
    Kind("a callback", f"{LIGHTNING}.Callback", library=LIGHTNING),
)
SLOTS = {
    r"model": Kind("an AnswerScorer", "qaexp.models.scorer.AnswerScorer"),
    r"model\..+": Kind("a part of a model", "torch.nn.Module"),
    r"output": Kind("a word output", "qaexp.models.decoder.WordOutput"),
    r"loss": Kind("a loss", "qaexp.training.losses.Loss"),
    r"optimizer": Kind("an optimiser", "torch.optim.Optimizer", library="torch.optim"),
    r"schedule": Kind("a schedule", "torch.optim.lr_scheduler.LRScheduler", library="torch.optim"),
    r"dataset": Kind("a data module", "qaexp.data.module.RankingDataModule"),
    r"dataset\.reader": Kind("a reader", parts=("files", "read", "version")),
    r"dataset(\.reader)?\.tokenise": TOKENISER,
    r"dataset\.vectors": Kind("a source of word vectors", parts=("files", "build")),
    r"dataset\.negatives": Kind("a choice of negatives", parts=("draw",)),
    r"pairs": Kind("a module of pairs", "qaexp.data.reconstruction.ReconstructionDataModule"),
    r"trainer": Kind("a Trainer", f"{LIGHTNING}.Trainer", library=LIGHTNING),
    r"(trainer|logger)\.callbacks\.\d+|callbacks\.\w+": CALLBACK,
    r"trainer\.logger(\.\d+)?|logger\.\w+": Kind("a logger", f"{LIGHTNING}.loggers.Logger", library=LIGHTNING),
    r"logger\.pages\.\d+": Kind("a page", parts=("write",)),
    r"trainer\.profiler": Kind("a profiler", f"{LIGHTNING}.profilers.Profiler", library=LIGHTNING),
    r"trainer\.strategy": Kind("a strategy", f"{LIGHTNING}.strategies.Strategy", library=LIGHTNING),
}
"""The slots of a configuration, and what each takes."""

HYDRA_KEYS: Mapping[str, type | tuple[type, ...]] = {"_partial_": bool, "_recursive_": bool, "_convert_": str, "_args_": (list, tuple)}
"""What Hydra reads beside `_target_`."""

OF_ONES_OWN = OfOnesOwn("a part that this slot takes")
"""Slots that are not in SLOTS are options of the user's own classes. They take any class of a trusted package."""


def saved_config(folder: Path, **places: str) -> DictConfig:
    """The configuration that a run left in its folder. `places`, such as `data_dir`, replace the run's own.

    Raises:
        CheckpointError: it is gone or damaged, or it would build something that none of its slots takes.
    """
    path = folder / CONFIG
    remedy = "start the run again with its command line"
    try:
        text = read_small_text(path, MAX_BYTES)
        _require_flat(text)
        cfg = OmegaConf.create(text)
        container = admitted(OmegaConf.to_container(cfg), path)
        if fault := next(violations(container), ""):
            raise CheckpointError(f"{path} has {fault}; {remedy}")
        _require_whole(container)
    except (
        yaml.YAMLError,
        OmegaConfBaseException,
        OSError,
        ValueError,
        TypeError,
        AttributeError,
        AssertionError,
        RecursionError,
    ) as error:
        raise CheckpointError(f"{path} is damaged ({first_line(error)[:200]}); {remedy}") from error
    options: dict[str, Any] = with_places(container, {str(container[name]): place for name, place in places.items()})
    return OmegaConf.create(options)


def _require_whole(container: Any) -> None:
    """Raises ValueError if an option of `OF_EVERY_RUN` is not there."""
    for option in OF_EVERY_RUN:
        node = container
        for name in option.split("."):
            node = node.get(name) if isinstance(node, dict) else None
        if not isinstance(node, str):
            raise ValueError(f"it has no {option}")


def _require_flat(text: str) -> None:
    """Raises ValueError for YAML that could fill the memory when it is read: with aliases, or nested deeper than MAX_DEPTH."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH or isinstance(event, yaml.AliasEvent):
            raise ValueError("it has an alias, or is nested too deeply")


def admitted(config: Any, file: Path) -> Any:
    """A saved configuration in plain dicts and lists, with today's names of classes, if each slot takes what it would build.

    Raises:
        CheckpointError: a slot would build something else, or a value is a reference (`${...}`), which could resolve to anything.
    """
    _require_plain(config, file)
    current = with_current_targets(config)
    for slot, target in _targets(current):
        _require_kind(target, slot, file)
    return current


def _require_plain(config: Any, file: Path) -> None:
    """Raises CheckpointError for values that no run writes: references, and keys or values of unusual types."""
    try:
        for value in nested_values(config, MAX_VALUES):
            if fault := _fault(value):
                raise ValueError(f"it has {fault}")
    except ValueError as error:
        raise CheckpointError(f"{file} is not a configuration of a run ({error}); do not load it") from error


def _fault(value: Any) -> str:
    if isinstance(value, str) and "${" in value:
        return f"{value[:100]} in place of a plain value"
    if isinstance(value, dict) and (odd := [key for key in value if not isinstance(key, (str, int))]):
        return f"a {type(odd[0]).__name__} where the name of an option stands"
    if isinstance(value, dict) and (odd := [key for key, kind in HYDRA_KEYS.items() if key in value and not isinstance(value[key], kind)]):
        return f"a {type(value[odd[0]]).__name__} as {odd[0]}"
    return "" if isinstance(value, (dict, list, tuple, str, int, float, type(None))) else f"a {type(value).__name__} as a value"


def _targets(node: Any, slot: str = "") -> Iterator[tuple[str, Any]]:
    """Each `_target_` below a slot, with its own slot, such as `trainer.callbacks.0`."""
    if isinstance(node, Mapping):
        if "_target_" in node:
            yield slot, node["_target_"]
        for name, value in node.items():
            yield from _targets(value, f"{slot}.{name}".lstrip("."))
    elif isinstance(node, (list, tuple)):
        for place, value in enumerate(node):
            yield from _targets(value, f"{slot}.{place}")


def _require_kind(target: object, slot: str, file: Path) -> None:
    """Raises CheckpointError, unless the slot takes what Hydra would call by this name. Only packages that may be named are imported."""
    kind = next((kind for pattern, kind in SLOTS.items() if re.fullmatch(pattern, slot)), OF_ONES_OWN)
    wants = f"{file} wants to build {slot} from {str(target)[:200]}"
    if not isinstance(target, str) or not re.fullmatch(r"[A-Za-z]\w*(\.[A-Za-z]\w*)+", target):
        raise CheckpointError(f"{wants}, which is not the name of a class; do not load it")
    _require_package(target, kind, wants)
    try:
        part = get_object(target)
    except Exception as error:
        raise CheckpointError(
            f"{wants}, which is not there; go back to the version that has it, or put its package in PYTHONPATH"
        ) from error
    _require_package(f"{getattr(part, '__module__', None) or 'builtins'}.", kind, wants)
    if not kind.admits(part):
        raise CheckpointError(f"{wants}, which is not {kind.name}; do not load it")


def _require_package(name: str, kind: Kind, wants: str) -> None:
    package = name.partition(".")[0]
    mine = {each.strip() for each in os.environ.get(TRUSTED, "").split(",")}
    if package not in {"qaexp", *mine} and not (kind.library and name.startswith(f"{kind.library}.")):
        raise CheckpointError(f"{wants}, which is not part of qaexp; if that is your own, set {TRUSTED}={package}, else do not load it")
