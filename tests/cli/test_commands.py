"""`qaexp` and its subcommands."""

import os
import pty
import select
import subprocess
import sys
import time
import tomllib
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from shutil import which

import pytest

from qaexp.cli import commands
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
def test_ctrl_c_while_modules_are_imported_ends_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(module: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "import_module", interrupted)
    assert main(["table"]) == 130
    assert main([]) == 130


def test_an_evaluation_lacks_only_its_run(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["evaluate"])
    assert "the following arguments are required: run\n" in capsys.readouterr().err


def test_without_a_subcommand_it_trains_in_two_processes(tmp_path: Path) -> None:
    """Lightning starts the second one, from the console script's arguments."""
    options = ["dataset.reader.num_train=20", "dataset.reader.num_dev=8", "dataset.reader.num_test=8", "dataset.vectors.dim=8"]
    workers = ["trainer.max_epochs=1", "trainer.devices=2", "+trainer.strategy=ddp", "trainer.accelerator=cpu"]
    folder = [f"output_dir={tmp_path}/runs", f"cache_dir={tmp_path}/cache", "logger=none"]
    command = [sys.executable, "-c", SCRIPT, *options, *workers, *folder]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("runs/*/*/record.json"))) == 1


def on_the_path(folder: Path) -> dict[str, str]:
    """The environment of a shell that finds `qaexp`, a script in this folder."""
    program = folder / "qaexp"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m qaexp "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("qaexp ta", ["table"]),
        ("qaexp model=ig", ["model=iggsa"]),
        ("qaexp pretrain model=gr", ["model=gru"]),
        ("qaexp seed=1 loss=pairwise_h", ["loss=pairwise_hinge"]),
        ("qaexp data fet", []),
    ],
)
def test_bash_completes(line: str, completed: list[str], tmp_path: Path) -> None:
    environment = on_the_path(tmp_path)
    words = line.split()
    press_tab = (
        f'COMP_LINE="{line}"; COMP_POINT={len(line)}; COMP_CWORD={len(words) - 1}; COMP_WORDS=({line})\n'
        'complete -p qaexp; hydra_bash_completion; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    script = f'eval "$(qaexp -sc install=bash)"\n{press_tab}'
    done = subprocess.run(["bash", "-c", script], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    rule, *reply = done.stdout.split("\n")
    assert "-F hydra_bash_completion qaexp" in rule
    assert [word for word in reply if word] == completed


@pytest.mark.skipif(which("zsh") is None, reason="zsh is not installed")
def test_zsh_completes_a_subcommand(tmp_path: Path) -> None:
    """In a terminal, as zsh completes nothing without one."""
    environment = {**on_the_path(tmp_path), "TERM": "dumb", "ZDOTDIR": str(tmp_path)}
    ours, theirs = pty.openpty()
    with subprocess.Popen(["zsh", "-f", "-i"], env=environment, cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs) as shell:
        try:
            os.write(ours, b'PS1="> "; eval "$(qaexp -sc install=zsh)"; echo read""y\n')
            until(ours, "ready")
            os.write(ours, b"qaexp tab\t")
            until(ours, "qaexp table")
        finally:
            shell.kill()
            os.close(ours)
            os.close(theirs)


def until(terminal: int, text: str, seconds: float = 120.0) -> None:
    """Read a terminal until a text is shown."""
    shown, end = "", time.monotonic() + seconds
    while text not in shown:
        assert time.monotonic() < end, shown
        if select.select([terminal], [], [], 1.0)[0]:
            shown += os.read(terminal, 4096).decode(errors="replace")
