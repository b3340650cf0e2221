"""`qaexp figures`: help and mistyped options come at once, without what draws."""

import subprocess
import sys
from importlib import import_module

import pytest

from qaexp.cli.figures import FIGURES, main

IMPORTED = """
import sys
from qaexp.cli.figures import main
try:
    main(sys.argv[1:])
finally:
    print("\\nslow:", [name for name in ("torch", "matplotlib", "pandas") if name in sys.modules])
"""


def _said(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", IMPORTED, *arguments], capture_output=True, text=True, check=False)
    assert "slow: []" in done.stdout
    return done.stdout + done.stderr


def test_help_lists_every_figure_and_imports_nothing_slow() -> None:
    said = _said("--help")
    assert [name for name in FIGURES if f"\n    {name}" not in said] == []


@pytest.mark.parametrize("name", FIGURES)
def test_each_figure_has_its_help_and_its_drawing(name: str) -> None:
    assert f"qaexp figures {name} " in " ".join(_said(name, "--help").split())
    assert callable(import_module(FIGURES[name].module).write_figures)


def test_a_mistyped_option_is_named_at_once() -> None:
    assert "unrecognized arguments: --unti 3" in _said("heat_map", "RUN", "--to", "FOLDER", "--unti", "3")


def test_without_a_figure_it_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([])
    assert "the following arguments are required: FIGURE" in capsys.readouterr().err
