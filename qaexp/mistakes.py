"""What a user probably meant: mistyped groups, choices, keys and values, and errors in one sentence each."""

import difflib
import errno
import re
import traceback
from collections.abc import Iterator, Sequence
from typing import Any

from hydra.errors import HydraException, InstantiationException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from qaexp.config import CONF, RANK, Program, choices, compose
from qaexp.errors import ConfigError, QaexpError

UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR)
SWEEP = ("-m", "--multirun")


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
        return next(_mistakes(arguments, program), str(error).splitlines()[0])
    if isinstance(error, OSError) and (error.errno in UNWRITABLE or traceback.extract_tb(error.__traceback__)[-1].name == "mkdir"):
        return f"cannot write {error.filename or 'the output folder'}: {error.strerror}. Name another place with output_dir=FOLDER"
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _mistakes(arguments: Sequence[str], program: Program) -> Iterator[str]:
    """For each argument that names no group, choice or key: which one, and what was probably meant."""
    overrides = [argument.lstrip("+~").partition("=")[::2] for argument in arguments if not argument.startswith("-")]
    for key, value in overrides:
        if key not in program.groups():
            continue
        for choice in value.split(","):
            if choice not in choices(key):
                yield f"there is no {key}={choice}{_nearest(choice, choices(key))}; choices: {', '.join(choices(key))}"
        if "," in value and not set(SWEEP) & set(arguments):
            yield f"{key}={value} is a run for each: add -m"
    try:
        usual = usual_config(arguments, program)
    except HydraException as error:
        if homeless := re.search(r"Could not override '([^']+)'", str(error)):
            yield f"the other choices leave no place for {homeless[1]}; {program.needs}"
        return
    keys = [*_keys(OmegaConf.to_container(usual)), "hydra", "resume", *program.groups()]
    for key, _ in overrides:
        if key not in keys and not key.startswith("hydra"):
            yield f"there is no option {key}{_nearest(key, keys)} (`{program.command} --help` lists the groups, `--cfg job` every option)"
    for argument in arguments:
        if "=" not in argument and not argument.startswith(("-", "~")):
            yield f"{argument!r} is not an option: write NAME=VALUE"


def _nearest(word: str, known: Sequence[str]) -> str:
    """ ", did you mean ...", or nothing where nothing is near."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f", did you mean {close[0]}" if close else ""


def _keys(node: Any, prefix: str = "") -> Iterator[str]:
    """Every key of nested plain dicts, as it is written in an override."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield f"{prefix}{key}"
            yield from _keys(value, f"{prefix}{key}.")


def usual_config(arguments: Sequence[str], program: Program = RANK) -> Any:
    """The configuration with the same choices (the first of several) and no other override."""
    pairs = [argument.partition("=")[::2] for argument in arguments]
    return compose([f"{key}={value.split(',')[0]}" for key, value in pairs if (CONF / key).is_dir()], program)


def require_meaningful(cfg: Any, usual: Any, overrides: Sequence[str]) -> None:
    """Raises: ConfigError, when an override adds a key that nothing reads, or gives words where a number or a switch is expected."""
    pairs = [override.lstrip("+~").partition("=")[::2] for override in overrides]
    if extra := [str(key) for key in cfg if key not in usual]:
        raise ConfigError(f"nothing reads the option {extra[0]}{_nearest(extra[0], list(map(str, usual)))}")
    for key, value in pairs:
        default, given = OmegaConf.select(usual, key), OmegaConf.select(cfg, key)
        if isinstance(default, (int, float)) and not isinstance(given, (int, float, type(None))):
            raise ConfigError(
                f"{key}={value}: {'true or false' if isinstance(default, bool) else 'a number'} is expected, as in {key}={default}"
            )
