"""`qaexp` and its subcommands."""

import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest

from qaexp.cli.commands import COMMANDS, main

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = "import sys; from qaexp.cli.commands import script; sys.argv[0] = 'qaexp'; script()"
"""What the console script runs."""


def test_the_console_script_is_installed_by_its_name() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"qaexp": "qaexp.cli.commands:script"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_subcommand_explains_itself_under_its_own_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module, _, function = COMMANDS[name].function.partition(":")
    assert callable(getattr(import_module(module), function))
    try:
        status = main([name, "--help"])
    except SystemExit as end:  # argparse
        status = end.code or 0
    out = capsys.readouterr().out
    assert status == 0
    assert f"qaexp {name} " in out


def test_help_lists_the_subcommands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert [name for name in COMMANDS if f"\n  qaexp {name:<12}  {COMMANDS[name].help}\n" not in out] == []


def test_version_is_that_of_qaexp(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"qaexp {version('qaexp')}\n"


@pytest.mark.parametrize(("typed", "meant"), [("tabel", "table"), ("figure", "figures"), ("pretrian", "pretrain")])
def test_a_misspelled_subcommand_is_answered_with_the_right_one(typed: str, meant: str, caplog: pytest.LogCaptureFixture) -> None:
    assert main([typed]) == 2
    assert caplog.messages == [f"qaexp has no command {typed}; did you mean {meant}?"]


@pytest.mark.slow
def test_without_a_subcommand_it_trains_in_two_processes(tmp_path: Path) -> None:
    """Lightning starts the second one, from the console script's arguments."""
    options = ["dataset.reader.num_train=20", "dataset.reader.num_dev=8", "dataset.reader.num_test=8", "dataset.vectors.dim=8"]
    workers = ["trainer.max_epochs=1", "trainer.devices=2", "+trainer.strategy=ddp", "trainer.accelerator=cpu"]
    folder = [f"output_dir={tmp_path}/runs", f"cache_dir={tmp_path}/cache", "logger=none"]
    command = [sys.executable, "-c", SCRIPT, *options, *workers, *folder]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("runs/*/*/record.json"))) == 1
