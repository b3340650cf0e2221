"""A progress bar over the jobs of a sweep, with the best dev score so far; one log line per job without a terminal."""

import logging
import os
import sys
import threading
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from qaexp.config import join_options
from qaexp.data.files import screen
from qaexp.sweep.job import JobResult

log = logging.getLogger(__name__)

INTERVAL = 0.5
"""Seconds between two reads of the results' folder."""


class Watch:
    """Reads the result files of jobs in a thread, while the launcher blocks the main thread."""

    def __init__(self, outcomes: Path, total: int, axes: Collection[str]) -> None:
        self._outcomes, self._total, self._axes = outcomes, total, axes
        self.results: dict[int, JobResult] = {}
        self.best: dict[str, JobResult] = {}
        """The job with the highest dev score of each measure, the first of several."""
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._read_repeatedly, daemon=True)
        self._terminal = sys.stderr.isatty()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[best]}"),
            console=screen(sys.stderr),
            disable=not self._terminal,
        )
        self._task = self._bar.add_task("sweep", total=total, best="")

    def __enter__(self) -> "Watch":
        self._bar.start()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()
        self.read_results()
        self._bar.stop()

    def read_results(self) -> None:
        """Read the results that are new since the last call."""
        with self._lock:
            cells = {int(name.removesuffix(".json")) for name in os.listdir(self._outcomes) if name[0].isdigit() and name.endswith(".json")}
            for cell in sorted(cells - self.results.keys()):
                with suppress(OSError, ValueError, TypeError, RecursionError):  # on shared storage a name may appear before its content
                    self.add(JobResult.read(self._outcomes / f"{cell}.json"))

    def add(self, result: JobResult) -> None:
        if result.status == "busy":  # it will be launched again
            return
        self.results[result.cell] = result
        if result.score is not None:
            best = self.best.get(result.measure, result)
            self.best[result.measure] = min(best, result, key=lambda each: (-(each.score or 0.0), each.cell))
        shown = "; ".join(f"best {best.metric} {best.score:.4f}" for best in self.best.values()) if len(self.best) == 1 else ""
        self._bar.update(self._task, completed=len(self.results), best=shown)
        swept = [option for option in result.options if option.partition("=")[0] in self._axes]
        options = join_options(swept)
        if result.status == "failed":
            log.error("job %s failed: %s", options, result.error)
        elif not self._terminal:
            score = "" if result.score is None else f" {result.metric} {result.score:.4f}"
            log.info("[%d/%d] %s: %s%s%s", len(self.results), self._total, options, result.status, score, f"; {shown}" if shown else "")

    def _read_repeatedly(self) -> None:
        while not self._stop.wait(INTERVAL):
            self.read_results()
