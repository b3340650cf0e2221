"""What a user probably meant: mistyped groups, choices, keys and values, and errors in one sentence each."""

import difflib
import errno
import inspect
import re
import traceback
from collections.abc import Iterator, Sequence
from pydoc import locate
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, InstantiationException, OverrideParseException
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from qaexp.config import CONF, PRETRAIN, RANK, Program, choices, compose
from qaexp.errors import ConfigError, QaexpError
from qaexp.limits import beyond

UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR)
SWEEP = ("-m", "--multirun")
OF_RANKING = r"loss\b|dataset[./]negatives\b|dataset\.batch_size$"
"""What pre-training has in its configuration, as its data set does, and does not read."""
PAIRS = {"dataset.batch_size": ", and set pairs.batch_size"}
HYDRAS = ("_target_", "_partial_")
"""What Hydra itself reads in a group."""


def explain(error: Exception, arguments: Sequence[str], program: Program = RANK) -> str | None:
    """A sentence for an error that the user can mend; None for one that only we can."""
    ours = next((e for e in _chain(error) if isinstance(e, QaexpError)), None)
    if ours is not None:
        return str(ours)
    if isinstance(error, InstantiationException):
        where = next((line.partition(":")[2].strip() for line in str(error).splitlines() if line.startswith("full_key")), "it")
        cause = list(_chain(error))[-1]
        return f"{where} cannot be built from this configuration: {cause} ({type(cause).__name__})"
    if isinstance(error, (HydraException, OmegaConfBaseException)):
        return next(_mistakes(arguments, program), _unreadable(error) or str(error).splitlines()[0])
    if type(error).__name__ == "MisconfigurationException":  # Lightning's; importing it takes seconds
        return f"the trainer cannot be built from this configuration: {' '.join(str(error).split())}"
    if isinstance(error, OSError) and (error.errno in UNWRITABLE or traceback.extract_tb(error.__traceback__)[-1].name == "mkdir"):
        return f"cannot write {error.filename or 'the output folder'}: {error.strerror}. Name another place with output_dir=FOLDER"
    return None


def _unreadable(error: Exception) -> str:
    """Of an override that Hydra's grammar does not take; empty for other errors."""
    if not isinstance(error, OverrideParseException):
        return ""
    key, _, value = str(error.override).partition("=")
    return f"{error.override}: this cannot be read; quote what is no plain word, for the shell and for Hydra: \"{key}='{value}'\""


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _mistakes(arguments: Sequence[str], program: Program) -> Iterator[str]:
    """For each argument that names no group, choice or key: which one, and what was probably meant."""
    overrides = [argument.lstrip("+~").partition("=")[::2] for argument in arguments if not argument.startswith("-")]
    for key, value in overrides:
        for choice in _each_choice(key, value) if key in program.groups() else ():
            if choice not in choices(key):
                yield f"there is no {key}={choice}{_nearest(choice, choices(key))}; choices: {', '.join(choices(key))}"
        if "," in value and value[0] not in "[{(\"'" and not is_sweep(arguments):
            yield f"{key}={value} is a run for each: add -m"
    try:
        usual = config_of_choices(arguments, program)
    except HydraException as error:
        if homeless := re.search(r"Could not override '([^']+)'", str(error)):
            yield f"the other choices leave no place for {homeless[1]}; {program.needs}"
        return
    keys = [*keys_of(usual), "hydra", "resume", *program.groups()]
    for key, value in overrides:
        if key not in keys and not key.startswith("hydra") and key.rpartition(".")[2] not in HYDRAS:
            if key.rpartition(".")[2] in (_parameters(usual, key) or ()):
                yield f"{key} is not set by this configuration; to add it, write +{key}={value}"
            yield f"there is no option {key}{_nearest(key, keys)} (`{program.command} --help` lists the groups, `--cfg job` every option)"
    for argument in arguments:
        if "=" not in argument and not argument.startswith(("-", "~")):
            yield f"{argument!r} is not an option: write NAME=VALUE"


def _nearest(word: str, known: Sequence[str]) -> str:
    """ ", did you mean ...", or nothing where nothing is near."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f", did you mean {close[0]}" if close else ""


def keys_of(usual: Any) -> list[str]:
    """Every key of a configuration as it is written in an override, but for those that are Hydra's."""
    return [key for key in _keys(OmegaConf.to_container(usual)) if not key.endswith("_")]


def _keys(node: Any, prefix: str = "") -> Iterator[str]:
    """Every key of nested plain dicts."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield f"{prefix}{key}"
            yield from _keys(value, f"{prefix}{key}.")


def _parameters(cfg: Any, key: str) -> list[str] | None:
    """The parameters of what is built from the part of a configuration that `key` is in; None where it takes any, or nothing is built.

    Raises:
        ConfigError: there is no such class.
    """
    target = OmegaConf.select(cfg, name := f"{key.rpartition('.')[0]}._target_")
    built: Any = locate(target) if target else None
    if target and built is None:
        raise ConfigError(f"{name}={target}: there is no such class; is its package installed, or its folder in PYTHONPATH?")
    parameters = inspect.signature(built).parameters if built else {}
    anything = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return None if anything or not parameters else list(parameters)


def config_of_choices(arguments: Sequence[str], program: Program = RANK) -> Any:
    """The configuration with the same choices (the first of several) and no other override."""
    pairs = [argument.partition("=")[::2] for argument in arguments]
    return compose([f"{key}={_each_choice(key, value)[0]}" for key, value in pairs if (CONF / key).is_dir()], program)


def _each_choice(group: str, value: str) -> list[str]:
    """
    >>> _each_choice("loss", "choice(pairwise_hinge,max_margin)"), _each_choice("loss", "pairwise_hinge")
    (['pairwise_hinge', 'max_margin'], ['pairwise_hinge'])
    """
    try:
        override = OverridesParser.create().parse_override(f"{group}={value}")
        return list(override.sweep_string_iterator()) if override.is_sweep_override() else [value]
    except HydraException:
        return value.split(",")


def is_sweep(arguments: Sequence[str]) -> bool:
    """Whether a command line asks for several runs."""
    return not set(SWEEP).isdisjoint(arguments)


def check_config(cfg: Any, usual: Any, overrides: Sequence[str]) -> None:
    """Raises: ConfigError, when an override is one that nothing reads, words stand where a number or a switch is expected, or a value
    is out of its limits."""
    partitioned = (override.lstrip("+~").partition("=") for override in overrides)
    written = {key: value for key, _, value in partitioned}  # of an option given twice the last counts
    if PRETRAIN.own_key in cfg and (idle := next((key for key in written if re.match(OF_RANKING, key)), None)):
        raise ConfigError(
            f"pre-training learns from titles and their contexts, and does not read {idle}; leave it out{PAIRS.get(idle, '')}"
        )
    if extra := [str(key) for key in cfg if key not in usual]:
        raise ConfigError(f"nothing reads the option {extra[0]}{_nearest(extra[0], list(map(str, usual)))}")
    options = keys_of(usual)
    for key, value in written.items():
        parent, _, name = key.rpartition(".")
        read = _parameters(cfg, key) if parent and key not in options else None
        if read and name not in (*read, *HYDRAS):
            raise ConfigError(f"nothing reads the option {key}{_nearest(key, [f'{parent}.{each}' for each in read])}")
        _require_kind(key, value, OmegaConf.select(cfg, key), usual)
    resolved: Any = OmegaConf.to_container(cfg, resolve=True)
    for sentence in beyond(resolved):
        raise ConfigError(sentence)


def check_value(key: str, written: str, given: Any, usual: Any) -> None:
    """Raises: ConfigError, when one value of an option is words where the usual one is a number or a switch, or out of its limits."""
    _require_kind(key, written, given, usual)
    parent, dot, name = key.rpartition(".")
    for sentence in beyond({name: given}, parent + dot):
        raise ConfigError(sentence)


def _require_kind(key: str, written: str, given: Any, usual: Any) -> None:
    default = OmegaConf.select(usual, key)
    group = key.replace(".", "/")
    if isinstance(given, str) and (CONF / group).is_dir():
        raise ConfigError(f"{key}={written}: a choice is written with slashes, {group}={written}; choices: {', '.join(choices(group))}")
    number = isinstance(given, (int, float)) and isinstance(given, bool) <= isinstance(default, bool)
    gone = given is None and written != "null"  # another option has taken its place
    if isinstance(default, (int, float)) and not number and not gone:
        expected = "true or false" if isinstance(default, bool) else "a number"
        raise ConfigError(f"{key}={written}: {expected} is expected, as in {key}={default}")
    if isinstance(default, ListConfig) and isinstance(given, (str, int, float)):
        raise ConfigError(f"{key}={written}: a list is expected, as in {key}=[{written}]")
    if isinstance(default, DictConfig) and isinstance(given, (str, int, float)):
        raise ConfigError(f"{key}={written}: it has options of its own; set one of them, such as {key}.{next(iter(default))}")
