"""Workers end with the command that began them, however that ends, and save what they have if they are asked to stop."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import wait_until
from workers import JOBS, WORKERS

from qaexp.processes import INTERRUPTED, Process, stop_on_signals


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="workers watch their command on Linux alone")
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", INTERRUPTED), ("SIGHUP", INTERRUPTED), ("SIGKILL", -signal.SIGKILL)])
def test_workers_end_with_their_command_and_save_what_they_have(name: str, code: int, tmp_path: Path) -> None:
    command = subprocess.Popen([sys.executable, str(Path(__file__).with_name("workers.py")), str(tmp_path)], stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: len(list(tmp_path.glob("worker-*"))) == WORKERS and len(list(tmp_path.glob("job-*"))) == JOBS)
        workers = [Process.of(int(path.name.partition("-")[2])) for path in tmp_path.glob("worker-*")]
        assert all(worker.started for worker in workers)
        command.send_signal(getattr(signal, name))
        assert command.wait(timeout=60) == code
        wait_until(lambda: not any(Process.of(worker.pid) == worker for worker in workers))
    finally:
        command.kill()
    assert [path.read_text() for path in tmp_path.glob("job-*")] == ["saved"] * JOBS


def test_a_signal_that_is_ignored_stays_so() -> None:
    """As `nohup` ignores SIGHUP."""
    former = {name: signal.getsignal(name) for name in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)}
    try:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        stop_on_signals()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        for name, handler in former.items():
            signal.signal(name, handler)


def test_a_process_that_has_ended_is_known_although_nobody_has_noticed() -> None:
    """A zombie: `/proc` has it until its parent waits for it."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert Process.of(process.pid).started
        process.kill()
        wait_until(lambda: not Process.of(process.pid).started)
        assert process.wait() == -signal.SIGKILL
