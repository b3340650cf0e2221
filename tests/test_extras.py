"""What qaexp needs at least, and what it says where the library of an extra is not installed."""

import importlib
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
import torch
from packaging.requirements import Requirement

from qaexp.cli.commands import main
from qaexp.config import compose
from qaexp.data.bm25 import BM25Index
from qaexp.data.corpus_builder import CorpusBuilder
from qaexp.data.vocabulary import Vocabulary
from qaexp.errors import EXTRAS, ConfigError, missing_library
from qaexp.mistakes import explain
from qaexp.models.lexical.bag import content_words
from qaexp.models.lexical.baselines import CandidateOnly
from qaexp.tracking.logger import _mode, _reason

PROJECT = tomllib.loads(Path(__file__).resolve().parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8"))["project"]
PACKAGES = {
    "ir_measures": "ir-measures",
    "markdown_it": "markdown-it-py",
    "mlflow": "mlflow-skinny",
    "sentence_transformers": "sentence-transformers",
    "sklearn": "scikit-learn",
    "wandb_workspaces": "wandb-workspaces",
}
"""Names of packages that differ from those of their modules."""


def packages_of(extra: str) -> set[str]:
    """The packages of an extra, with those of extras that it names."""
    required = [Requirement(line) for line in PROJECT["optional-dependencies"][extra]]
    inner = [name for each in required if each.name == "qaexp" for name in each.extras]
    return {each.name for each in required if each.name != "qaexp"}.union(*map(packages_of, inner))


@pytest.mark.parametrize("library", EXTRAS)
def test_an_extra_has_its_library_and_so_has_all_of_them(library: str) -> None:
    package = PACKAGES.get(library, library)
    assert package in packages_of(EXTRAS[library][1])
    assert package in packages_of("all")
    assert package not in {Requirement(line).name for line in PROJECT["dependencies"]}


@pytest.mark.parametrize("library", EXTRAS)
def test_a_missing_library_is_named_with_its_extra(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ModuleNotFoundError) as missing:
        importlib.import_module(library)
    purpose, extra = EXTRAS[library]
    assert missing_library(missing.value) == f"{purpose}: {library} is not installed; pip install 'qaexp[{extra}]'"


def test_other_missing_modules_are_left_alone() -> None:
    assert missing_library(ModuleNotFoundError("No module named 'mine'", name="mine")) is None
    assert missing_library(ImportError("cannot import name")) is None


@pytest.mark.parametrize(
    ("library", "use"),
    [("bm25s", lambda: BM25Index([[2]], 3, 1.5, 0.75)), ("gensim", lambda: content_words(Vocabulary.of_words(["soup"])))],
)
def test_a_component_says_which_library_it_misses(library: str, use: object, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.startswith(f"{library}.")]:
        monkeypatch.delitem(sys.modules, module)  # as if no earlier test had imported it
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ModuleNotFoundError) as missing:
        use()  # type: ignore[operator]
    assert f"{library} is not installed; pip install 'qaexp[" in str(explain(missing.value, []))


@pytest.mark.parametrize(
    ("library", "command", "modules"),
    [
        ("pooch", ["data", "fetch", "wikiqa"], ["qaexp.data.fetch.download", "qaexp.data.fetch.fetch"]),
        ("matplotlib", ["figures", "gates", "RUN", "--to", "here"], ["qaexp.explain.gates", "qaexp.explain.drawing"]),
        ("joblib", ["reproduce", "--plan"], ["qaexp.reproduction.reproduction", "qaexp.reproduction.runs"]),
    ],
)
def test_a_command_says_which_library_it_misses(
    library: str, command: list[str], modules: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for module in modules:  # import them again
        monkeypatch.delitem(sys.modules, module, raising=False)
    for name in [name for name in sys.modules if re.match(rf"{library}\b", name)]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, library, None)
    assert main(command) == 2
    assert f"{library} is not installed; pip install 'qaexp[{EXTRAS[library][1]}]'" in caplog.text


@pytest.mark.parametrize("library", ["pooch", "requests"])
def test_what_fetches_nothing_needs_no_library_of_downloads(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("qaexp.cli.data", "qaexp.data.fetch.download", "qaexp.data.fetch.fetch", "qaexp.reproduction.statistics"):
        monkeypatch.delitem(sys.modules, module, raising=False)  # import it again
    monkeypatch.setitem(sys.modules, library, None)
    assert main(["data", "fetch"]) == 0
    importlib.import_module("qaexp.reproduction.statistics")  # `qaexp reproduce` and `qaexp site` import it


def test_a_model_names_the_extra_that_has_all_its_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("sklearn", "scipy"):
        for name in [name for name in sys.modules if re.match(rf"{library}\b", name)]:
            monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ModuleNotFoundError) as missing:
        CandidateOnly(1.0, 1, torch.zeros(2, 2)).fit(CorpusBuilder().build(), lambda _: [])
    assert str(missing_library(missing.value)).endswith("pip install 'qaexp[lexical]'")


def test_what_the_usual_logger_needs_is_in_its_extra() -> None:
    assert packages_of("wandb") == {"wandb", "matplotlib", "scipy"}
    assert _reason(ModuleNotFoundError("No module named 'scipy'", name="scipy")).endswith("pip install 'qaexp[tables]'")


def test_without_wandb_a_run_of_the_usual_logger_goes_on(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    caplog.set_level("INFO")
    assert compose([]).logger.mode == "auto"
    assert _mode("auto") == "none"
    assert caplog.messages == ["W&B is not installed, and this run goes on without it; pip install 'qaexp[wandb]' for it, or logger=none"]
    with pytest.raises(ConfigError):
        _mode("sometimes")


def test_training_and_ranking_need_the_core_alone(tmp_path: Path) -> None:
    """With the packages that `pip install qaexp` brings and no other."""
    left, seen, core = [Requirement(line).name for line in PROJECT["dependencies"]], set[str](), tmp_path / "core"
    core.mkdir()
    while left:
        if (name := left.pop()) in seen:
            continue
        seen.add(name)
        required = map(Requirement, distribution(name).requires or [])
        left += [each.name for each in required if each.marker is None or each.marker.evaluate({"extra": ""})]
        for top in {file.parts[0] for file in distribution(name).files or []} - {"..", "__pycache__"}:
            if not (core / top).exists():
                (core / top).symlink_to(distribution(name).locate_file(top))
    small = "'dataset.reader.num_train=20', 'dataset.reader.num_dev=8', 'dataset.reader.num_test=8', 'dataset.vectors.dim=8'"
    script = (
        "import glob, qaexp, sys; from qaexp.cli.commands import main\n"
        f"assert main([{small}, 'trainer.max_epochs=1', 'cache_dir=cache']) == 0\n"
        "print(qaexp.load(glob.glob('results/runs/*/*')[0]).rank('where is it', ['here', 'there'])[0])\n"
        f"print({set(EXTRAS)!r} & {{name for name, module in sys.modules.items() if module}})"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).resolve().parents[1]), str(core)])}
    command = [sys.executable, "-S", "-c", script]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "W&B is not installed, and this run goes on without it" in done.stderr
    assert "RankedAnswer(" in done.stdout
    assert done.stdout.endswith("set()\n")
