"""How a small program ends: with its lines, with one sentence for a mistake, or with 130 after Ctrl-C."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from qaexp.errors import ConfigError
from qaexp.exit_status import exit_status


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
