"""Turns errors into one sentence for the user, and checks a composed configuration before anything is built from it."""

import difflib
import errno
import logging
import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from pydoc import ErrorDuringImport
from types import NoneType
from typing import Any, get_args

import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, InstantiationException, OverrideParseException
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from qaexp.config import PRETRAIN, RANK, Program, choice_file, choices, compose, is_choice, values_of
from qaexp.errors import ConfigError, QaexpError, first_line, missing_library
from qaexp.files import RUNS_REMEDY
from qaexp.limits import located, parameter_types, violations
from qaexp.own_choices import nodes_of, parameters_of

log = logging.getLogger(__name__)

SWEEP_FLAGS = ("-m", "--multirun")
HYDRA_KEYS = ("_target_", "_partial_")
CANNOT_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR)

MAX_DIGITS = sys.get_int_max_str_digits()
"""Python reads no whole number with more digits."""

IGNORED_BY_PRETRAINING = r"loss\b|dataset[./]negatives\b|dataset\.batch_size$"
"""Options that belong to a data set and that pre-training does not read."""


def explain(error: Exception, arguments: Sequence[str], program: Program = RANK) -> str | None:
    """A sentence for an error that the user can correct; None for a bug of ours, which should keep its traceback."""
    ours = next((each for each in _causes(error) if isinstance(each, QaexpError)), None)
    if ours is not None:
        return str(ours)
    if sentence := next(filter(None, map(missing_library, _causes(error))), None):
        return sentence
    if isinstance(error, InstantiationException):
        where = next((line.partition(":")[2].strip() for line in str(error).splitlines() if line.startswith("full_key")), "it")
        cause = list(_causes(error))[-1]
        place, remedy = _what_to_set(where, str(cause), arguments, program)
        return f"{place} cannot be built from this configuration: {cause} ({type(cause).__name__}){remedy}"
    if isinstance(error, yaml.YAMLError):
        return f"a YAML file cannot be read: {' '.join(str(error).split())}"
    if isinstance(error, ImportError) and (name := re.match(r"Error loading '(.+?)'", str(error))):  # a `_target_`, by Hydra
        return f"{name[1]} cannot be loaded: {error.__cause__ or error}; is its package installed, or its folder in PYTHONPATH?"
    if isinstance(error, ErrorDuringImport):  # a module of the user's own has a fault
        return str(error)
    if isinstance(error, (HydraException, OmegaConfBaseException)) or _of_hydra(error):
        return next(_mistyped(arguments, program), _unreadable(error) or first_line(error))
    if isinstance(error, ValueError) and "integer string conversion" in str(error):
        option = next((each.partition("=")[0] for each in arguments if len(each) > MAX_DIGITS), "an option")
        return f"{option}: a number of more than {MAX_DIGITS} digits, which no option takes; give a smaller one"
    if type(error).__name__ == "MisconfigurationException":  # Lightning's; importing it takes seconds
        return f"the trainer cannot be built from this configuration: {' '.join(str(error).split())}"
    if isinstance(error, RuntimeError) and re.search(r"gloo.*(closed by peer|reset by peer|Read error|Broken pipe)", str(error)):
        return "another process of this run has ended, perhaps killed for lack of memory; finished epochs are kept, and resume=RUN goes on"
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return f"{str(error.filename)[:100]} ...: {error.strerror}; choose a shorter name"
    if isinstance(error, OSError) and (error.errno in CANNOT_WRITE or traceback.extract_tb(error.__traceback__)[-1].name == "mkdir"):
        return f"cannot write {error.filename or 'the output folder'}: {error.strerror}; {RUNS_REMEDY}"
    return None


def _what_to_set(where: str, cause: str, arguments: Sequence[str], program: Program) -> tuple[str, str]:
    """The part of the configuration that has wrong options, and the remedy.

    Hydra failed while it built the part `where`. The wrong options may be those of a part inside it.
    """
    if later := re.search(r"required positional arguments?: .*'(input_dim|vectors|num_classes|params)'", cause):
        return where, f"; qaexp gives {later[1]} itself: write `_partial_: true` into its YAML file" if "." in where else ""
    called = re.match(r"(?:\w+\.)*?(\w+)\.__init__\(\) (got an unexpected keyword|missing \d+ required)", cause)
    if not called:
        return where, ""
    try:
        cfg: Any = compose(arguments, program)
    except Exception:  # the first error says more
        return where, ""
    nodes = [
        (place, node) for place, node in nodes_of(OmegaConf.to_container(cfg)) if str(node.get("_target_", "")).endswith(f".{called[1]}")
    ]
    if len(nodes) != 1:
        return where, ""
    [(place, node)] = nodes
    if called[2].startswith("missing"):
        lacks = re.findall(r"'(\w+)'", cause)
        return place, f"; add {' '.join(f'+{place}.{name}=VALUE' for name in lacks)}, or set it in the YAML file of its choice"
    taken = _parameters(cfg, f"{place}.")
    extra = [name for name in node if name not in (taken or node) and not name.endswith("_")]
    return place, f"; add {' '.join(f'~{place}.{name}' for name in extra)} to leave out what it does not take" if extra else ""


def _of_hydra(error: Exception) -> bool:
    """Whether Hydra failed on a choice of an unexpected type, such as model=0 or model=[1,2]."""
    frames = traceback.extract_tb(error.__traceback__)
    return isinstance(error, (TypeError, ValueError)) and bool(frames) and Path(frames[-1].filename).parts[-3:-1] == ("hydra", "_internal")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _unreadable(error: Exception) -> str:
    """A sentence about an override that Hydra cannot parse; empty for other errors."""
    if not isinstance(error, OverrideParseException):
        return ""
    key, _, value = str(error.override).partition("=")
    if any(not part.strip() for part in value.split(",")):
        return f"{error.override}: a value is missing; write {key}={','.join(filter(str.strip, value.split(','))) or 'VALUE'}"
    return f"{error.override}: Hydra cannot parse this; quote the value for the shell and for Hydra: \"{key}='{value}'\""


def _mistyped(arguments: Sequence[str], program: Program) -> Iterator[str]:
    """A sentence for each argument that names no group, choice or key, with the names that were probably meant."""
    options = [argument for argument in arguments if not argument.startswith("-")]
    yield from _mistyped_choices(options, is_sweep(arguments), program.groups())
    try:
        usual = config_of_choices(options, program)
    except (HydraException, ValueError) as error:  # ValueError: Hydra reads a choice such as 1 as a number
        if homeless := re.search(r"Could not override '([^']+)'", str(error)):
            yield f"{homeless[1]} does not exist with the other choices; {program.needs}"
    else:
        yield from _mistyped_keys(options, usual, program)


def _mistyped_choices(options: Sequence[str], sweeps: bool, groups: Sequence[str]) -> Iterator[str]:
    """Mistakes in words and in choices of YAML files, found without composing a configuration."""
    for option in options:
        name, equals, value = option.lstrip("+~").partition("=")
        if not equals and not option.startswith("~"):
            yield f"{option!r} is not an option: {_meant_by_word(name, groups)}"
        key = name.partition("@")[0]
        if "/" in key and "." in key:
            yield f"{option}: only the choice of a YAML file has slashes; write {key.replace('/', '.')}={value}"
        for choice in _each_choice(key, value) if equals and key in groups else ():
            if choice_file(key, choice) is None:
                known = choices(key)
                meant = _did_you_mean(choice, known, _homes(choice, groups))
                yield f"there is no {key}={choice}{meant}; choices: {', '.join(known)}"
        if "," in value and value[0] not in "[{(\"'" and not sweeps:
            if os.path.exists(value):  # unlike Path.exists, it takes names of any length
                yield f"""{option}: the name has a comma; write it in quotes: {key}="'{value}'\""""
            else:
                yield f"{key}={value} has several values, which make a sweep: add -m"


def _mistyped_keys(options: Sequence[str], usual: Any, program: Program) -> Iterator[str]:
    """Mistakes in keys, found by comparing them with `usual`, the configuration of the same choices."""
    groups = program.groups()
    keys = [*_keys_of(usual), *_sweeper_keys(), *groups, "hydra", "resume"]
    for option in options:
        key, _, value = option.lstrip("+~").partition("=")
        if key in keys and option.startswith("~"):
            yield f"{option}: a run needs {key}; set it instead" + (f", to one of {', '.join(choices(key))}" if key in groups else "")
        if key in keys and option.startswith("+") and not option.startswith("++") and key not in groups:
            yield f"{option}: it is set already; leave out the +, as in {key}={value}"
        if key not in keys and not option.startswith("+") and not key.startswith("hydra") and key.rpartition(".")[2] not in HYDRA_KEYS:
            if key.rpartition(".")[2] in (_parameters(usual, key) or ()):
                yield f"{key} is not set by this configuration; to add it, write +{key}={value}"
            yield f"there is no option {key}{_did_you_mean(key, keys, _of_last_part(key, keys))} {_where_listed(program)}"


def _where_listed(program: Program) -> str:
    return f"(`{program.command} --help` lists the groups, `--cfg job` options)"


def _meant_by_word(word: str, groups: Sequence[str]) -> str:
    """What a word without `=` may have been meant for.

    >>> _meant_by_word("ggsa", ["model", "loss"]), _meant_by_word("wikiq", ["dataset"]), _meant_by_word("zzz", ["loss"])
    ('write model=ggsa', 'did you mean dataset=wikiqa?', 'write NAME=VALUE')
    """
    if homes := _homes(word, groups):
        return f"write {' or '.join(homes[:3])}"
    if word in groups:
        return f"write {word}= and one of {', '.join(choices(word))}"
    known = {choice: f"{group}={choice}" for group in sorted(groups, key=lambda group: -group.count("/")) for choice in choices(group)}
    near = difflib.get_close_matches(word, known, n=2, cutoff=0.7)
    return f"did you mean {' or '.join(known[each] for each in near)}?" if near else "write NAME=VALUE"


def _homes(choice: str, groups: Sequence[str]) -> list[str]:
    """`group=choice` for each group that has the choice, top-level groups first."""
    return [f"{group}={choice}" for group in sorted(groups, key=lambda group: group.count("/")) if choice in choices(group)]


ALSO_CALLED = {"learning_rate": "lr", "epochs": "max_epochs", "gpus": "devices", "hidden_size": "hidden_dim", "dropout": "dropout_rate"}
"""Other names of options, as other programs call them."""


def _of_last_part(key: str, keys: Sequence[str]) -> list[str]:
    """The options whose last part is that of `key`, or another name for it.

    >>> keys = ["seed", "optimizer.lr", "trainer.max_epochs", "hydra.sweeper.strategy.trials"]
    >>> [_of_last_part(key, keys) for key in ("lr", "epochs", "n_trials", "sed")]
    [['optimizer.lr'], ['trainer.max_epochs'], ['hydra.sweeper.strategy.trials'], []]
    """
    last = key.rpartition(".")[2]
    meant = {last, ALSO_CALLED.get(last, last), re.sub(r"^(n|num|max|min|total)_", "", last)}
    return [known for known in keys if known.rpartition(".")[2] in meant]


@cache
def _sweeper_keys() -> list[str]:
    """The sweepers' options. They are not part of a run's configuration."""
    found = dict[str, None]()
    for choice in choices("hydra/sweeper"):
        file = choice_file("hydra/sweeper", choice)
        assert file is not None
        found |= dict.fromkeys(f"hydra.sweeper.{key}" for key in _keys_of(OmegaConf.load(file)) if not key.startswith("defaults"))
    return list(found)


def _did_you_mean(word: str, known: Sequence[str], first: Sequence[str] = ()) -> str:
    """ ", did you mean ...", with at most three names; empty if no known word is similar. Names in `first` take precedence."""
    near = [*first, *(() if first else difflib.get_close_matches(word, list(dict.fromkeys(known)), n=2, cutoff=0.6))]
    return f", did you mean {' or '.join(near[:3])}" if near else ""


def is_sweep(arguments: Sequence[str]) -> bool:
    """Whether the command asks for several jobs, by `-m`, `--multirun` or `hydra.mode`."""
    return any(argument in SWEEP_FLAGS or argument.lstrip("+").lower() == "hydra.mode=multirun" for argument in arguments)


def _keys_of(cfg: Any) -> list[str]:
    """Every key as an override writes it, without those that Hydra reads, such as `_target_`."""

    def keys(node: Any, prefix: str = "") -> Iterator[str]:
        for key, value in node.items() if isinstance(node, dict) else ():
            yield f"{prefix}{key}"
            yield from keys(value, f"{prefix}{key}.")

    return [key for key in keys(OmegaConf.to_container(cfg)) if not key.endswith("_")]


def _parameters(cfg: Any, key: str) -> list[str] | None:
    """The constructor parameters of the class that the option `key` belongs to; None if there is no class, or it takes any keyword.

    Raises:
        ConfigError: there is no such class.
    """
    target = OmegaConf.select(cfg, name := f"{key.rpartition('.')[0]}._target_")
    built: Any = located(target) if target else None
    if target and not callable(built):
        raise ConfigError(f"{name}={target}: there is no such class; is its package installed, or its folder in PYTHONPATH?")
    return parameters_of(built) or None if target else None


def config_of_choices(arguments: Sequence[str], program: Program = RANK) -> Any:
    """The configuration with the same choices of YAML files (the first of several) and no other override."""
    pairs = [argument.partition("=")[::2] for argument in arguments if is_choice(argument)]
    first = [value if value.startswith("[") else _each_choice(key, value)[0] for key, value in pairs]
    return compose([f"{key}={value}" if value else key for (key, _), value in zip(pairs, first, strict=True)], program)


def _each_choice(group: str, value: str) -> list[str]:
    """The choices that an override of a group names: one, or those of a sweep.

    >>> _each_choice("loss", "choice(pairwise_hinge,max_margin)"), _each_choice("loss", "pairwise_hinge")
    (['pairwise_hinge', 'max_margin'], ['pairwise_hinge'])
    """
    try:
        override = OverridesParser.create().parse_override(f"{group}={value}")
        if isinstance(several := override.value(), list):
            return list(map(str, several))
        return values_of(override) if override.is_sweep_override() else [value]
    except HydraException:
        return value.split(",")


def check_config(cfg: Any, usual: Any, overrides: Sequence[str]) -> None:
    """Check the overrides against `usual`, the configuration without them, and every value against its limits.

    If Hydra has read a text as a number, `cfg` gets the text as it was written.

    Raises:
        ConfigError: no constructor takes an option, a value is of the wrong kind, or it is outside its limits.
    """
    partitioned = (override.lstrip("+~").partition("=") for override in overrides)
    written = {key: value for key, _, value in partitioned}  # the last one counts when an option is given twice
    if PRETRAIN.own_key in cfg and (ignored := next((key for key in written if re.match(IGNORED_BY_PRETRAINING, key)), None)):
        instead = "; leave it out, and set pairs.batch_size" if ignored == "dataset.batch_size" else "; leave it out"
        raise ConfigError(f"pre-training learns from titles and their contexts, and does not read {ignored}{instead}")
    for extra in (str(key) for key in cfg if key not in usual):
        log.warning("nothing in qaexp reads the option %s%s", extra, _did_you_mean(extra, list(map(str, usual))))
    options = _keys_of(usual)
    for key, value in written.items():
        parent, _, name = key.rpartition(".")
        parameters = _parameters(cfg, key) if parent and key not in options else None
        if parameters and name not in (*parameters, *HYDRA_KEYS):
            raise ConfigError(f"nothing reads the option {key}{_did_you_mean(key, [f'{parent}.{each}' for each in parameters])}")
        given = OmegaConf.select(cfg, key)
        if isinstance(given, (bool, int, float)) and _is_text(key, usual):
            OmegaConf.update(cfg, key, given := value)
        _check_kind(key, value, given, usual)
    for part in ("model", "dataset", "optimizer", "schedule", "trainer", "logger", "callbacks"):
        if part not in cfg:  # ~part, or part=[]
            option = next((each for each in overrides if each.lstrip("~").partition("=")[0] == part), part)
            raise ConfigError(f"{option}: a run needs {part}; set it instead, to one of {', '.join(choices(part))}")
        if part not in ("logger", "callbacks") and not (isinstance(cfg[part], DictConfig) and "_target_" in cfg[part]):
            raise ConfigError(f"{part} has no _target_, the class that it builds; name one in its YAML file, as in _target_: mine.Name")
    resolved: Any = OmegaConf.to_container(cfg, resolve=True)
    for sentence in violations(resolved):
        raise ConfigError(sentence)


def check_value(key: str, written: str, given: Any, usual: Any) -> None:
    """Check one value of an option.

    Raises:
        ConfigError: it is of the wrong kind, or outside its limits.
    """
    given = written if isinstance(given, (bool, int, float)) and _is_text(key, usual) else given
    _check_kind(key, written, given, usual)
    parent, dot, name = key.rpartition(".")
    target = OmegaConf.select(usual, f"{parent}._target_") if parent else None
    for sentence in violations({"_target_": target or "", name: given}, parent + dot):
        raise ConfigError(sentence)


def _annotation(key: str, usual: Any) -> Any:
    """The annotation of the constructor parameter that an option sets, or None if it has none."""
    parent, _, name = key.rpartition(".")
    target = OmegaConf.select(usual, f"{parent}._target_") if parent else None
    return parameter_types(str(target or "")).get(name)


def _is_text(key: str, usual: Any) -> bool:
    """Whether an option takes text and nothing else. Lightning's trainer takes numbers for some of its texts."""
    annotation = _annotation(key, usual)
    if annotation is not None:
        return annotation in (str, str | None)
    return isinstance(OmegaConf.select(usual, key), str) and not key.startswith("trainer.")


def _check_kind(key: str, written: str, given: Any, usual: Any) -> None:
    """Check that a value is of the same kind as the one that the option usually has.

    Raises:
        ConfigError: it is not.
    """
    default, group = OmegaConf.select(usual, key), key.replace(".", "/")
    if given is None:
        if written == "null":  # if not, another option has replaced it, or ~ has deleted it
            _check_null(key, usual)
        return
    if isinstance(given, str) and is_choice(group):
        raise ConfigError(f"{key}={written}: a choice is written with slashes, {group}={written}; choices: {', '.join(choices(group))}")
    is_number = isinstance(given, (int, float)) and isinstance(given, bool) <= isinstance(default, bool)
    if isinstance(default, (int, float)) and not is_number:
        raise ConfigError(_needs_number(key, written, default))
    if isinstance(default, ListConfig) and isinstance(given, (str, int, float)):
        raise ConfigError(f"{key}={written}: must be a list, as in {key}=[{written}]")
    if isinstance(default, DictConfig) and isinstance(given, (str, int, float)):
        raise ConfigError(f"{key}={written}: has options of its own; set one of them, such as {key}.{next(iter(default))}")


def _check_null(key: str, usual: Any) -> None:
    """Check that an option may be null.

    Raises:
        ConfigError: it may not.
    """
    default, annotation, group = OmegaConf.select(usual, key), _annotation(key, usual), key.replace(".", "/")
    if NoneType in get_args(annotation):
        return
    if _is_text(key, usual):
        raise ConfigError(f"{key}=null: must be text, as in {key}={default}; for the word null, write \"{key}='null'\"")
    if isinstance(default, (int, float)):
        raise ConfigError(_needs_number(key, "null", default))
    if isinstance(default, DictConfig) and "_target_" in default:
        if annotation is not None:
            or_write = f", or write {group}= and one of {', '.join(choices(group))}" if choices(group) else ""
            raise ConfigError(f"{key}=null: a run needs it; leave the option out{or_write}")
        return
    parent = OmegaConf.select(usual, key.rpartition(".")[0]) if "." in key else None
    is_typed = annotation is not None or (isinstance(parent, DictConfig) and "_target_" not in parent)
    if is_typed and isinstance(default, (ListConfig, DictConfig)):
        raise ConfigError(f"{key}=null: must be {'a list' if isinstance(default, ListConfig) else 'a mapping of names to values'}")


def _needs_number(key: str, written: str, default: bool | int | float) -> str:
    return f"{key}={written}: must be {'true or false' if isinstance(default, bool) else 'a number'}, as in {key}={default}"
