"""The wheel: it holds all that is read, and commands run from it in any folder."""

import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SMALL = ["dataset.reader.num_train=20", "dataset.reader.num_dev=8", "dataset.reader.num_test=8", "dataset.vectors.dim=8"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's files, as an installation has them."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("qaexp", "conf", "experiments"):
        shutil.copytree(ROOT / name, folder / "source" / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / "source")
    build = [sys.executable, "-W", "ignore", "-c", "from setuptools.build_meta import build_wheel; build_wheel('..')"]
    subprocess.run(build, cwd=folder / "source", capture_output=True, check=True)
    [file] = folder.glob("*.whl")
    with zipfile.ZipFile(file) as archive:
        archive.extractall(folder / "installed")
    return folder / "installed"


def run(wheel: Path, folder: Path, *arguments: str) -> str:
    """What a command of the wheel prints, in a folder of its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("QAEXP_", "WANDB_"))}
    environment |= {"PYTHONPATH": str(wheel), "OMP_NUM_THREADS": "1", "HOME": str(folder / "home")}
    done = subprocess.run(
        [sys.executable, "-m", "qaexp", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def test_it_holds_every_file_that_is_read(wheel: Path) -> None:
    read = [*ROOT.glob("conf/**/*.yaml"), *ROOT.glob("experiments/**/*.*"), *ROOT.glob("qaexp/**/*.py"), *ROOT.glob("qaexp/data/**/*.yaml")]
    names = [str(path.relative_to(ROOT)).removeprefix("qaexp/") for path in read]
    assert [name for name in names if not (wheel / "qaexp" / name).is_file()] == []
    assert "qaexp = qaexp.cli.commands:script" in next(wheel.glob("*.dist-info/entry_points.txt")).read_text(encoding="utf-8")


def test_it_lists_choices_and_data_and_has_its_version(wheel: Path, tmp_path: Path) -> None:
    assert run(wheel, tmp_path, "--version") == f"qaexp {version('qaexp')}\n"
    assert "insuranceqa_subset" in run(wheel, tmp_path, "--help")
    assert "wikiqa" in run(wheel, tmp_path, "data", "fetch")


def test_it_makes_a_table_of_a_paper_from_its_file(wheel: Path, tmp_path: Path) -> None:
    run(wheel, tmp_path, "reproduce", "--paper", "ctrn", "--table", "6", "--no-run")
    assert "CTRN" in (tmp_path / "results" / "ctrn" / "table6.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_it_trains_and_ranks_in_the_current_folder(wheel: Path, tmp_path: Path) -> None:
    run(wheel, tmp_path, *SMALL, "trainer.max_epochs=1", "logger=none")
    [record] = tmp_path.glob("results/runs/*/*/record.json")
    assert '"commit": ""' in record.read_text(encoding="utf-8")
    assert "ggsa" in run(wheel, tmp_path, "table")
    script = f"import qaexp; print(qaexp.load({str(record.parent)!r}).rank('where is it', ['here', 'there'])[0])"
    environment = {**os.environ, "PYTHONPATH": str(wheel)}
    ranked = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert "here" in ranked.stdout
