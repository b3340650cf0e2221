"""How a small program ends: with its lines, with one sentence for a mistake, or with 130 after Ctrl-C."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from qaexp.cli.exit_status import exit_status
from qaexp.errors import ConfigError


def test_the_lines_of_the_work_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_status(lambda: [Path("figure3.png"), "figure3.svg"]) == 0
    assert capsys.readouterr().out == "figure3.png\nfigure3.svg\n"


@pytest.mark.parametrize(
    ("raised", "status", "said"),
    [(ConfigError("no such run"), 2, "no such run"), (KeyboardInterrupt(), 130, "interrupted"), (SystemExit(), 130, "interrupted")],
)
def test_what_stops_the_work_is_said_in_one_line(
    raised: BaseException, status: int, said: str, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    def work() -> Iterator[str]:
        yield "half done"
        raise raised

    assert exit_status(work) == status
    assert caplog.messages == [said]
    assert capsys.readouterr().out == ""


def test_a_fault_of_ours_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError):
        exit_status(lambda: [1 // 0])


@pytest.mark.parametrize("printed", ["print(n, flush=True)", "console.print(n)"])
def test_a_reader_that_has_seen_enough_is_no_mistake(printed: str) -> None:
    """As `| head -1` has."""
    work = f"lambda: len([{printed} for n in range(100_000)])"
    imports = "from rich.console import Console; from qaexp.cli.exit_status import ended"
    program = f"{imports}; console = Console(); raise SystemExit(ended({work}))"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as writer:
        assert writer.stdout
        assert writer.stderr
        assert writer.stdout.readline() == b"0\n"
        writer.stdout.close()
        assert writer.stderr.read() == b""
    assert writer.returncode == 141
