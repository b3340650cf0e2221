"""Work in processes of its own: really at the same time, whatever becomes of one of them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from qaexp.errors import OutputError
from qaexp.tables.side_by_side import side_by_side


def wait_for(there: Callable[[], bool]) -> None:
    """Raises: TimeoutError, where it does not come true within a minute."""
    for _ in range(1200):
        if there():
            return
        time.sleep(0.05)
    raise TimeoutError


def meet(name: str, folder: Path) -> str:
    """Ends when another process is here as well."""
    (folder / name).touch()
    wait_for(lambda: len(list(folder.iterdir())) > 1)
    return name.upper()


def end(how: str) -> str:
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "wrong":
        raise OutputError("cannot write: No space left on device")
    return how


def linger(name: str, folder: Path) -> None:
    """Tells when it is interrupted, which nothing else ends."""
    (folder / f"{name} {os.getpid()}").touch()
    try:
        time.sleep(600)
    finally:
        (folder / f"{name} ended").touch()


def test_what_works_side_by_side_works_at_the_same_time(tmp_path: Path) -> None:
    done = dict(side_by_side(2, ["a", "b"], partial(meet, folder=tmp_path)))
    assert done == {"a": "A", "b": "B"}


def test_one_that_is_killed_takes_no_other_with_it() -> None:
    assert dict(side_by_side(2, ["killed", "well", "good"], end)) == {"killed": None, "well": "well", "good": "good"}


def test_a_process_goes_on_with_the_next_thing_and_one_that_was_killed_is_replaced() -> None:
    numbers = [number for _, number in side_by_side(1, ["a", "b", "killed", "c", "d"], end_with_number)]
    assert numbers[2] is None
    assert numbers[0] == numbers[1] != numbers[3] == numbers[4]


def end_with_number(how: str) -> int:
    end(how)
    return os.getpid()


def test_a_thing_is_taken_when_there_is_room_for_it() -> None:
    taken: list[str] = []
    for thing, _ in side_by_side(1, (taken.append(each) or each for each in ("a", "b", "c")), end):
        assert taken[-1] == thing


def test_an_error_is_raised_here_and_ends_the_others(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="No space left"):
        list(side_by_side(2, ["slow", "wrong"], partial(slow_or_wrong, folder=tmp_path)))
    assert (tmp_path / "slow ended").exists()


def slow_or_wrong(name: str, folder: Path) -> None:
    if name == "slow":
        linger(name, folder)
    wait_for(lambda: any(folder.iterdir()))
    end(name)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_whatever_ends_the_first_process_ends_the_others(sent: signal.Signals, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom functools import partial\nfrom pathlib import Path\n"
        "from qaexp.tables.side_by_side import side_by_side\nfrom tests.tables.test_side_by_side import linger\n"
        "if __name__ == '__main__':\n    list(side_by_side(2, ['a', 'b'], partial(linger, folder=Path(sys.argv[1]))))\n"
    )
    there = tmp_path / "there"
    there.mkdir()
    root = str(Path(__file__).parents[2])
    first = subprocess.Popen([sys.executable, script, there], env={**os.environ, "PYTHONPATH": root}, stderr=subprocess.DEVNULL)
    wait_for(lambda: len(list(there.iterdir())) == 2)
    first.send_signal(sent)
    first.wait(timeout=60)
    wait_for(lambda: {path.name for path in there.glob("* ended")} == {"a ended", "b ended"})
