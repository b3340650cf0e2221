"""Hands the Hydra configuration to train(), and every mistake back to the user in one sentence.

Torch is imported when a run starts, not before: help and mistyped options are answered at once.
"""

import difflib
import errno
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from qaexp.config import CONF, choices, compose
from qaexp.errors import ConfigError, OutputError, QaexpError

log = logging.getLogger(__name__)

USER_ERROR, INTERRUPTED = 2, 130
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR)


def main(arguments: Sequence[str]) -> int:
    """The exit status: 0, 1 for a fault of ours (with its traceback), 2 for one the user can mend, 130 after Ctrl-C."""
    if {"-h", "--help"} & set(arguments):
        from qaexp.help import help_text

        sys.stdout.write(help_text())
        return 0
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        resumed = [argument.removeprefix("resume=") for argument in arguments if argument.startswith("resume=")]
        if resumed:
            _resume(Path(resumed[-1]), arguments)
        else:
            _compose_and_run(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except QaexpError as error:
        log.error("%s", error)
        return USER_ERROR
    except Exception as error:
        sentence = _explain(error, arguments)
        if sentence is None:
            raise
        log.error("%s", sentence)
        return USER_ERROR
    return 0


def _compose_and_run(arguments: Sequence[str]) -> None:
    import hydra
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode
    from omegaconf import DictConfig

    usual = _usual(arguments)
    failures: list[Exception] = []

    def run(cfg: DictConfig) -> None:
        """One job. Its failure is kept until all jobs of a sweep have had their turn."""
        overrides = list(HydraConfig.get().overrides.task)
        try:
            require_meaningful(cfg, usual, overrides)
            run_in(Path(HydraConfig.get().runtime.output_dir), cfg, " ".join(overrides))
        except Exception as error:
            failures.append(error)
            if HydraConfig.get().mode == RunMode.MULTIRUN:
                log.error("job %s failed: %s", " ".join(overrides), _explain(error, arguments) or repr(error))

    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors reach main() as they are
    sys.argv = ["python -m qaexp", *sorted(arguments, key=lambda argument: argument not in ("-m", "--multirun"))]  # Hydra wants -m first
    hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")(run)()
    if failures:
        raise failures[0]


def _usual(arguments: Sequence[str]) -> Any:
    """The configuration with the same choices (the first of several) and no other override."""
    pairs = [argument.partition("=")[::2] for argument in arguments]
    return compose([f"{key}={value.split(',')[0]}" for key, value in pairs if (CONF / key).is_dir()])


def require_meaningful(cfg: Any, usual: Any, overrides: Sequence[str]) -> None:
    """Raises: ConfigError, when an override adds a key that nothing reads, or gives words where a number or a switch is expected."""
    from omegaconf import OmegaConf

    pairs = [override.lstrip("+~").partition("=")[::2] for override in overrides]
    if extra := [str(key) for key in cfg if key not in usual]:
        raise ConfigError(f"nothing reads the option {extra[0]}{_nearest(extra[0], list(map(str, usual)))}")
    for key, value in pairs:
        default, given = OmegaConf.select(usual, key), OmegaConf.select(cfg, key)
        if isinstance(default, (int, float)) and not isinstance(given, (int, float, type(None))):
            raise ConfigError(
                f"{key}={value}: {'true or false' if isinstance(default, bool) else 'a number'} is expected, as in {key}={default}"
            )


def _resume(folder: Path, arguments: Sequence[str]) -> None:
    from omegaconf import DictConfig, OmegaConf

    if len(arguments) > 1:
        raise ConfigError("resume=FOLDER goes on with that run's own configuration and takes no other option; leave the others out")
    if not (folder / "config.yaml").is_file():
        raise ConfigError(f"resume={folder}: no run has left a config.yaml there; runs are the folders in results/runs/<day>/")
    cfg = OmegaConf.load(folder / "config.yaml")
    assert isinstance(cfg, DictConfig)
    run_in(folder, cfg, "", resume=True)


def run_in(folder: Path, cfg: Any, command: str, resume: bool = False) -> None:
    """One run in a folder of its own, with everything that the screen shows around it."""
    from omegaconf import OmegaConf

    from qaexp import console

    try:
        if not resume:
            with (folder / "config.yaml").open("x", encoding="utf-8") as file:
                file.write(OmegaConf.to_yaml(cfg, resolve=True))
        log_file = logging.FileHandler(folder / "run.log")
    except OSError as error:
        raise OutputError(f"cannot write to {folder}: {error.strerror}. Name another place with output_dir=FOLDER") from error
    logging.getLogger().addHandler(log_file)
    try:
        if resume and (finished := console.finished(folder)):
            console.show_results(finished, folder)
            return
        if not resume:
            console.show_config(cfg)
        from qaexp.train import train  # torch and Lightning: some seconds

        _quieten()
        console.show_results(train(cfg, folder, command, resume), folder)
    except (KeyboardInterrupt, SystemExit) as stop:  # Lightning turns Ctrl-C into SystemExit
        log.error("interrupted; go on with: python -m qaexp resume=%s", folder)
        raise KeyboardInterrupt from stop
    except Exception:
        (folder / "error.log").write_text(traceback.format_exc(), encoding="utf-8")
        if (folder / "last.ckpt").exists():
            log.error("what was measured is in %s; to go on from its last epoch: python -m qaexp resume=%s", folder, folder)
        raise
    finally:
        logging.getLogger().removeHandler(log_file)
        log_file.close()


def _quieten() -> None:
    """Lightning's chatter says nothing that our screen does not."""
    for name in ("pytorch_lightning", "lightning_fabric", "lightning", "gensim", "wandb"):
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="pytorch_lightning|torch|wandb|lightning_fabric")


def _explain(error: Exception, arguments: Sequence[str]) -> str | None:
    """A sentence for an error that the user can mend; None for one that only we can."""
    from hydra.errors import HydraException, InstantiationException
    from omegaconf.errors import OmegaConfBaseException

    ours = next((e for e in _chain(error) if isinstance(e, QaexpError)), None)
    if ours is not None:
        return str(ours)
    if isinstance(error, InstantiationException):
        where = next((line.partition(":")[2].strip() for line in str(error).splitlines() if line.startswith("full_key")), "it")
        cause = list(_chain(error))[-1]
        return f"{where} cannot be built from this configuration: {cause} ({type(cause).__name__})"
    if isinstance(error, (HydraException, OmegaConfBaseException)):
        return next(_mistakes(arguments), str(error).splitlines()[0])
    if isinstance(error, OSError) and (error.errno in UNWRITABLE or traceback.extract_tb(error.__traceback__)[-1].name == "mkdir"):
        return f"cannot write {error.filename or 'the output folder'}: {error.strerror}. Name another place with output_dir=FOLDER"
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _mistakes(arguments: Sequence[str]) -> Iterator[str]:
    """For each argument that names no group, choice or key: which one, and what was probably meant."""
    overrides = [argument.lstrip("+~").partition("=")[::2] for argument in arguments if not argument.startswith("-")]
    for key, value in overrides:
        if not (CONF / key).is_dir():
            continue
        for choice in value.split(","):
            if choice not in choices(key):
                yield f"there is no {key}={choice}{_nearest(choice, choices(key))}; choices: {', '.join(choices(key))}"
        if "," in value and not {"-m", "--multirun"} & set(arguments):
            yield f"{key}={value} is a run for each: add -m"
    keys = [*_keys(_usual(arguments)), "hydra", "resume", *_groups()]
    for key, _ in overrides:
        if key not in keys and not key.startswith("hydra"):
            yield f"there is no option {key}{_nearest(key, keys)} (`python -m qaexp --help` lists the groups, `--cfg job` every option)"
    for argument in arguments:
        if "=" not in argument and not argument.startswith(("-", "~")):
            yield f"{argument!r} is not an option: write NAME=VALUE"


def _nearest(word: str, known: Sequence[str]) -> str:
    """ ", did you mean ...", or nothing where nothing is near."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f", did you mean {close[0]}" if close else ""


def _keys(cfg: Any, prefix: str = "") -> Iterator[str]:
    for key in cfg:
        yield f"{prefix}{key}"
        if hasattr(cfg._get_node(key), "keys") and cfg._get_node(key)._is_none() is False:
            yield from _keys(cfg._get_node(key), f"{prefix}{key}.")


def _groups() -> list[str]:
    return [str(folder.relative_to(CONF)) for folder in CONF.rglob("*") if folder.is_dir()]
