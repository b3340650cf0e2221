"""Composes configurations from conf/, as the command line does, and joins, splits and filters their overrides."""

import hashlib
import importlib
import json
import os
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import yaml
from hydra import __version__ as hydra_version
from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override, Quote, QuotedString
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from qaexp.errors import OutputError
from qaexp.files import atomic_write_text
from qaexp.own_choices import SEARCH_PATH, drop_replaced_options, own_folders

CONF = Path(__file__).with_name("conf").resolve()
"""In a checkout, `qaexp/conf` is a link to the top-level conf/; in a wheel, it holds the files."""

_own: list[Path] = []


def look_also_in(folders: Iterable[Path]) -> None:
    """Also take choices from these folders, for the rest of the process."""
    _own[:] = folders


def conf_folders() -> list[Path]:
    """Where choices are: conf/, and the folders of the user's own."""
    return [CONF, *_own]


@dataclass(frozen=True)
class Program:
    """A program that runs a composed configuration: `qaexp` or `qaexp pretrain`."""

    module: str
    """The name after `python -m`."""
    config: str
    """Its primary file in conf/."""
    function: str
    """`module:name` of the function that runs it. It takes configuration, folder, command line and whether to resume, and returns a
    record.
    """
    own_key: str
    """A top-level key that only its configurations have."""
    needs: str
    """The remedy that an error gives if choices do not fit together."""

    @property
    def command(self) -> str:
        return self.module.replace(".", " ")

    def resume(self, folder: Path) -> str:
        """The command line that continues a run.

        >>> RANK.resume(Path("my run"))
        "qaexp 'resume=my run'"
        """
        return f"{self.command} {join_options([f'resume={folder}'])}"

    def load(self) -> Callable[..., Any]:
        """Import the function. This takes seconds, since its module imports torch and Lightning."""
        module, _, name = self.function.partition(":")
        return getattr(importlib.import_module(module), name)

    def groups(self) -> list[str]:
        """The groups of conf/ in its configuration, model slots included. Does not start Hydra.

        >>> [group for group in PRETRAIN.groups() if "/" not in group]
        ['callbacks', 'dataset', 'debug', 'logger', 'loss', 'model', 'optimizer', 'output', 'schedule', 'trainer']
        """
        first = _groups_of(self.config)
        folders = {folder.relative_to(conf) for conf in conf_folders() for folder in conf.rglob("*") if folder.is_dir()}
        mine = [str(folder) for folder in folders if folder.parts[0] in (*first, "hydra") and folder.parts[:-1] != ("experiment",)]
        return sorted(group for group in mine if choices(group))


def _groups_of(config: str) -> list[str]:
    """The groups in the defaults of a primary configuration, and of the configurations that these defaults include, such as `- config`."""
    file = choice_file("", config)
    content: Any = yaml.safe_load(file.read_text(encoding="utf-8")) if file else None
    groups: list[str] = []
    for default in content.get("defaults", []) if isinstance(content, dict) else []:
        if isinstance(default, str) and default not in ("_self_", config):
            groups += _groups_of(default)
        elif isinstance(default, dict):
            groups += [name for name in map(str, default) if not name.startswith("override ")]
    return groups


RANK = Program("qaexp", "config", "qaexp.train:train", "init_from", "leave it out, or choose a model that has it")
PRETRAIN = Program(
    "qaexp.pretrain",
    "pretrain",
    "qaexp.pretrain:pretrain",
    "pairs",
    "choose a model with a recurrent cell (rcnn or gru) and a data set with held-out questions (askubuntu)",
)


def configuration_flags() -> list[str]:
    """The `--config-dir`, `--config-name` and `hydra.searchpath` options that the running Hydra job was given."""
    job = HydraConfig.get()
    folders = [source.path for source in job.runtime.config_sources if source.provider == "command-line"]
    named = [f"--config-name={job.job.config_name}"] if job.job.config_name not in (RANK.config, PRETRAIN.config) else []
    paths = [option for option in job.overrides.hydra if option.startswith(SEARCH_PATH)]
    return [*(f"--config-dir={folder}" for folder in folders), *named, *paths]


def program_of(config: Mapping[str, Any]) -> Program:
    """The program that a composed configuration is for."""
    return PRETRAIN if PRETRAIN.own_key in config else RANK


def choices(group: str) -> list[str]:
    """The names of a group's YAML files, without those with a leading underscore, which are parts of others.

    >>> choices("schedule")
    ['constant', 'cosine', 'inverse_epoch', 'linear']
    """
    pattern = "**/*.yaml" if group == "experiment" else "*.yaml"
    found = {path.relative_to(conf / group).with_suffix("") for conf in conf_folders() for path in (conf / group).glob(pattern)}
    return sorted(str(path) for path in found if not path.stem.startswith("_"))


def choice_file(group: str, choice: str) -> Path | None:
    """The YAML file of a choice; None if there is none."""
    return next((path for conf in conf_folders() if (path := conf / group / f"{choice}.yaml").is_file()), None)


def values_of(override: Override) -> list[str]:
    """The values of a sweep over a list, as they are written. `glob(PATTERN)` stands for the choices of a group."""
    found = override.value()
    return found.filter(choices(override.get_key_element())) if isinstance(found, Glob) else list(override.sweep_string_iterator())


def is_choice(option: str) -> bool:
    """Whether an option chooses a YAML file of a group.

    >>> [is_choice(option) for option in ("model=ggsa", "+model/interaction=question_residual", "model.encoder.offset=0")]
    [True, True, False]
    """
    group = option.lstrip("+~").partition("=")[0].partition("@")[0]
    return any((conf / group).is_dir() for conf in conf_folders())


def compose(overrides: Sequence[str] = (), program: Program = RANK) -> DictConfig:
    """Compose a configuration from overrides, as the program's command line does.

    Hydra composes each combination of YAML files once; the result is cached. Plain values are then set as Hydra would set them. Hydra
    composes everything if an override is not a plain value, or if setting one fails. Folders of `hydra.searchpath` are searched for the
    rest of the process.
    """
    look_also_in(dict.fromkeys([*_own, *own_folders(None, overrides)]))
    chosen, values = [each for each in overrides if is_choice(each)], [each for each in overrides if not is_choice(each)]
    if all(re.match(r"[A-Za-z_][\w.]*(?<!_target_)=", each) for each in values):
        with suppress(HydraException, OmegaConfBaseException):
            cfg: Any = OmegaConf.create(json.loads(_composed_choices(conf_digest(), program.config, tuple(chosen))))  # faster than deepcopy
            OmegaConf.set_struct(cfg, True)
            for override in OverridesParser.create().parse_overrides(values):
                if override.is_sweep_override():
                    break
                OmegaConf.update(cfg, override.key_or_group, override.value(), merge=True)
            else:
                return cfg
    return composed_by_hydra(overrides, program.config)


def composed_by_hydra(overrides: Sequence[str], config: str) -> DictConfig:
    file = choice_file("", config)
    home = file.parent if file else CONF  # Hydra reads the primary configuration before it knows of a search path
    if _own:  # it has the folders of a search path on the command line, too
        others = ",".join(in_hydra(f"file://{folder}") for folder in conf_folders() if folder != home)
        overrides = [*(option for option in overrides if not option.startswith(SEARCH_PATH)), f"{SEARCH_PATH}[{others}]"]
    with _within_another_composition():
        with initialize_config_dir(str(home), version_base="1.3"):
            cfg = hydra_compose(config, overrides=list(overrides), return_hydra_config=True)
            drop_replaced_options(cfg, GlobalHydra.instance().config_loader(), config, overrides, CONF)
        HydraConfig.instance().set_config(cfg)
        with open_dict(cfg):
            del cfg["hydra"]
            cfg.choices = OmegaConf.to_container(cfg.choices, resolve=True)  # now: later Hydra would use its latest composition
    return cfg


@contextmanager
def _within_another_composition() -> Iterator[None]:
    """Saves and restores Hydra's global state, so that a configuration can be composed inside `hydra.main`."""
    running, described = GlobalHydra.instance().hydra, HydraConfig.instance().cfg
    GlobalHydra.instance().clear()
    try:
        yield
    finally:
        if running is not None:
            GlobalHydra.instance().hydra, HydraConfig.instance().cfg = running, described


@lru_cache(maxsize=256)
def _composed_choices(digest: str, config: str, chosen: Sequence[str]) -> str:
    """The configuration as JSON, from the cache on disk unless conf/ has changed since. Composing takes a tenth of a second."""
    name = hashlib.sha256(json.dumps([config, *chosen]).encode()).hexdigest()[:32]
    path = cache_folder() / "composed" / digest / f"{name}.json"
    with suppress(OSError, ValueError):
        stored = path.read_text(encoding="utf-8")
        json.loads(stored)
        return stored
    composed = json.dumps(OmegaConf.to_container(composed_by_hydra(chosen, config)))
    if conf_digest() == digest:  # conf/ was not edited meanwhile
        with suppress(OutputError):
            atomic_write_text(path, composed)
    return composed


def usual_callbacks(cfg: DictConfig) -> DictConfig:
    """`conf/callbacks/default.yaml`, for a configuration written before callbacks could be chosen."""
    usual = OmegaConf.merge(*(OmegaConf.load(CONF / "callbacks" / f"{name}.yaml") for name in ("best_checkpoint", "early_stopping")))
    return OmegaConf.merge(cfg, {"callbacks": usual}).callbacks


def cache_folder() -> Path:
    """The `cache_dir` of conf/ without overrides."""
    return Path(_main_config((CONF / "config.yaml").stat().st_mtime_ns).cache_dir).expanduser()


@cache
def _main_config(changed: int) -> DictConfig:
    """conf/config.yaml, parsed again only if its modification time `changed` differs."""
    main = OmegaConf.load(CONF / "config.yaml")
    assert isinstance(main, DictConfig)
    return main


def conf_digest() -> str:
    """A digest of the configuration files and of the version of Hydra that composes them."""
    paths = (
        (str(conf), path)
        for conf in conf_folders()  # in their order: the first folder that has a choice gives it
        for path in sorted(os.path.join(folder, name) for folder, _, names in os.walk(conf) for name in names if name.endswith(".yaml"))
    )
    return _digest(tuple((conf, path, os.stat(path).st_mtime_ns) for conf, path in paths))


@lru_cache(maxsize=2)
def _digest(files: Sequence[tuple[str, str, int]]) -> str:
    """Computed again only if a path or a modification time differs."""
    content = hashlib.sha256(hydra_version.encode())
    for folder, path, _ in files:
        content.update(f"{Path(path).relative_to(folder)}\n".encode() + Path(path).read_bytes())
    return content.hexdigest()[:16]


def join_options(options: Iterable[str]) -> str:
    """Join options with spaces. An option with whitespace in it is quoted for the shell.

    >>> print(join_options(["model=ggsa", "widths=[2,3]", "dataset.reader.folder='my data'"]))
    model=ggsa widths=[2,3] 'dataset.reader.folder='"'"'my data'"'"''
    """
    return " ".join(option if option.split() == [option] else shlex.quote(option) for option in options)


def without_keys(options: Iterable[str], names: Collection[str]) -> list[str]:
    """The options, without those of these top-level keys and groups.

    >>> without_keys(["model=ggsa", "logger.project=mine", "+labels.row=a", "seed=1"], ("logger", "labels"))
    ['model=ggsa', 'seed=1']
    """
    return [option for option in options if re.split("[=/.]", option.lstrip("+~"))[0] not in names]


def in_hydra(value: Any) -> str:
    """A value as an override writes it. A text stays a text: it is quoted, unless it is a plain word.

    >>> print(in_hydra("runs/a-1"), in_hydra("runs(1)/it's"), in_hydra(["1e3", None, True, 2]))
    runs/a-1 'runs(1)/it\\'s' ['1e3',null,true,2]
    >>> print(in_hydra([{"_target_": "mine.Callback", "every": 2}]))
    [{_target_:mine.Callback,every:2}]
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(in_hydra, value))}]"
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{in_hydra(name)}:{in_hydra(each)}' for name, each in value.items())}}}"
    if not isinstance(value, (str, Path)):
        return str(value)
    plain = re.fullmatch(r"(?!(?:null|true|false|nan|inf)$)[A-Za-z_/][A-Za-z0-9_/.@%+-]*", str(value), flags=re.IGNORECASE)
    return str(value) if plain else QuotedString(text=str(value), quote=Quote.single).with_quotes()


def split_options(command: str) -> list[str]:
    """Undo `join_options`.

    >>> split_options(join_options(["dataset.reader.folder='my data'", "labels.row='a'", "seed=1"]))
    ["dataset.reader.folder='my data'", "labels.row='a'", 'seed=1']
    """
    words = re.findall(r"""('[^']*'(?:"'"'[^']*')*)|(\S+)""", command)
    return [shlex.split(quoted)[0] if quoted else plain for quoted, plain in words]
