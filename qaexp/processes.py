"""Stops a command on signals, and makes its worker processes end when it ends."""

import os
import platform
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import FrameType
from typing import NamedTuple

INTERRUPTED = 130
"""The exit code after Ctrl-C."""
SECONDS_TO_SAVE = 10.0
"""For the workers of an interrupted command."""
SECONDS_BETWEEN_LOOKS = 1.0


def stop_on_signals() -> None:
    """From now on, SIGTERM and SIGHUP act as Ctrl-C does. A signal that is ignored, as under nohup, or handled already, stays so."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL}
    if threading.current_thread() is threading.main_thread():
        for name, handler in usual.items():
            if signal.getsignal(name) == handler:
                signal.signal(name, _stop)


def _stop(signum: int, frame: FrameType | None) -> None:
    """Interrupts the workers first, and waits until they have saved their records: joblib would kill them at once."""
    from multiprocessing import active_children

    workers, deadline = active_children(), time.monotonic() + SECONDS_TO_SAVE
    for worker in workers:
        worker.terminate()
    for worker in workers:
        worker.join(max(0.0, deadline - time.monotonic()))
    raise KeyboardInterrupt


class Process(NamedTuple):
    """A process, told apart from those of other machines and from later ones with the same number."""

    machine: str
    pid: int
    started: str
    """Empty if it has ended, and where there is no /proc."""

    @classmethod
    def of(cls, pid: int) -> "Process":
        return cls(_machine(), pid, _started(pid))


def begin_worker(command: Process) -> None:
    """Let this process end with the command that it works for: at a signal as after Ctrl-C, and soon after the command has ended.

    On Linux alone, and on the command's own machine: a job in a queue goes on.
    """
    stop_on_signals()
    if command.started and command.machine == _machine() and command.pid != os.getpid():
        _watch(command)


@contextmanager
def job_for(command: Process) -> Iterator[None]:
    """A job of a worker, or of the command itself. An interruption ends the worker: joblib would give it the next job."""
    begin_worker(command)
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as stop:  # Lightning turns Ctrl-C into SystemExit
        if command.pid != os.getpid():
            os._exit(INTERRUPTED)
        raise KeyboardInterrupt from stop


@cache
def _watch(command: Process) -> None:
    def look() -> None:
        while _started(command.pid) == command.started:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        os.kill(os.getpid(), signal.SIGINT)  # as Ctrl-C: the job saves its record
        time.sleep(SECONDS_TO_SAVE)
        os.kill(os.getpid(), signal.SIGKILL)  # no file is ever half written

    threading.Thread(target=look, daemon=True).start()


def _machine() -> str:
    """The machine, and what a process number means on it: containers count their own."""
    with suppress(OSError):
        return f"{platform.node()} {os.readlink('/proc/self/ns/pid')}"
    return platform.node()


def _started(pid: int) -> str:
    """When a process began, in ticks of the kernel's clock; empty if it has ended, even if its parent has not noticed (a zombie)."""
    with suppress(OSError):
        state, *others = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return "" if state in "ZX" else others[18]
    return ""
