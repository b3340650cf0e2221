"""How every program but a run's ends: what it prints, and what it says of a mistake."""

import logging
import os
import sys
from collections.abc import Callable, Iterable

from qaexp.errors import QaexpError

USER_ERROR, INTERRUPTED, UNREAD = 2, 130, 141

log = logging.getLogger(__name__)


def exit_status(work: Callable[[], Iterable[object]]) -> int:
    """Do the work and print the lines that it gives. 0; 2 with one sentence for a mistake of the user; 130 after Ctrl-C."""

    def print_all() -> int:
        sys.stdout.write("".join(f"{line}\n" for line in work()))
        return 0

    return ended(print_all)


def ended(work: Callable[[], int], then: str = "") -> int:
    """The status that the work gives; 2 with one sentence for a mistake of the user; 130 after Ctrl-C, and what `then` says of it; 141
    where nobody reads on what is printed, as after `| head`."""
    try:
        return work()
    except QaexpError as error:
        log.error("%s", error)
        return USER_ERROR
    except (BrokenPipeError, KeyboardInterrupt, SystemExit) as stop:  # Lightning turns Ctrl-C into SystemExit, and Rich a broken pipe
        if isinstance(stop, BrokenPipeError) or isinstance(stop.__context__, BrokenPipeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left to be printed goes nowhere, without a word
            return UNREAD
        log.error("interrupted%s", then and f"; {then}")
        return INTERRUPTED
