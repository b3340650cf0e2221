"""Choices of the user's own: folders with YAML beside conf/, and classes that replace others."""

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict

from qaexp.errors import ConfigError
from qaexp.limits import located

SEARCH_PATH = "hydra.searchpath="


def own_folders(config_dir: str | None, overrides: Sequence[str], config: str | None = None) -> list[Path]:
    """The folders of `--config-dir` and of `hydra.searchpath`. The user's primary configuration may set `hydra.searchpath`.

    Raises:
        ConfigError: a folder or package does not exist.
    """
    folders = [("--config-dir", config_dir)] if config_dir else []
    given = any(option.startswith(SEARCH_PATH) for option in overrides)
    if config_dir and config and not given and (primary := Path(config_dir).expanduser() / f"{config}.yaml").is_file():
        places = OmegaConf.select(OmegaConf.load(primary), SEARCH_PATH.rstrip("=")) or []
        folders += [(f"{primary}: {SEARCH_PATH.rstrip('=')}", str(place)) for place in places]
    for option in overrides:
        if option.startswith(SEARCH_PATH):
            try:
                value = OverridesParser.create().parse_override(option).value()
            except HydraException:
                continue  # Hydra says what is wrong with it
            folders += [(SEARCH_PATH.rstrip("="), str(place)) for place in (value if isinstance(value, list) else [value])]
    return [_folder(option, place) for option, place in folders]


def _folder(option: str, place: str) -> Path:
    if place.startswith("pkg://"):
        package = place.removeprefix("pkg://").strip("/").replace("/", ".")
        try:
            spec = find_spec(package)
        except ImportError:
            spec = None
        if spec is None or not spec.submodule_search_locations:
            raise ConfigError(f"{option}: there is no package {package}; install it, or put the folder that it is in into PYTHONPATH")
        return Path(next(iter(spec.submodule_search_locations)))
    folder = Path(place.removeprefix("file://")).expanduser()
    if not folder.is_dir():
        raise ConfigError(f"{option}: there is no folder {folder}; name one that has groups in it, such as {folder.name}/model/mine.yaml")
    return folder.absolute()


def drop_replaced_options_of_job(cfg: DictConfig, shipped: Path) -> None:
    """Calls `drop_replaced_options` with the job that Hydra is running."""
    job = HydraConfig.get()
    overrides = [*job.overrides.hydra, *job.overrides.task]
    drop_replaced_options(cfg, GlobalHydra.instance().config_loader(), str(job.job.config_name), overrides, shipped)


def drop_replaced_options(cfg: DictConfig, loader: ConfigLoader, config: str, overrides: Sequence[str], shipped: Path) -> None:
    """Drop the options of a replaced class, where the user's own file or an override names another `_target_`.

    A file that replaces `_target_: MeanPooling` need not delete that class's options. Options that the new class takes too are kept. So are
    all options that are written with the new class or after it.
    """
    chosen = [option for option in overrides if not option.startswith("hydra.")]
    values = OverridesParser.create().parse_overrides(chosen)
    searched = any(option.startswith(SEARCH_PATH) for option in overrides)
    if not any(value.key_or_group.endswith("_target_") for value in values) and not searched and not _has_own_files(loader, shipped):
        return
    for place, names in _replaced(_layers(loader, config, overrides, values, shipped)).items():
        node = OmegaConf.select(cfg, place) if names else None
        if isinstance(node, DictConfig) and (taken := parameters_of(located(node.get("_target_") or ""))) is not None:
            with open_dict(node):
                for name in names - set(taken):
                    node.pop(name, None)


def _layers(
    loader: ConfigLoader, config: str, overrides: Sequence[str], values: Sequence[Override], shipped: Path
) -> Iterator[tuple[bool, Any]]:
    """The files and overrides that make a configuration, in their order: whether each is the user's own, and its content."""
    # with the folders of hydra.searchpath
    _, repository = loader._parse_overrides_and_create_caching_repo(config, list(overrides))  # type: ignore[attr-defined]
    for default in loader.compute_defaults_list(config, list(overrides), run_mode=RunMode.RUN).defaults:
        if default.config_path is None or default.config_path.startswith("hydra/"):
            continue
        if (loaded := repository.load_config(default.config_path)) is not None:
            package = [part for part in (default.package or "").split(".") if part and part != "_global_"]
            own = Path(str(loaded.path).removeprefix("file://")) != shipped
            yield own, _nested(package, OmegaConf.to_container(loaded.config))
    for value in values:
        yield True, _nested(value.key_or_group.split("."), value.value() if not value.is_delete() else None)


def _nested(parts: Sequence[str], content: Any) -> Any:
    """
    >>> _nested(["model", "encoder"], 1)
    {'model': {'encoder': 1}}
    """
    for part in reversed(parts):
        content = {part: content}
    return content


def _replaced(layers: Iterable[tuple[bool, Any]]) -> Mapping[str, set[str]]:
    """For each place where the user's own layer replaces the `_target_`: the options written before it and not since."""
    targets, options, stale = dict[str, str](), dict[str, set[str]](), dict[str, set[str]]()
    for own, content in layers:
        for place, node in nodes_of(content):
            target, names = node.get("_target_"), set(node) - {"_target_", "_partial_"}
            if target is not None and own and targets.get(place, target) != target:
                stale[place] = set(options.get(place, ()))
            if target is not None:
                targets[place] = target
            stale[place] = stale.get(place, set()) - names
            options[place] = options.get(place, set()) | names
    return stale


def _has_own_files(loader: ConfigLoader, shipped: Path) -> bool:
    places = [str(source.path) for source in loader.get_sources() if source.provider not in ("hydra", "schema")]
    return any(Path(place.removeprefix("file://")) != shipped for place in places)


def nodes_of(content: Any, place: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each mapping in a configuration, with its place in dots."""
    if isinstance(content, Mapping):
        yield place, content
        for name, inner in content.items():
            yield from nodes_of(inner, f"{place}.{name}".lstrip("."))


def parameters_of(built: object) -> list[str] | None:
    """The parameters of a class; None if it takes any keyword or is not callable; a later check reports the latter."""
    parameters = inspect.signature(built).parameters if callable(built) else {}
    return None if not callable(built) or any(each.kind is each.VAR_KEYWORD for each in parameters.values()) else list(parameters)
