"""`qaexp show`: a record at a glance, and a ranking of one question."""

import json
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from qaexp.cli.show import main
from qaexp.config import compose
from qaexp.runs.record import RunRecord

OLD_RUN = Path(__file__).parent.parent / "runs" / "before_the_move"


def run_folder(folder: Path) -> Path:
    """A finished run's folder, with a test split of two questions and no data."""
    folder.mkdir()
    record = RunRecord(**json.loads((OLD_RUN / "record.json").read_text()))
    record.status, record.metrics = "finished", {"test": {"map": 0.75, "mrr": 0.75, "questions": 2, "pairs": 5}}
    record.history = [{"epoch": epoch, "train/loss": 1 / epoch, "dev/map": 0.1 * epoch} for epoch in (1, 2, 3)]
    record.best_epoch = 3
    record.save(folder)
    (folder / "test.run").write_text("q1 Q0 a 1 0.9 t\nq1 Q0 b 2 0.5 t\nq1 Q0 c 3 0.1 t\nq10 Q0 d 1 2 t\nq10 Q0 e 2 1 t\n")
    (folder / "test.qrels").write_text("q1 0 a 0\nq1 0 b 0\nq1 0 c 2\nq10 0 d 1\nq10 0 e 0\n")
    return folder


def test_a_run_is_shown_with_its_curves_and_metrics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(run_folder(tmp_path / "run"))]) == 0
    shown = capsys.readouterr().out
    assert "finished" in shown
    [loss] = [line for line in shown.splitlines() if line.strip().startswith("train loss")]
    assert loss.split() == ["train", "loss", "█▃▁", "1.0000", "0.3333", "0.3333"]
    assert "the best epoch is 3" in shown
    [test] = [line for line in shown.splitlines() if "│ test" in line]
    assert "75.00" in test
    [dev] = [line for line in shown.splitlines() if line.strip().startswith("dev MAP")]
    assert dev.split()[-3:] == ["10.00", "30.00", "30.00"]
    assert "measures in percent" in shown


def test_in_a_narrow_terminal_each_measure_has_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_folder(tmp_path / "run")
    monkeypatch.setenv("COLUMNS", "30")
    assert main([str(folder)]) == 0
    shown = capsys.readouterr().out
    [line] = [line.split("│") for line in shown.splitlines() if "│ MAP" in line]
    assert [cell.strip() for cell in line if cell.strip()] == ["MAP", "75.00"]
    assert "…" not in shown[shown.index("┏") :]


def test_without_a_name_it_is_the_newest_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("qaexp.cli.show.RUNS", tmp_path)
    assert main([]) == 2
    assert "holds no run" in caplog.text
    run_folder(tmp_path / "run")
    assert main([]) == 0
    assert "train loss" in capsys.readouterr().out


def test_a_ranking_has_the_first_candidates_and_every_right_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(run_folder(tmp_path / "run")), "--question", "q1", "--top", "1"]) == 0
    shown = capsys.readouterr().out
    rows = [line.split() for line in shown.splitlines() if line.strip()[:1].isdigit() and "wrong" not in line]
    assert rows == [["1", "0.9", "0", "a"], ["3", "0.1", "✓", "2", "c"]]
    assert "left out below rank 1: 1 wrong candidate" in shown


def test_a_question_or_split_that_is_not_there_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = str(run_folder(tmp_path / "run"))
    assert main([folder, "--question", "q2"]) == 2
    assert "has no question 'q2' in test; ids look like q1" in caplog.text
    assert main([folder, "--question", "q1", "--split", "tset"]) == 2
    assert "--split tset: did you mean test?" in caplog.text
    assert main([str(tmp_path / "nothing")]) == 2


def test_texts_are_those_of_the_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = run_folder(tmp_path / "run")
    cfg = compose(
        ["dataset=toy", "dataset/vectors=random", "dataset.reader.num_train=10", "dataset.reader.num_dev=6", f"cache_dir={tmp_path}"]
    )
    OmegaConf.save(cfg, folder / "config.yaml", resolve=True)
    record = RunRecord.load(folder)
    record.data = {}
    record.save(folder)
    (folder / "test.run").write_text("test-0001 Q0 answer-1 1 0.9 t\n")
    (folder / "test.qrels").write_text("test-0001 0 answer-1 1\n")
    assert main([str(folder), "--question", "test-0001"]) == 0
    assert "?" in capsys.readouterr().out.splitlines()[1]


def test_a_pair_with_a_class_is_shown_with_its_prediction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = run_folder(tmp_path / "run")
    for name in ("test.run", "test.qrels"):
        (folder / name).unlink()
    (folder / "test.pairs.csv").write_text("pair,class,predicted,score of neutral\np1,neutral,entailment,0.123456789\n")
    assert main([str(folder), "--question", "p1"]) == 0
    out = capsys.readouterr().out
    assert "predicted: entailment" in out
    assert "score of neutral: 0.1235" in out


@pytest.mark.parametrize(
    ("status", "says"),
    [
        ("interrupted", "qaexp resume="),
        ("running", "(if it was killed)"),
        ("failed", "(when the cause of the error is removed)"),
        ("finished", None),
    ],
)
def test_a_run_that_has_not_ended_says_how_to_go_on(
    status: str, says: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_folder(tmp_path / "run")
    record = RunRecord.load(folder)
    record.status = status
    record.save(folder)
    assert main([str(folder)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert (says in shown) if says else ("resume=" not in shown)
