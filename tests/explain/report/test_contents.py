"""What a report holds, without a browser: classes, neurons, chosen questions and refusals."""

import gzip
import json
import re
import shutil
from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import qaexp
from qaexp.api import Run
from qaexp.cli.commands import main
from qaexp.data.corpus import RankingSplit
from qaexp.errors import ConfigError, MissingDataError
from qaexp.explain.report.contents import RankedSplit
from qaexp.explain.report.looks import choose_questions
from qaexp.explain.report.page import write_report
from qaexp.explain.run_data import data_of

SMALL = [f"dataset.reader.{option}" for option in ("num_train=12", "num_dev=6", "num_test=6")]


def parts_of(page: Path) -> dict[str, Any]:
    """The parts of a page, unpacked."""
    found = re.findall(r'<script type="text/plain" id="part-([\w-]+)">([^<]*)</script>', page.read_text(encoding="utf-8"))
    return {name: json.loads(gzip.decompress(b64decode(packed))) for name, packed in found}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("toy")
    options = ["model=tc_lstm", "trainer.max_epochs=1", "logger=none", "dataset.vectors.dim=8", f"cache_dir={folder}/cache"]
    return qaexp.train([*options, *SMALL], runs=folder / "runs")


def test_a_grid_of_neurons_has_its_mean_and_the_neurons_that_stand_out(run: Run, tmp_path: Path) -> None:
    [page] = write_report([run.folder], tmp_path, data_of(run.folder, None), attention=1)
    parts = parts_of(page)
    [looks] = parts["looks-0"]
    titles = [heat["title"] for heat in looks[0]["heats"]]
    assert [bool(re.fullmatch(r".*, mean of \d+ neurons", titles[0])), len(titles)] == [True, 4]
    question, candidate = parts["index"]["looks"]["questions"][0], looks[0]["candidate"]
    pool = parts["pools-0"][question]
    text, written = parts["index"]["questions"]["text"][question], parts["texts-0"][pool["text"][candidate]]
    shown = next(tensor for name, tensor in run.load().read_out(text, written).items() if name.startswith("pair.") and tensor.ndim == 3)
    mean, one = looks[0]["heats"][:2]
    neuron = int(one["title"].rpartition(" ")[2])
    np.testing.assert_allclose(one["values"], shown[neuron].numpy(), rtol=1e-2)
    np.testing.assert_allclose(mean["values"], shown.mean(dim=0).numpy(), rtol=1e-2, atol=1e-4)


def test_pairs_with_classes_show_the_probability_of_each(classifiers: list[Run], tmp_path: Path) -> None:
    runs = classifiers
    parts = parts_of(write_report([run.folder for run in runs], tmp_path / "page.html", data_of(runs[0].folder, None))[0])
    index, predictions = parts["index"], pd.read_csv(runs[1].folder / "test.pairs.csv")
    assert index["questions"]["labels"] == [["entailment"], ["neutral"], ["contradiction"]]
    assert index["questions"]["text"] == [
        f"A man plays.\n{second}" for second in ("A man is playing.", "A tall man plays.", "Nobody plays.")
    ]
    assert [run["name"] for run in index["runs"]] == ["NBOW on SNLI, seed 1", "NBOW on SNLI, seed 2"]
    assert index["measures"] == ["accuracy", "probability of its class"]
    right = (predictions["class"] == predictions["predicted"]).astype(float)
    assert index["questions"]["values"][1][0] == right.tolist()
    assert index["runs"][1]["scores"][-1]["values"][0][0] == pytest.approx(runs[1].record.metrics["test"]["accuracy"])
    for number, pool in enumerate(parts["pools-0"]):
        assert sum(pool["score"][1][0]) == pytest.approx(1, abs=1e-4)
        own = pool["score"][1][0][index["classes"].index(pool["label"][0])]
        assert own == pytest.approx(index["questions"]["values"][1][1][number], abs=1e-4)
    assert [(row["measure"], row["first"], row["second"]) for row in index["comparisons"]] == [(each, 0, 1) for each in index["measures"]]


def test_questions_carry_attention_by_merit_and_evenly() -> None:
    def measured(*runs: list[float]) -> list[pd.Series]:
        return [pd.Series(each, index=[f"q{number}" for number in range(len(each))]) for each in runs]

    alone = measured([1.0, 0.2, 1.0, 0.1, 1.0, 1.0, 1.0, 0.9])
    assert choose_questions(alone, 2, []) == [0, 3], "the hardest, and the first of the rest"
    assert choose_questions(alone, 0, ["q5"]) == [5]
    assert choose_questions(alone, 99, []) == list(range(8))
    assert choose_questions(measured([1.0, 0.0, 0.5], [1.0, 1.0, 0.6]), 1, []) == [1], "where the runs differ most"
    with pytest.raises(ConfigError, match="--question q9: there is no such question"):
        choose_questions(alone, 1, ["q9"])


def test_what_cannot_be_reported_is_refused_in_a_sentence(run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def refused(*arguments: str) -> str:
        caplog.clear()
        assert main(["report", *arguments, "--to", str(tmp_path / "page.html")]) == 2
        return caplog.messages[-1]

    assert "a run is named twice" in refused(str(run.folder), f"{run.folder}/.")
    assert "--split tset: did you mean test?" in refused(str(run.folder), "--split", "tset")
    other = tmp_path / "other"
    shutil.copytree(run.folder, other)
    record = json.loads((other / "record.json").read_text(encoding="utf-8"))
    (other / "record.json").write_text(json.dumps(record | {"convention": "trecqa"}), encoding="utf-8")
    assert "were measured by different conventions, trecqa and trec; report each by itself" in refused(str(run.folder), str(other))
    assert "has no config.yaml, which names its data set" in refused(str(tmp_path))
    assert not (tmp_path / "page.html").exists()


def test_runs_with_other_measures_are_compared_by_those_that_both_have(run: Run, tmp_path: Path) -> None:
    options = ["model=tc_lstm", "trainer.max_epochs=1", "logger=none", "dataset.vectors.dim=8", f"cache_dir={run.folder.parents[1]}/cache"]
    other = qaexp.train([*options, *SMALL, "dataset.measures=[R@2,ERR@20]"], runs=tmp_path)
    for runs in ([run.folder, other.folder], [other.folder, run.folder]):
        index = parts_of(write_report(runs, tmp_path / "page.html", data_of(runs[0], None))[0])["index"]
        assert index["measures"] == ["P@1", "MRR", "MAP", "P@5", "nDCG@10"]
        assert {len(scores["values"]) for each in index["runs"] for scores in each["scores"]} == {5}


def test_a_run_that_is_not_finished_is_named(run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    shutil.copytree(run.folder, tmp_path / "failed")
    record = json.loads((tmp_path / "failed" / "record.json").read_text(encoding="utf-8"))
    (tmp_path / "failed" / "record.json").write_text(json.dumps(record | {"status": "failed", "metrics": {}}), encoding="utf-8")
    assert main(["report", str(tmp_path / "failed"), "--to", str(tmp_path / "page.html")]) == 2
    assert "is failed; a report needs finished runs" in caplog.text


def test_a_run_on_a_file_that_was_moved_is_reported_with_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = (f"what is {each}?,{answer},{label}" for each in "abc" for answer, label in (("this", 1), ("that", 0)))
    Path("faq.csv").write_text("\n".join(["question,candidate,label", *lines]) + "\n")
    options = ["model=word_overlap", "dataset=own", "dataset.reader.folder=faq.csv", "logger=none", "cache_dir=cache"]
    folder = qaexp.train(options, runs="runs").folder
    Path("elsewhere").mkdir()
    Path("faq.csv").rename("elsewhere/faq.csv")
    with pytest.raises(MissingDataError, match="--data PLACE says where they are"):
        data_of(folder, None)
    for place in ("elsewhere", "elsewhere/faq.csv"):
        assert data_of(folder, place).splits["test"].num_questions == 3


def test_the_best_right_answer_counts_and_a_question_without_one_has_rank_0() -> None:
    labels = np.array([0, 1, 1, 0, 0], dtype=np.int8)
    names = np.array([b"a", b"b", b"c", b"d", b"e"])
    split = RankingSplit(np.array([0, 1]), np.array([0, 3, 5]), np.arange(5), labels, np.array([b"q", b"r"]), names)
    ranks = {0: 2, 1: 3, 2: 1, 3: 1, 4: 2}
    ranked = RankedSplit(split, [0, 1], [np.array([2, 0, 1]), np.array([3, 4])], [ranks], [{}], [])
    assert ranked.first_right(0) == [1, 0]
