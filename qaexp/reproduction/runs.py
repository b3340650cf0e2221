"""Shows a plan, and makes its runs."""

import argparse
import logging
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import cast

from joblib import Parallel, delayed
from rich.console import Console

from qaexp.config import PRETRAIN, in_hydra
from qaexp.errors import KilledError, plural
from qaexp.logs import duration, throttled_log
from qaexp.processes import Process, begin_worker, job_for
from qaexp.reproduction.ledger import Entry, Ledger, key_in_tables
from qaexp.reproduction.plan import Plan, Run, Times
from qaexp.runs.record import RunRecord
from qaexp.runs.store import Outcome, error_of, run_overrides
from qaexp.sweep.job import keep_number_of_threads

log = logging.getLogger(__name__)

SIGN_OF_LIFE = 300.0
"""Seconds between the progress lines of a run, for logs without a terminal."""

ATTEMPTS = 2
"""How often a run that another process holds is tried: two jobs may start from the same pre-training."""


def show_plan(planned: Plan, times: Times, runs: Path, jobs: int, each: bool) -> None:
    """Prints what is done, what will run and how long it may take (row by row if `each`), and what cannot run and why."""
    console = Console(highlight=False, soft_wrap=True)
    to_do = planned.to_do
    folders = {run.key: _folders(run, runs) for run in to_do}
    begun = {key: _begun(of_run) for key, of_run in folders.items()}
    expected = {run.key: times.expected(run, begun[run.key]) for run in to_do}
    known = [seconds for seconds in expected.values() if seconds is not None]
    console.print(f"{plural(len(planned.done), 'run')} done, {len(to_do)} to run, {len(planned.impossible)} impossible here")
    if known:
        unknown = f", and {len(to_do) - len(known)} of unknown length" if len(known) < len(to_do) else ""
        before = {" ".join(pretraining) for run in to_do if (pretraining := run.cell.pretraining(run.seed))}
        unknown += f", and {len(before)} of pre-training" if before else ""
        several = f" of runs, {jobs} at a time" if jobs > 1 else ""
        console.print(f"expected: {duration(sum(known))}{several}{unknown}")
    elif to_do:
        kind = "quick version" if to_do[0].cell.quick else "run"
        console.print(f"expected: unknown, as there is no record yet of a {kind} on these data")
    if each:
        of_cell: dict[str, list[Run]] = {}
        for run in to_do:
            of_cell.setdefault(run.cell.title, []).append(run)
        for title, same in of_cell.items():
            seconds = sum(expected[run.key] or 0.0 for run in same)
            console.print(f"  to run: {title}, {_seeds(same)}{f': {duration(seconds)}' if seconds else ''}", markup=False)
    for reason in dict.fromkeys(run.lacking for run in planned.impossible):
        cells = dict.fromkeys((run.cell.table.title, run.cell.row.label) for run in planned.impossible if run.lacking == reason)
        named = ", ".join(dict.fromkeys(title for title, _ in cells))
        console.print(f"  impossible: {plural(len(cells), 'row')} ({named}): {reason}", markup=False)
    if planned.impossible:
        console.print("  (QAEXP_DATA names the folder of the data; `qaexp data fetch --help` says where they are published)")
    if planned.published_only:
        named = ", ".join(dict.fromkeys(planned.published_only))
        reason = "the table's paper does not define their models"
        console.print(f"  published only: {plural(len(planned.published_only), 'row')} ({named}): {reason}", markup=False)
    for run in to_do:
        if record := begun[run.key]:
            console.print(f"  begun: {run.title}, up to epoch {len(record.history)}", markup=False)
        for folder in folders[run.key]:
            if before := error_of(folder):
                console.print(f"  failed before: {run.title}: {before}", markup=False)


def run_all(planned: Plan, ledger: Ledger, options: argparse.Namespace) -> list[Run]:
    """Makes the runs to do, and returns those that failed. Runs that another process holds are left to it.

    Raises:
        OutputError: the folder of the runs or the ledger cannot be written.
        KilledError: the process of a run was killed.
    """
    failed = list[Run]()
    waiting, alike, ended = planned.to_do, set[str](), set[str]()
    started = time.monotonic()

    def needed() -> Iterator[Run]:
        return (run for run in waiting if run.key not in ended and _cell(run) not in alike)

    def end(run: Run, outcome: Outcome) -> None:
        ended.add(run.key)
        if outcome.record is None:
            failed.append(run)
            log.error("[%d/%d] %s failed: %s", len(ended), len(waiting), run.title, outcome.error)
            return
        if _cell(run) in alike:  # two seeds of it were started at the same time
            return
        entry = ledger.enter(outcome.folder)
        if not entry.random:
            alike.add(_cell(run))
        times = Times.of(ledger)
        left = sum(times.expected(other) or 0.0 for other in needed()) / options.jobs
        log.info(
            "[%d/%d] %s: %s  (%s%s)",
            len(ended),
            len(waiting),
            run.title,
            _values(run, entry),
            duration(entry.seconds["total"]),
            f", {duration(left)} left" if left else "",
        )

    for _ in range(ATTEMPTS):
        for run, outcome in _outcomes(needed(), options):
            if outcome.status != "busy":
                end(run, outcome)
    if busy := len(list(needed())):
        log.info("left to the other processes that hold them: %s; run the same command again later", plural(busy, "run"))
    if waiting:
        log.info("ended: %d, in %s; failed: %d", len(waiting) - busy, duration(time.monotonic() - started), len(failed))
    return failed


def _cell(run: Run) -> str:
    return " ".join(run.cell.overrides)


def _outcomes(runs: Iterator[Run], options: argparse.Namespace) -> Iterator[tuple[Run, Outcome]]:
    """Each run as it ends: one after the other in this process, or several at a time in processes of their own.

    Raises:
        KilledError: one of the processes was killed.
    """
    if options.jobs == 1:
        yield from (_run(run, options) for run in runs)
        return
    keep_number_of_threads()
    us = Process.of(os.getpid())
    ends_with_us = {"initializer": begin_worker, "initargs": (us,)}
    several = Parallel(options.jobs, return_as="generator_unordered", pre_dispatch=options.jobs, **ends_with_us)
    try:
        yield from cast(Iterator[tuple[Run, Outcome]], several(delayed(_run_for)(us, run, options) for run in runs))
    except BrokenProcessPool as error:
        raise KilledError(
            f"the process of a run was killed, perhaps for lack of memory (fewer than --jobs {options.jobs} need less); "
            "finished runs are kept, and the same command resumes"
        ) from error


def _run_for(command: Process, run: Run, options: argparse.Namespace) -> tuple[Run, Outcome]:
    with job_for(command):
        return _run(run, options)


def _run(run: Run, options: argparse.Namespace) -> tuple[Run, Outcome]:
    logging.basicConfig(level=logging.INFO, format="%(message)s")  # in a process of its own
    with throttled_log(SIGN_OF_LIFE, run.title, "qaexp.training.progress_bar"):  # a line a run, not a line an epoch
        return run, _outcome(run, options)


def _outcome(run: Run, options: argparse.Namespace) -> Outcome:
    """The outcome of a run. The pre-training that it starts from and the run that it learns from, if any, run first."""
    folder, logger = _folder(run, options.runs), [f"logger={options.logger}"]
    labels = {"paper": run.cell.table.paper, "table": run.cell.table.name, "row": run.cell.row.label}
    watchers = None if options.jobs == 1 else []  # several progress bars would overwrite each other
    others: list[str] = []
    if pretraining := run.cell.pretraining(run.seed):
        for_it = {**labels, "row": f"{run.cell.row.label}, pre-training"}
        before = run_overrides([*pretraining, *logger], folder, PRETRAIN, for_it, watchers)
        if before.record is None:
            return before
        others.append(f"init_from={in_hydra(str(before.folder))}")
    if teacher := run.cell.teacher:
        of_teacher = {**labels, "row": teacher.row.label}
        taught = run_overrides([*teacher.seeded(run.seed), *logger], folder, labels=of_teacher, watchers=watchers)
        if taught.record is None:
            return taught
        others.append(f"loss.teacher={in_hydra(str(taught.folder))}")
    return run_overrides([*run.cell.seeded(run.seed), *others, *logger], folder, labels=labels, watchers=watchers)


def _values(run: Run, entry: Entry) -> str:
    """The run's numbers in its table's columns."""
    table = run.cell.table
    shown = {
        name: table.shown(column, number)
        for name, column in table.columns.items()
        if table.setting_of(run.cell.row, column) == run.cell.setting
        if (metric := table.metric_of(column, run.cell.dataset)) and (number := entry.value(metric)) is not None
    }
    return ", ".join(f"{name} {number}" for name, number in shown.items())


def _folder(run: Run, runs: Path) -> Path:
    """The folder of runs on these data. Other data of the same name have another folder."""
    return runs / run.fingerprint[:8]


def _folders(run: Run, runs: Path) -> list[Path]:
    """The folder of the run, if it was ever started."""
    folders = _folder(run, runs)
    if run.cell.row.pretrain is None and run.cell.row.teacher is None:
        return list(folders.glob(f"*_{run.key}"))
    started = [(folder, RunRecord.of(folder)) for folder in folders.glob(f"*_seed{run.seed}_*")]  # keyed with the other run's step
    return [folder for folder, record in started if record and folder.name.endswith(record.key) and key_in_tables(record) == run.key]


def _begun(folders: Sequence[Path]) -> RunRecord | None:
    """The record of a run that can be resumed after some epochs, or that another process is running."""
    records = [RunRecord.with_status(folder, "running", "interrupted") for folder in folders]
    return next((record for record in records if record and record.history), None)


def _seeds(runs: Sequence[Run]) -> str:
    return f"seed{'s' if len(runs) > 1 else ''} {', '.join(str(run.seed) for run in runs)}"
