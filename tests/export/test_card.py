"""The model card says what the record says."""

from pathlib import Path

import pytest
import yaml

from qaexp.cli.export import main
from qaexp.export.card import card_of
from qaexp.runs.record import RunRecord


def test_its_metadata_are_the_measured_scores(bi_encoder_run: Path, tmp_path: Path) -> None:
    assert main([str(bi_encoder_run), "--card", str(tmp_path / "README.md")]) == 0
    _, metadata, text = (tmp_path / "README.md").read_text(encoding="utf-8").split("---\n", maxsplit=2)
    card, record = yaml.safe_load(metadata), RunRecord.load(bi_encoder_run)
    [test] = [each for each in card["model-index"][0]["results"] if each["dataset"]["split"] == "test"]
    assert {each["type"]: each["value"] for each in test["metrics"]}["map"] == pytest.approx(record.metrics["test"]["map"], abs=1e-6)
    assert f"| test | MAP | {record.metrics['test']['map']:.4f} | 4 |" in text
    assert record.data["fingerprint"] in text
    assert str(Path(next(iter(record.data["weights"]))).parent) not in metadata, "the place of weights on this machine is nobody's business"


def test_a_card_of_classes_and_of_pre_training_says_what_the_run_does(bi_encoder_run: Path) -> None:
    record = RunRecord.load(bi_encoder_run)
    assert ".rank(" in (ranking := card_of(record))
    assert "`qaexp model=bi_encoder" in ranking or "`qaexp " in ranking
    record.config["dataset"]["num_classes"] = 3
    classes = card_of(record)
    assert "text-classification" in classes
    assert '.classify("a text", "another")' in classes
    assert "candidate" not in classes.split("## Data")[0].split("## Measured")[0]
    record.config["pairs"] = {}
    assert "`qaexp pretrain " in card_of(record)


def test_a_run_that_has_not_finished_has_no_card(tmp_path: Path, bi_encoder_run: Path, caplog: pytest.LogCaptureFixture) -> None:
    record = RunRecord.load(bi_encoder_run)
    record.status = "failed"
    record.save(tmp_path)
    assert main([str(tmp_path), "--card", str(tmp_path / "README.md")]) == 2
    assert "has no measured scores for a card (its status is failed); name the folder of a finished run" in caplog.text


def test_nothing_to_write_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([str(tmp_path)])
    assert "name what to write: --onnx FILE, --sentence-transformers FOLDER or --card FILE" in capsys.readouterr().err


def test_a_card_counts_pairs_of_classes_and_names_no_epoch_of_an_untrained_model(bi_encoder_run: Path) -> None:
    record = RunRecord.load(bi_encoder_run)
    record.config["dataset"]["num_classes"], record.best_epoch = 3, None
    record.metrics = {"test": {"accuracy": 0.5, "pairs": 9824}}
    card = card_of(record)
    assert "| split | measure | value | pairs |" in card
    assert "| test | accuracy | 0.5000 | 9824 |" in card
    assert "Best epoch" not in card
