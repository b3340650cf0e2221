"""Exit codes and messages of small commands, and the numbers that they take as arguments."""

import os
import subprocess
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hydra.utils import instantiate

from qaexp.cli.command import int_list, non_negative_int, positive_int, positive_seconds, print_lines
from qaexp.errors import ConfigError


def test_the_lines_of_the_work_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_lines(lambda: [Path("figure3.png"), "figure3.svg"]) == 0
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

    assert print_lines(work) == status
    assert caplog.messages == [said]
    assert capsys.readouterr().out == ""


def test_a_mistake_that_hydra_wraps_is_said_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """A table or a check of data builds a class of the user's; this ended in Hydra's traceback."""
    assert print_lines(lambda: [instantiate({"_target_": "qaexp.evaluation.conventions.find_convention", "name": "treck"})]) == 2
    assert caplog.messages == ["no scoring convention is called 'treck'; did you mean trec?"]


def test_a_fault_of_ours_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError):
        print_lines(lambda: [1 // 0])


@pytest.mark.parametrize("printed", ["print(n, flush=True)", "console.print(n)"])
def test_a_reader_that_has_seen_enough_is_no_mistake(printed: str) -> None:
    """As `| head -1` has."""
    work = f"lambda: len([{printed} for n in range(100_000)])"
    imports = "from rich.console import Console; from qaexp.cli.command import exit_code"
    program = f"{imports}; console = Console(); raise SystemExit(exit_code({work}))"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as writer:
        assert writer.stdout
        assert writer.stderr
        assert writer.stdout.readline() == b"0\n"
        writer.stdout.close()
        assert writer.stderr.read() == b""
    assert writer.returncode == 141


def test_a_configuration_that_nobody_reads_is_no_mistake() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-m", "qaexp", "--cfg", "job"], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_below_the_output_is_one_sentence() -> None:
    program = "import logging; logging.basicConfig(); from qaexp.cli.command import *; raise SystemExit(print_lines(lambda: ['x']))"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-c", program], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert "cannot write all of the output: No space left on device; free some disk space" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("kind", "text", "number"),
    [
        (positive_int, "3", 3),
        (non_negative_int, "0", 0),
        (positive_seconds, "0.5", 0.5),
        (positive_seconds, "2", 2.0),
        (int_list, "1", [1]),
        (int_list, "3, 1", [3, 1]),
    ],
)
def test_numbers_are_read(kind: Callable[[str], object], text: str, number: object) -> None:
    assert kind(text) == number


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *((positive_int, text) for text in ("0", "-1", "1.5", "two", "")),
        *((non_negative_int, text) for text in ("-1", "0.5", "")),
        *((positive_seconds, text) for text in ("0", "-1", "nan", "inf", "soon")),
        *((int_list, text) for text in ("1,", "1,a", "-1", "")),
    ],
)
def test_other_values_are_refused_by_name(kind: Callable[[str], object], text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=f"^'{text}' is not "):
        kind(text)
