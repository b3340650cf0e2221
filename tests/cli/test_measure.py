"""`qaexp measure` and `qaexp compare`: what they print, and how mistakes end."""

import json
from pathlib import Path

import pytest

from qaexp.cli.commands import main


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("all.qrels").write_text("q1 0 a 1\nq1 0 b 0\nq2 0 a 0\nq2 0 b 2\nq3 0 c 1\n")
    Path("good.run").write_text("q1 Q0 a 1 2 t\nq1 Q0 b 2 1 t\nq2 Q0 b 1 2 t\nq2 Q0 a 2 1 t\n")
    Path("bad.run").write_text("q1 Q0 b 1 2 t\nq1 Q0 a 2 1 t\nq2 Q0 b 1 2 t\nq9 Q0 a 2 1 t\n")
    return tmp_path


def test_measure_prints_a_line_for_each_run(files: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    assert main(["measure", "all.qrels", "good.run", "bad.run", "--measures", "RR", "nDCG@10", "P@1"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "run          MRR  nDCG@10     P@1  questions",
        "good.run  1.0000   1.0000  1.0000          2",
        "bad.run   0.7500   0.8155  0.5000          2",
        "convention trec",
    ]
    assert "bad.run: 1 of its questions have no judgements and are left out" in caplog.text
    assert "good.run lacks 1 of the 3 judged questions; they are left out; -c counts them as 0" in caplog.text


def test_measure_gives_json_per_question(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "all.qrels", "bad.run", "--measures", "AP", "-q", "-c", "--json"]) == 0
    [run] = json.loads(capsys.readouterr().out)["runs"]
    assert run == {
        "run": "bad.run",
        "questions": 3,
        "measures": {"map": 0.5},
        "per question": {"q1": {"map": 0.5}, "q2": {"map": 1.0}, "q3": {"map": 0.0}},
    }


def test_a_mistake_ends_with_one_sentence(files: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert main(["measure", "all.qrels", "none.run"]) == 2
    assert main(["measure", "all.qrels", "good.run", "--measures", "nDGC@5"]) == 2
    assert main(["compare", "good.run", "bad.run"]) == 2
    assert "none.run: there is no such file" in caplog.text
    assert "did you mean nDCG@10" in caplog.text
    assert "give their judgements with --qrels FILE" in caplog.text


def test_compare_prints_systems_and_a_row_for_each_pair(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "good.run", "bad.run", "--qrels", "all.qrels", "--measures", "RR"]) == 0
    systems, rows = (lines := capsys.readouterr().out.splitlines())[:2], lines[2:]
    assert systems == ["(1) good.run", "(2) bad.run"]
    assert rows[1].split() == [
        "MRR",
        "(1)-(2)",
        "1.0000",
        "0.7500",
        "+0.2500",
        "-2.9266",
        "to",
        "+3.4266",
        "+0.71",
        "1",
        "1",
        "0",
        "1",
        "1",
    ]
    assert main(["compare", "good.run", "bad.run", "--qrels", "all.qrels", "--measures", "RR", "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)
    assert (row["difference"], row["better"], row["measure"]) == (0.25, 1, "MRR")
