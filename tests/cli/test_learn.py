"""`make learn`: plans, curves and verdicts; runs that are finished are not made again."""

from pathlib import Path

import pandas as pd
import pytest

from qaexp.cli.learn import main
from qaexp.config import choices, compose
from qaexp.reproduction import learning
from qaexp.reproduction.learning import Plan, verdicts, with_others
from qaexp.runs.store import run_overrides

TOY = [f"dataset.reader.num_{split}={number}" for split, number in (("train", 10), ("dev", 6), ("test", 6))]


def test_the_plan_composes_for_every_named_model() -> None:
    plan = Plan.load()
    assert {model for group in plan.groups for model in group["models"]} <= set(choices("model"))
    assert set(plan.baselines) <= set(choices("model"))
    assert plan.overrides("word_overlap", "wikiqa") == ["model=word_overlap", "dataset=wikiqa"]
    for model in choices("model"):
        overrides = plan.overrides(model, "wikiqa")
        assert compose(overrides).choices.model == model
        assert (f"trainer.max_epochs={plan.max_epochs}" in overrides) == (model not in plan.baselines)


def test_a_curve_has_a_row_an_epoch(tmp_path: Path) -> None:
    overrides = ["model=qa_cnn", "model.encoder.num_filters=8", "trainer.max_epochs=2", "logger=none", f"cache_dir={tmp_path}", *TOY]
    record = run_overrides(overrides, tmp_path / "runs").record
    assert record is not None
    curve = learning.learning_curve(record, "toy")
    assert [row["epoch"] for row in curve] == [1, 2]
    assert all(0 < row["dev map"] <= 1 and row["parameters"] > 0 and row["loss"] is not None for row in curve)


POINTS = [("chance", 0, 0.2), ("words", 0, 0.5), ("good", 1, 0.4), ("good", 2, 0.6), ("weak", 1, 0.5), ("bad", 1, 0.1)]


def test_models_that_are_not_above_a_baseline_are_named() -> None:
    curves = pd.DataFrame(
        [{"dataset": "d", "model": m, "parameters": 1, "epoch": e, "dev map": value, "dev mrr": value} for m, e, value in POINTS]
    )
    table = verdicts(curves, ["chance", "words"]).set_index("model")
    assert table["not above"].to_dict() == {"chance": "", "words": "", "good": "", "weak": "words", "bad": "words, chance"}
    assert (table.loc["good", "epoch"], table.loc["good", "dev map"]) == (2, "60.00")


def test_a_model_made_again_leaves_the_others_in_the_file(tmp_path: Path) -> None:
    csv = tmp_path / "learn.csv"
    curves = pd.DataFrame([{"dataset": "d", "model": m, "epoch": e, "dev map": value, "loss": value / 3} for m, e, value in POINTS])
    order = ["chance", "words", "bad", "good", "weak"]
    with_others(curves, csv, ["d"], order).to_csv(csv, index=False)
    first = csv.read_text()
    assert [line.split(",")[1] for line in first.splitlines()[1:]] == ["chance", "words", "bad", "good", "good", "weak"]
    again = curves[curves["model"] == "good"].assign(**{"dev map": 0.7})
    with_others(again, csv, ["d"], order).to_csv(csv, index=False)
    changed = [(old, new) for old, new in zip(first.splitlines(), csv.read_text().splitlines(), strict=True) if old != new]
    assert [new.split(",")[1:4] for _, new in changed] == [["good", "1", "0.7"], ["good", "2", "0.7"]]


def test_a_mistyped_model_is_named_with_what_comes_near(caplog: pytest.LogCaptureFixture) -> None:
    assert main(["ggas"]) == 2
    assert "model=ggas is not among the choices: did you mean ggsa" in caplog.text


def test_missing_data_are_named_once_before_anything_runs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QAEXP_DATA", str(tmp_path / "none"))
    assert main(["--csv", str(tmp_path / "learn.csv"), "--runs", str(tmp_path / "runs")]) == 2
    assert caplog.text.count("`qaexp data fetch wikiqa` fetches it") == 1
    assert not (tmp_path / "runs").exists()


def test_a_file_of_something_else_is_not_written_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    assert main(["ggsa", "--csv", str(tmp_path / "other.csv"), "--runs", str(tmp_path / "runs")]) == 2
    assert "other.csv holds something else than learning curves and would be overwritten" in caplog.text
    assert (tmp_path / "other.csv").read_text() == "a,b\n1,2\n"
    assert not (tmp_path / "runs").exists()


def test_a_run_over_former_data_is_made_again(tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own"
    own.mkdir()
    plan = Plan(["own"], 1, ["word_overlap"], [], [], [])
    monkeypatch.setattr(plan.__class__, "load", classmethod(lambda cls: plan))
    monkeypatch.setenv("QAEXP_DATA", str(tmp_path))
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(learning, "choices", lambda group: ["word_overlap"])
    command = ["--csv", str(tmp_path / "learn.csv"), "--runs", str(tmp_path / "runs")]
    for right, times in (("water", 1), ("water", 1), ("stones", 2)):
        for split in ("train", "dev", "test"):
            lines = [f"what do roses need in {split}\t{text}\t{int(text == right)}\n" for text in ("water", "stones")]
            (own / f"{split}.tsv").write_text("".join(lines))
        assert main(command) == 0
        assert len(list((tmp_path / "runs").glob("*/record.json"))) == times
    assert caplog.text.count("the data have changed since; the old run is now in") == 1
