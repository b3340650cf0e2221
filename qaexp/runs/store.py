"""Runs stored by key: one folder for each, used by one process at a time. Finished runs are not run again."""

import logging
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout
from omegaconf import DictConfig, OmegaConf

from qaexp.config import RANK, Program, compose, join_options, split_options
from qaexp.ddp import require_one_process
from qaexp.errors import BadDataError, CheckpointError, ConfigError, MissingDataError, OutputError, PrunedError, RecordError
from qaexp.files import RUNS_REMEDY, atomic_write_text, output_errors, remove_staging
from qaexp.logs import silence_libraries
from qaexp.mistakes import check_config, config_of_choices, explain
from qaexp.runs.folder import CONFIG, ERROR, LAST, RECORD, SET_ASIDE, TRACEBACK, clear_all, is_resumable
from qaexp.runs.identity import config_key
from qaexp.runs.other_runs import other_runs, with_other_runs, with_pinned_runs
from qaexp.runs.record import RunRecord
from qaexp.runs.sources import Sources

log = logging.getLogger(__name__)

CLAIM, ASIDE = ".claim", ".aside"

ENDED = ("finished", "pruned")
"""Statuses of runs that have ended. A pruned run goes on if it is asked for without a pruner."""

GROWING = ("trainer.max_epochs", "patience")
"""What may be raised when a run is resumed."""


Status = Literal["ran", "kept", "pruned", "failed", "busy"]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a requested run: `ran` now; `kept` from before; `pruned` by a callback; `failed`, with one sentence that says why;
    or `busy` in another process.
    """

    status: Status
    folder: Path
    record: RunRecord | None = None
    error: str = ""


def place(cfg: DictConfig, runs: Path) -> Path:
    """The folder of the run that a configuration describes."""
    resolved: Any = OmegaConf.to_container(cfg, resolve=True)
    return runs / f"{cfg.run_name}_{config_key(resolved)}"


def run_or_reuse(
    cfg: DictConfig,
    runs: Path,
    overrides: Sequence[str],
    program: Program = RANK,
    watchers: Sequence[Any] | None = None,
    usual: DictConfig | None = None,
    keep_pruned: bool = False,
) -> Outcome:
    """Run a configuration in its own folder below `runs`, unless it has finished there on the present data or another process runs it.

    An interrupted run continues after its last whole epoch. A failure leaves its sentence in `error.txt` and its traceback in
    `error.log`, and does not stop the runs after it; only Ctrl-C and a folder that cannot be written do.
    `watchers` are callbacks that replace the screen. Overrides are checked against the `usual` configuration. With `keep_pruned`, a pruned
    run does not go on.

    Raises:
        OutputError: the folder cannot be written.
    """
    try:
        folder = place(cfg, runs)
        former = of_these_data(cfg, runs, overrides)
    except (MissingDataError, BadDataError, CheckpointError) as error:  # of its data, or of a run that it refers to
        return Outcome("failed", runs, error=str(error))
    if former and (keep_pruned or former.status == "finished"):
        if (folder / LAST).exists():  # the process was killed just before it removed this file
            with claim(folder) as mine:
                if mine:
                    clear_all(folder)
        return Outcome("kept", folder, former)
    with claim(folder) as mine:
        if not mine:
            return Outcome("busy", folder)
        if record := RunRecord.with_status(folder, "finished"):  # another process has just finished it
            return Outcome("kept", folder, record)
        _set_damaged_record_aside(folder)
        atomic_write_text(folder / CONFIG, OmegaConf.to_yaml(cfg, resolve=True))
        work = program.load()  # imports torch and Lightning, which takes seconds; kept runs do not need them
        silence_libraries()
        try:
            require_one_process(cfg.trainer, "a run of a table, a sweep or qaexp.train")
            if usual is not None:
                check_config(cfg, usual, overrides)
            record = work(cfg, folder, join_options(overrides), is_resumable(folder), watchers)
        except OutputError:
            raise
        except PrunedError:
            return Outcome("pruned", folder, RunRecord.load(folder))
        except Exception as error:
            sentence = explain(error, overrides, program) or repr(error)
            atomic_write_text(folder / ERROR, sentence + "\n")
            atomic_write_text(folder / TRACEBACK, traceback.format_exc())
            return Outcome("failed", folder, error=sentence)
        clear_all(folder)
        for name in (ERROR, TRACEBACK):
            (folder / name).unlink(missing_ok=True)
        return Outcome("ran", folder, record)


def go_on(folder: Path, cfg: DictConfig) -> None:
    """Turn a run into the longer run that `cfg` describes, to be resumed: it takes that run's configuration, key and command.

    Raises:
        ConfigError: what it reads has changed since. The run stays as it is.
    """
    config: Any = OmegaConf.to_container(cfg, resolve=True)
    record = RunRecord.load(folder)
    if record.data and not record.has_read(sources_of(cfg)):
        raise ConfigError(
            f"resume={folder}: what it reads ({record.data['name']}) has changed since; put the old files back, or start a new run"
        )
    grown = {name: OmegaConf.select(cfg, name) for name in GROWING}
    grown = {name: value for name, value in grown.items() if value != OmegaConf.select(OmegaConf.create(record.config), name)}
    kept = [option for option in split_options(record.command) if option.partition("=")[0] not in grown]
    record.command = join_options([*kept, *(f"{name}={value}" for name, value in grown.items())])
    record.config = with_other_runs(config, other_runs(record.config))
    record.key, record.status = config_key(record.config), "interrupted"
    atomic_write_text(folder / CONFIG, OmegaConf.to_yaml(cfg, resolve=True))
    record.save(folder)


def _set_damaged_record_aside(folder: Path) -> None:
    """A run whose record cannot be read starts again: without its history no checkpoint can be resumed."""
    try:
        if (folder / RECORD).exists():
            RunRecord.load(folder)
    except RecordError as error:
        log.warning("%s; it is now %s, and the run starts again", str(error).partition(";")[0], SET_ASIDE)
        clear_all(folder)  # first: a checkpoint without a record is of no use, should the process be killed here
        (folder / RECORD).replace(folder / SET_ASIDE)


def of_these_data(cfg: DictConfig, runs: Path, overrides: Sequence[str]) -> RunRecord | None:
    """The result of a run that has ended (finished or pruned) on the present data, weights and other runs. A run on earlier ones, ended or
    not, is set aside, and the log says so.

    Raises:
        MissingDataError, BadDataError: there was one, and its data cannot be read any more.
        OutputError: as `set_aside`.
    """
    folder = place(cfg, runs)
    former = RunRecord.of(folder)
    if former is None or not former.data or (former.status not in ENDED and not _is_free(folder)):
        return None
    now = sources_of(cfg)
    if former.has_read(now):
        return former if former.status in ENDED else None
    if aside := set_aside(folder, now):
        log.error("%s: what it reads has changed since; the old run is now in %s", join_options(overrides), aside)
    return None


def sources_of(cfg: DictConfig) -> Sources:
    """What a run of this configuration would read now.

    Raises:
        MissingDataError, BadDataError: its data cannot be read.
    """
    from qaexp.data.missing_files import reads_vectors
    from qaexp.data.module_cache import open_data  # imports torch, which takes seconds and is only needed if there is a run
    from qaexp.models.pretrained.weights import revision_here

    data = open_data(cfg.dataset)
    config: Any = OmegaConf.to_container(cfg, resolve=True)
    files = data.vector_files if reads_vectors(cfg.model) else None
    return Sources(data.corpus.fingerprint, files, data.corpus.written_fingerprint, revision_here, lambda: with_pinned_runs(config))


def _is_free(folder: Path) -> bool:
    """Whether no other process runs it."""
    with claim(folder) as mine:
        return mine


def set_aside(folder: Path, now: Sources) -> Path | None:
    """Rename the folder of a run that read other files, to make room for a run on those of `now`. Returns its new path; None if there is
    nothing to rename, such as after another process has done so, or while another process runs it.

    The new name ends in the first 8 digits of the digests of its texts and, if its record has them, of its word vector files; then in `_2`
    if that name is taken.

    Raises:
        OutputError: the folder above cannot be written.
    """
    with output_errors(folder.parent, RUNS_REMEDY), FileLock(folder.with_name(ASIDE)):
        record = RunRecord.of(folder)
        if record is None or not record.data or record.has_read(now):
            return None
        digests = [record.data.get("fingerprint", "unknown"), *record.data.get("vectors", {}).get("files", [])]
        name = "_".join([folder.name, *(digest[:8] for digest in digests)])
        names = (name if number == 1 else f"{name}_{number}" for number in count(1))
        with claim(folder) as mine:
            return folder.rename(next(other for other in map(folder.with_name, names) if not other.exists())) if mine else None


def run_overrides(
    overrides: Sequence[str],
    runs: Path,
    program: Program = RANK,
    labels: Mapping[str, str] | None = None,
    watchers: Sequence[Any] | None = None,
) -> Outcome:
    """Calls `run_or_reuse` on the configuration composed from `overrides`. `labels` say what the run is for and change nothing of it."""
    cfg = compose(overrides, program)
    cfg.labels.update(labels or {})
    return run_or_reuse(cfg, runs, overrides, program, watchers, config_of_choices(overrides, program))


@contextmanager
def claim(folder: Path) -> Iterator[bool]:
    """Whether this process alone may write in `folder`, until the block ends. A killed process releases its claim.

    What such a process left half written is removed.

    Raises:
        OutputError: the folder cannot be made.
    """
    lock = FileLock(folder / CLAIM)
    with output_errors(folder, RUNS_REMEDY):
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(Timeout):
            lock.acquire(blocking=False)
    if not lock.is_locked:
        yield False
        return
    try:
        remove_staging(folder)
        yield True
    finally:
        lock.release()


def error_of(folder: Path) -> str:
    """Why the last attempt at a run failed, in a sentence; empty if it did not."""
    try:
        return (folder / ERROR).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
