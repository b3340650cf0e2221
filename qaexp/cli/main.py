"""`qaexp`: composes a configuration with Hydra, runs it, and answers mistakes of the user with one sentence.

Torch is imported when it is needed, so that help and mistyped options are answered at once.
"""

import argparse
import contextlib
import inspect
import logging
import os
import re
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

from qaexp.cli.command import BROKEN_PIPE, USER_ERROR, discard_output, print_lines, reader_is_gone
from qaexp.config import (
    CONF,
    PRETRAIN,
    RANK,
    Program,
    choice_file,
    compose,
    composed_by_hydra,
    configuration_flags,
    join_options,
    look_also_in,
)
from qaexp.ddp import is_rank_zero
from qaexp.errors import CheckpointError, ConfigError, QaexpError, require_among
from qaexp.files import RUNS_REMEDY, output_errors
from qaexp.logs import silence_libraries
from qaexp.mistakes import SWEEP_FLAGS, check_config, config_of_choices, explain, is_sweep
from qaexp.own_choices import drop_replaced_options_of_job, own_folders
from qaexp.processes import INTERRUPTED, Process, end_with, stop_on_signals
from qaexp.runs.folder import BEST, CONFIG, LAST, LOG, RECORD, RUNS, TRACEBACK, clear, is_resumable
from qaexp.runs.other_runs import require_other_runs

log = logging.getLogger(__name__)

SECONDS_TO_FAIL = 10.0
"""How long a process other than the first waits after an error before it ends. Lightning then kills the first one, which needs this time
to write into its record what went wrong."""


def main(arguments: Sequence[str], program: Program = RANK) -> int:
    """Returns the exit code: 0, 1 for a bug (with its traceback), 2 for a mistake of the user, 130 after Ctrl-C."""
    if {"-h", "--help"} & set(arguments):
        if len(arguments) > 1:
            with contextlib.suppress(ConfigError):  # --help does not say what else is wrong
                flags = _flags(arguments)
                look_also_in(own_folders(flags.config_dir, flags.overrides, flags.config_name))
        from qaexp.cli.help import help_text

        return print_lines(lambda: [help_text(program).rstrip("\n")])
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    if getattr(script := sys.modules["__main__"], "__spec__", None) is None:  # the console script; Lightning's workers start by module
        script.__spec__ = find_spec(program.module)
    stop_on_signals()
    if not is_rank_zero():
        end_with(Process.of(os.getppid()))
    overrides: Sequence[str] = arguments
    try:
        _require_no_dashes(arguments, program)
        flags = _flags(arguments)
        overrides = [*(SWEEP_FLAGS[:1] if flags.multirun else ()), *flags.overrides]
        if flags.config_name:
            program = replace(program, config=flags.config_name.removesuffix(".yaml"))
        look_also_in(own_folders(flags.config_dir, flags.overrides, program.config))
        if "model" not in program.groups():
            raise ConfigError(f"--config-name {program.config}: no such file, or its defaults do not begin with `- config`")
        resumed = [argument.removeprefix("resume=") for argument in arguments if argument.startswith("resume=")]
        if "resume=" in arguments:
            raise ConfigError("resume= is empty; name a run's folder, such as results/runs/DAY/RUN")
        if resumed:
            _resume(Path(resumed[-1]), arguments, program)
        else:
            _compose_and_run(arguments, program)
    except (BrokenPipeError, KeyboardInterrupt) as stop:
        if reader_is_gone(stop):
            discard_output()
            return BROKEN_PIPE
        if is_sweep(overrides):
            log.error("interrupted; the same command runs the jobs that are missing")
        return INTERRUPTED
    except QaexpError as error:
        log.error("%s", error)
        return USER_ERROR
    except Exception as error:
        sentence = explain(error, overrides, program)
        if sentence is None:
            raise
        log.error("%s", sentence)
        return USER_ERROR
    return 0


def pretrain(arguments: Sequence[str]) -> int:
    """`qaexp pretrain`."""
    return main(arguments, PRETRAIN)


def _compose_and_run(arguments: Sequence[str], program: Program) -> None:
    import hydra
    from hydra.core.hydra_config import HydraConfig
    from omegaconf import DictConfig, OmegaConf

    from qaexp.data.missing_files import require_files

    if "output_dir=" in arguments:
        raise ConfigError("output_dir= is empty; name a folder, or leave it out")
    number = r"(?i)^output_dir=([\d.+-][\w.+-]*|null|true|false|nan|inf)$"  # as Hydra reads it: 2024_11_28, 1e3
    arguments = [re.sub(number, r"output_dir='\1'", argument) for argument in arguments]
    flags = _flags(arguments)
    overrides, sweep = flags.overrides, flags.multirun or is_sweep(flags.overrides)
    if not (sweep or flags.cfg or flags.info):
        _warn_of_sweep_options(overrides)
    failures: list[Exception] = []

    def run(cfg: DictConfig) -> None:
        given, folder = list(HydraConfig.get().overrides.task), Path(HydraConfig.get().runtime.output_dir)
        try:
            drop_replaced_options_of_job(cfg, CONF)
            check_config(cfg, config_of_choices(given, program), given)
            require_other_runs(cfg)
            require_files(cfg)
            run_in(folder, cfg, join_options([*configuration_flags(), *given]), program)
        except Exception as error:  # raised below, after Hydra, which would print a line of its own
            failures.append(error)
            with contextlib.suppress(OSError):
                folder.rmdir()  # if it is empty: Hydra makes it before a mistake is found

    if flags.cfg == "job" and not (flags.multirun or flags.package or flags.config_path):
        cfg = composed_by_hydra(overrides, program.config)  # Hydra itself would show the options of classes that are replaced
        sys.stdout.write(OmegaConf.to_yaml(cfg, resolve=flags.resolve))
        sys.stdout.flush()  # so that a broken pipe is noticed here
        return
    if flags.info:
        logging.getLogger().handlers.clear()  # Hydra logs to a screen handler of its own
    if sweep:
        from qaexp.sweep.sweeper import register

        register()
    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors reach main() as they are
    first = [argument for argument in arguments if argument not in overrides]
    sys.argv = ["qaexp", *first, *overrides]  # Hydra wants the flags first; its completion is of qaexp
    hydra.main(version_base="1.3", config_path=str(CONF), config_name=program.config)(run)()
    if failures:
        raise failures[0]


def _flags(arguments: Sequence[str]) -> argparse.Namespace:
    """Hydra's flags, and the `overrides` among the arguments.

    Raises:
        ConfigError: a flag is unknown, or lacks its value.
    """
    from hydra._internal.utils import get_args_parser

    def refuse(message: str) -> NoReturn:
        raise ConfigError(f"{message}; options are written without dashes, as in model=ggsa, and `qaexp --hydra-help` lists flags")

    parser = get_args_parser()
    parser.error = refuse  # which would print all of Hydra's flags
    return parser.parse_intermixed_args(list(arguments))


def _require_no_dashes(arguments: Sequence[str], program: Program) -> None:
    """Raises: ConfigError, when an option is written as `--model ggsa` or `--seed=2`."""
    top = re.findall(r"^(\w+):", (CONF / f"{program.config}.yaml").read_text(encoding="utf-8"), flags=re.MULTILINE)
    names = {*top, *(group.partition("/")[0] for group in program.groups())} - {"hydra", "defaults"}
    for argument, following in pairwise([*arguments, ""]):
        name, _, value = argument.lstrip("-").partition("=")
        if argument.startswith("-") and re.split("[./]", name)[0] in names:
            raise ConfigError(f"{argument}: options are written without dashes, as in {name}={value or following or 'VALUE'}")


def _warn_of_sweep_options(overrides: Sequence[str]) -> None:
    """Warn of options that only a sweep reads, when this is a single run."""
    for argument in overrides:
        if argument.startswith(("hydra/sweeper=", "hydra/launcher=", "hydra.sweeper.", "hydra.launcher.")):
            log.warning("%s has an effect in sweeps only; add -m for a sweep", argument)
        elif argument.startswith("experiment=") and _has_grid(argument.partition("=")[2]):
            log.warning("%s describes a grid of runs, and this is one run; add -m for all of them", argument)


def _has_grid(experiment: str) -> bool:
    from omegaconf import OmegaConf

    path = choice_file("experiment", experiment)
    return path is not None and OmegaConf.select(OmegaConf.load(path), "hydra.sweeper.params") is not None


def _resume(folder: Path, arguments: Sequence[str], program: Program) -> None:
    from omegaconf import OmegaConf

    from qaexp.runs.record import RunRecord
    from qaexp.runs.store import GROWING
    from qaexp.runs.trusted import saved_config

    more = [argument for argument in arguments if not argument.startswith("resume=")]
    if odd := [option for option in more if option.partition("=")[0] not in GROWING]:
        raise ConfigError(
            f"resume=FOLDER continues a run with its own configuration, of which only {' and '.join(GROWING)} may be raised; leave "
            f"{odd[0]} out"
        )
    if not (folder / CONFIG).is_file():
        raise ConfigError(f"resume={folder}: there is no config.yaml in it; runs are the folders in {RUNS}/<day>/")
    if not (folder / RECORD).is_file():
        raise ConfigError(f"resume={folder}: there is no record.json in it to continue from; start the run again with its command line")
    if links := sorted(path.name for path in folder.iterdir() if path.is_symlink()):
        raise ConfigError(f"resume={folder}: {links[0]} is a link, and the run would write elsewhere; put the file itself in its place")
    cfg = saved_config(folder)
    other = next((each for each in (RANK, PRETRAIN) if each.own_key in cfg), None)
    if other is None:
        raise ConfigError(f"{folder / CONFIG} is damaged (it is empty or cut off); start the run again with its command line")
    if other.module != program.module:
        raise ConfigError(f"resume={folder}: this is not a run of {program.command}; resume it with: {other.resume(folder)}")
    if not RunRecord.load(folder).is_of(OmegaConf.to_container(cfg)):
        raise ConfigError(f"resume={folder}: {CONFIG} was changed after the run began; restore it from {RECORD}, or start a new run")
    if more:
        _lengthen(folder, cfg, more)
    run_in(folder, cfg, "", program, resume=True)


def _lengthen(folder: Path, cfg: Any, more: Sequence[str]) -> None:
    """Set more epochs or more patience in the configuration of a run.

    Raises:
        ConfigError: a value is not above the run's own, or the run cannot be continued with more epochs.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.utils import get_object
    from omegaconf import OmegaConf

    from qaexp.runs.record import RunRecord

    record, last = RunRecord.load(folder), cfg.trainer.max_epochs
    if record.status == "finished" and not record.history:
        raise ConfigError(f"resume={folder}: its model is not trained in epochs, so more epochs change nothing")
    given = {option.key_or_group: option.value() for option in OverridesParser.create().parse_overrides(list(more))}
    for name, value in given.items():
        before = OmegaConf.select(cfg, name)
        if not isinstance(value, int) or value <= before:
            written = next(option for option in more if option.startswith(f"{name}="))
            raise ConfigError(f"{written}: write a whole number above {before}, which the run had")
        OmegaConf.update(cfg, name, value)
    if "patience" in given and (stopping := OmegaConf.select(cfg, "callbacks.early_stopping")):
        stopping.patience = cfg.patience
    if record.status == "finished" and len(record.history) < last and "patience" not in given:
        raise ConfigError(
            f"resume={folder}: it stopped early, after {len(record.history)} epochs (patience={cfg.patience}); raise patience, too"
        )
    if "num_steps" in inspect.signature(get_object(cfg.schedule._target_)).parameters:
        raise ConfigError(f"resume={folder}: its learning rate depends on trainer.max_epochs from the first step on; start a new run")
    if record.status == "finished" and not (folder / LAST).is_file():
        raise ConfigError(f"resume={folder}: there is no {LAST} to go on from, as sweeps and tables leave none; start a new run")


def run_in(folder: Path, cfg: Any, command: str, program: Program = RANK, resume: bool = False) -> None:
    """Run a configuration in its own folder, and show configuration and results on the terminal.

    Raises:
        ConfigError: another process runs in the folder, or it has a run already.
        OutputError: the folder cannot be written.
    """
    from qaexp.runs.store import claim

    if not is_rank_zero():  # another process of the same distributed run
        silence_libraries()
        logging.disable(logging.INFO)
        try:
            program.load()(cfg, folder, command, resume)
        except Exception:
            time.sleep(SECONDS_TO_FAIL)
            raise
        return
    with claim(folder) as mine:
        if not mine:
            raise ConfigError(f"another process is running in {folder}; wait for it to end, or stop it")
        _run_alone(folder, cfg, command, program, resume)


def _run_alone(folder: Path, cfg: Any, command: str, program: Program, resume: bool) -> None:
    from omegaconf import OmegaConf

    from qaexp.cli import screen as console
    from qaexp.runs.checkpoint import last_checkpoint
    from qaexp.runs.record import RunRecord
    from qaexp.runs.store import go_on

    shown = cfg.get("print_config", "full")
    require_among("print_config", [shown], ("diff", "full", "none"))
    if resume and not RunRecord.load(folder).is_of(OmegaConf.to_container(cfg)):
        last_checkpoint(folder)  # if it is damaged, the run stays as it is
        go_on(folder, cfg)
    with output_errors(folder, RUNS_REMEDY):
        try:
            if not resume:
                with (folder / CONFIG).open("x", encoding="utf-8") as file:
                    file.write(OmegaConf.to_yaml(cfg, resolve=True))
            log_file = logging.FileHandler(folder / LOG)
        except FileExistsError as error:
            raise ConfigError(
                f"{folder} has a run already; continue it with: {program.resume(folder)}, or name another folder in hydra.run.dir"
            ) from error
    logging.getLogger().addHandler(log_file)
    try:
        if resume and (finished := RunRecord.with_status(folder, "finished")):
            clear(folder)  # the process may have been killed just before it did this
            console.show_results(finished, folder)
            if not (folder / BEST).is_file():
                log.warning("%s, with the best epoch's weights, was deleted; the run's command line makes it again", folder / BEST)
            return
        if not resume and shown != "none":
            console.show_config(cfg, compose([], program) if shown == "diff" else None)
        work = program.load()
        silence_libraries()
        results = work(cfg, folder, command, resume)
        (folder / TRACEBACK).unlink(missing_ok=True)  # left by an earlier attempt
        console.show_results(results, folder)
    except (KeyboardInterrupt, SystemExit) as stop:  # Lightning turns Ctrl-C into SystemExit, and Rich a broken pipe
        if reader_is_gone(stop):
            raise BrokenPipeError from stop
        if (folder / RECORD).is_file():
            log.error("interrupted; continue with: %s", program.resume(folder))
        else:
            log.error("interrupted before anything was measured; start again with the same command")
        raise KeyboardInterrupt from stop
    except Exception as error:
        with contextlib.suppress(OSError):  # the disk may be full
            (folder / TRACEBACK).write_text(traceback.format_exc(), encoding="utf-8")
        if is_resumable(folder) and not isinstance(error, CheckpointError):  # which has a remedy of its own
            log.error("the measurements so far are in %s; to continue after its last epoch: %s", folder, program.resume(folder))
        raise
    finally:
        logging.getLogger().removeHandler(log_file)
        log_file.close()
