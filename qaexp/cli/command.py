"""What every small command line needs: exit codes, and argparse types for numbers."""

import errno
import logging
import math
import os
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable

from qaexp.errors import QaexpError
from qaexp.processes import INTERRUPTED, stop_on_signals

USER_ERROR, BROKEN_PIPE = 2, 141

log = logging.getLogger(__name__)


def print_lines(work: Callable[[], Iterable[object]]) -> int:
    """Do the work and print the lines that it returns. Returns the exit code, as `exit_code` does."""

    def print_all() -> int:
        sys.stdout.write("".join(f"{line}\n" for line in work()))
        return 0

    return exit_code(print_all)


def exit_code(work: Callable[[], int], hint: str = "") -> int:
    """Run `work` and return its exit code.

    Returns 2 after a mistake of the user or a full disk, which one sentence explains; 130 after Ctrl-C, with `hint` in the message; 141 if
    the reader of the output has gone, as after `| head`.
    """
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    stop_on_signals()
    try:
        code = work()
        sys.stdout.flush()  # so that its errors come here
        return code
    except QaexpError as error:
        log.error("%s", error)
        return USER_ERROR
    except (BrokenPipeError, KeyboardInterrupt, SystemExit) as stop:  # Lightning turns Ctrl-C into SystemExit, and Rich a broken pipe
        if reader_is_gone(stop):
            discard_output()
            return BROKEN_PIPE
        log.error("interrupted%s", hint and f"; {hint}")
        return INTERRUPTED
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            log.error("cannot write all of the output: %s; free some disk space", error.strerror)
            discard_output()
            return USER_ERROR
        if isinstance(error, OSError) and error.errno != errno.ENAMETOOLONG:  # the remedies of `explain` are those of a run
            raise
        from qaexp.mistakes import explain  # imports Hydra

        if (sentence := explain(error, ())) is None:
            raise
        log.error("%s", sentence)
        return USER_ERROR


def reader_is_gone(error: BaseException) -> bool:
    """Whether the error is a BrokenPipeError, or was raised while one was handled."""
    return isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError)


def discard_output() -> None:
    """Discard all further output, so that no error about it is raised when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def positive_int(text: str) -> int:
    """
    >>> positive_int("3")
    3
    """
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def non_negative_int(text: str) -> int:
    """A whole number from 0, such as a seed."""
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)


def positive_seconds(text: str) -> float:
    """Seconds, more than 0."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return number


def int_list(text: str) -> list[int]:
    """Whole numbers from 0, such as seeds.

    >>> int_list("1, 2")
    [1, 2]
    """
    try:
        return [non_negative_int(part.strip()) for part in text.split(",")]
    except ArgumentTypeError as error:
        raise ArgumentTypeError(f"{text!r} is not a list of whole numbers such as 1,2") from error
