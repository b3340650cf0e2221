"""Stops a command on signals, and makes its worker processes end when it ends."""

import os
import platform
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import NamedTuple

INTERRUPTED = 130
"""The exit code after Ctrl-C."""
SECONDS_TO_SAVE = 10.0
"""How long an interrupted command waits for its workers."""
SECONDS_BETWEEN_LOOKS = 1.0


def stop_on_signals() -> None:
    """From now on, SIGTERM and SIGHUP act as Ctrl-C does. A signal that is ignored, as under nohup, or handled already, stays so."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL}
    if threading.current_thread() is threading.main_thread():
        for name, handler in usual.items():
            if signal.getsignal(name) == handler:
                signal.signal(name, _stop)


def _stop(signum: int, frame: FrameType | None) -> None:
    """Interrupts the workers' jobs first, and waits until they have saved their records: joblib would kill them at once."""
    from multiprocessing import active_children

    workers, deadline = [worker for worker in active_children() if _at_work(worker)], time.monotonic() + SECONDS_TO_SAVE
    for worker in workers:
        worker.terminate()
    while any(_at_work(worker) for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.02)
    raise KeyboardInterrupt


def _at_work(worker: BaseProcess) -> bool:
    """Whether a worker is running a job. It catches SIGTERM only during a job. Without /proc: whether the worker is alive."""
    try:
        caught = re.search(r"^SigCgt:\s*(\w+)", Path(f"/proc/{worker.pid}/status").read_text(encoding="utf-8", errors="replace"), re.M)
    except OSError:
        return worker.is_alive()
    return caught is not None and bool(int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)


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
    """Prepare a worker of a pool. It leaves Ctrl-C to the command that it works for, and ends soon after this command.

    The pool kills every worker as soon as one has ended, so none may end while another saves.
    """
    for name in (signal.SIGINT, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)
    end_with(command)


def end_with(command: Process) -> None:
    """Make this process stop, as after Ctrl-C, soon after the command ends.

    Only on Linux and on the command's own machine: a job that a cluster's queue has started goes on.
    """
    if command.started and command.machine == _machine() and command.pid != os.getpid():
        _watch(command)


@contextmanager
def job_for(command: Process) -> Iterator[None]:
    """Run a job of a worker, or of the command itself. An interruption ends the worker, which joblib would otherwise give the next job.

    The interrupted worker waits for the command to kill the pool, so that the other workers can save what they have.
    """
    end_with(command)
    former = signal.getsignal(signal.SIGTERM)
    stop_on_signals()
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as stop:  # Lightning turns Ctrl-C into SystemExit
        if command.pid != os.getpid():
            _restore(former)
            deadline = time.monotonic() + SECONDS_TO_SAVE
            while command.started and _started(command.pid) == command.started and time.monotonic() < deadline:
                time.sleep(0.02)
            os._exit(INTERRUPTED)
        raise KeyboardInterrupt from stop
    finally:
        _restore(former)


def _restore(handler: signal.Handlers | Callable[[int, FrameType | None], object] | int | None) -> None:
    """Handle SIGTERM as before the job."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)


@cache
def _watch(command: Process) -> None:
    def look() -> None:
        while _started(command.pid) == command.started:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        pooled = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        os.kill(os.getpid(), signal.SIGTERM if pooled else signal.SIGINT)  # the job, if there is one, saves its record
        time.sleep(SECONDS_TO_SAVE)
        os.kill(os.getpid(), signal.SIGKILL)  # no file is ever half written

    threading.Thread(target=look, daemon=True).start()


def _machine() -> str:
    """The name of the machine and of its pid namespace, since each container numbers its own processes."""
    with suppress(OSError):
        return f"{platform.node()} {os.readlink('/proc/self/ns/pid')}"
    return platform.node()


def _started(pid: int) -> str:
    """When a process began, in ticks of the kernel's clock; empty if it has ended, even if its parent has not noticed (a zombie)."""
    with suppress(OSError):
        state, *others = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return "" if state in "ZX" else others[18]
    return ""
