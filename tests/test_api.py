"""The package from Python: training by name, the run that is returned, errors, and the notebook of the documentation."""

import contextlib
import io
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from small_table import SMALL, TINY

import qaexp
from qaexp.config import CONF
from qaexp.errors import QaexpError
from qaexp.runs.record import RunRecord

NOTEBOOK = CONF.parent / "docs" / "notebooks" / "own_data.ipynb"


def test_the_package_imports_neither_torch_nor_hydra() -> None:
    code = "import sys, qaexp; qaexp.Run; print([name for name in ('torch', 'hydra', 'pandas') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_training_returns_the_record_and_its_folder_and_is_not_repeated(tmp_path: Path) -> None:
    options: dict[str, Any] = {"runs": tmp_path / "my runs", "logger": "none", "cache_dir": tmp_path / "a cache"}
    record, folder = qaexp.train([*TINY, *SMALL], **options)
    assert record.status == "finished"
    assert folder.parent == tmp_path / "my runs"
    assert RunRecord.load(folder).metrics == record.metrics
    again = qaexp.train([*TINY, *SMALL], **options)
    assert again.record.started == record.started
    ranked = again.load().rank("How do I stop my chain from squeaking?", ["Oil it.", "Ask a vet."])
    assert sorted(answer.position for answer in ranked) == [0, 1]
    ranker, pairs = qaexp.load(again), [("How do I oil it?", "Oil it."), ("How do I oil it?", "Ask a vet.")]
    assert ranker.scores(pair for pair in pairs).tolist() == ranker.scores(pairs).tolist()
    assert ranker.scores([]).shape == (0,)
    with pytest.raises(QaexpError, match=r"trainer\.max_epochs"):
        qaexp.train([*TINY, *SMALL], trainer={"max_epochs": "many"}, **options)


def test_choices_of_a_folder_of_ones_own_are_found(tmp_path: Path) -> None:
    mine = tmp_path / "my_conf" / "model"
    mine.mkdir(parents=True)
    (mine / "tiny.yaml").write_text("defaults: [qa_cnn, _self_]\nencoder: {num_filters: 4}\n")
    words = [f"hydra.searchpath=[file://{mine.parent}]", "model=tiny", *SMALL, "trainer.max_epochs=1"]
    record, _ = qaexp.train(words, runs=tmp_path / "runs", logger="none", cache_dir=tmp_path / "cache")
    assert record.config["model"]["encoder"]["num_filters"] == 4


def test_threads_train_one_after_the_other(tmp_path: Path) -> None:
    """Both give what one alone gives: they draw from one source of random numbers."""

    def trained(folder: str, seed: int) -> dict[str, Any]:
        options: dict[str, Any] = {"runs": tmp_path / folder, "logger": "none", "cache_dir": tmp_path / "cache", "seed": seed}
        return qaexp.train([*TINY, *SMALL], **options).record.metrics

    alone = [trained("alone", seed) for seed in (1, 2)]
    with ThreadPoolExecutor() as pool:
        assert list(pool.map(trained, ["together"] * 2, [1, 2])) == alone


def test_a_choice_that_does_not_exist_is_answered_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(QaexpError, match="did you mean ggsa") as error:
        qaexp.train(model="ggsaa", runs=tmp_path)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"model": 3}, "there is no model=3"),
        ({"logger": None}, "there is no logger=null"),
        ({"resume": "a/run"}, "resume=a/run is for the command line alone"),
        ({"output_dir": "there"}, "give runs=FOLDER"),
    ],
)
def test_options_of_a_wrong_kind_are_answered_in_one_sentence(options: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(QaexpError, match=sentence):
        qaexp.train(runs=tmp_path, **options)


def test_two_runs_are_compared_question_by_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"runs": tmp_path / "runs", "logger": "none", "cache_dir": tmp_path / "cache"}
    one, other = (qaexp.train([model, "dataset/vectors=random", *SMALL], **options) for model in ("model=bm25", "model=random_guess"))
    [row] = qaexp.compare(one, other.folder, measures=["AP"]).to_dict("records")
    means = [run.record.metrics["test"]["map"] for run in (one, other)]
    assert [row["first mean"], row["second mean"]] == pytest.approx(means)
    assert row["difference"] == pytest.approx(means[0] - means[1])
    assert row["better"] + row["equal"] + row["worse"] == 8
    monkeypatch.setenv("HOME", str(tmp_path))
    at_home = f"~/{one.folder.relative_to(tmp_path)}"
    [same] = qaexp.compare(at_home, other.folder, measures=["AP"]).to_dict("records")
    assert same["difference"] == row["difference"]
    assert qaexp.load(at_home).rank("what is it ?", ["the sky"])
    with pytest.raises(QaexpError, match="two runs or more"):
        qaexp.compare(one)


def test_the_function_and_the_module_have_one_name() -> None:
    import qaexp.train as module
    from qaexp.train import train

    assert callable(module)
    assert module.train is train
    assert qaexp.train is module


def test_in_a_notebook_a_bar_counts_epochs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    qaexp.train([*TINY, *SMALL], runs=tmp_path, logger="none", cache_dir=tmp_path / "cache", trainer={"max_epochs": 2})
    shown = capfd.readouterr().err
    assert "2/2" in shown
    assert "dev/map=" in shown


def test_the_cells_of_the_notebook_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))
    names: dict[str, Any] = {}
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            source = "".join(cell["source"]).replace("num_train=200", "num_train=60").replace('max_epochs": 4', 'max_epochs": 1')
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(source, str(NOTEBOOK), "exec"), names)
    assert names["run"].record.data["splits"]["test"]["pairs"] == 240
    assert names["run"].record.metrics["test"]["map"] > 0
    assert not any("outputs" in cell and cell["outputs"] for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"])


@pytest.mark.slow
def test_the_notebook_is_executed_by_jupyter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client.NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    trained = notebook.cells[2]["outputs"]
    assert any("4/4" in output.get("text", "") for output in trained)
    assert any("'map'" in output["data"]["text/plain"] for output in trained if output["output_type"] == "execute_result")
