"""Work on several things at a time in processes of their own: one that is killed takes no other with it."""

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import TypeVar

Thing = TypeVar("Thing")
Result = TypeVar("Result")


def side_by_side(num: int, things: Iterable[Thing], work: Callable[[Thing], Result]) -> Iterator[tuple[Thing, Result | None]]:
    """`num` things at a time, each with what its work gives, as they end; None where its process was killed.

    A thing is taken when there is room for it. An error of the work is raised here, and, as Ctrl-C, interrupts the others.
    """
    waiting, processes, busy = iter(things), dict[Connection, SpawnProcess](), dict[Connection, Thing]()
    try:
        while True:
            for thing in islice(waiting, num - len(busy)):
                line = next((line for line in processes if line not in busy), None) or _begin(work, processes)
                line.send(thing)
                busy[line] = thing
            if not busy:
                return
            ready = wait(busy)
            for line in [each for each in busy if each in ready]:
                thing = busy.pop(line)
                try:
                    result = line.recv()
                except (EOFError, ConnectionResetError):
                    processes.pop(line).join()
                    result = None
                if isinstance(result, BaseException):
                    raise result
                yield thing, result
    finally:
        for line, process in processes.items():
            if line in busy and process.pid and process.is_alive():
                os.kill(process.pid, signal.SIGINT)
            line.close()  # for which those wait that have nothing to do
        for process in processes.values():
            process.join()


def _begin(work: Callable[[Thing], Result], processes: dict[Connection, SpawnProcess]) -> Connection:
    """One more process, and the line to it."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    processes[ours] = context.Process(target=_work, args=(work, theirs))
    processes[ours].start()
    theirs.close()  # so that the end of the process is the end of the line
    return ours


def _work(work: Callable[[Thing], Result], line: Connection) -> None:
    """What a process does. A terminal's Ctrl-C reaches the first process alone, which passes it on once."""
    os.setpgrp()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        while True:
            thing = line.recv()
            try:
                result = work(thing)
            except Exception as error:
                result = error
            line.send(result)
    except (EOFError, OSError, KeyboardInterrupt, SystemExit):  # no more to do, or an end to it: Lightning turns Ctrl-C into SystemExit
        return


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGINT)
