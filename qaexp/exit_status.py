"""How every program but a run's ends: what it prints, and what it says of a mistake."""

import logging
import sys
from collections.abc import Callable, Iterable

from qaexp.errors import QaexpError

USER_ERROR, INTERRUPTED = 2, 130

log = logging.getLogger(__name__)


def exit_status(work: Callable[[], Iterable[object]]) -> int:
    """Do the work and print the lines that it gives. 0; 2 with one sentence for a mistake of the user; 130 after Ctrl-C."""

    def print_all() -> int:
        sys.stdout.write("".join(f"{line}\n" for line in work()))
        return 0

    return ended(print_all)


def ended(work: Callable[[], int], then: str = "") -> int:
    """The status that the work gives; 2 with one sentence for a mistake of the user; 130 after Ctrl-C, and what `then` says of it."""
    try:
        return work()
    except QaexpError as error:
        log.error("%s", error)
        return USER_ERROR
    except (KeyboardInterrupt, SystemExit):  # Lightning turns Ctrl-C into SystemExit
        log.error("interrupted%s", then and f"; {then}")
        return INTERRUPTED
