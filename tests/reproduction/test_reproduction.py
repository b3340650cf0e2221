"""The whole way of `qaexp reproduce`, with real runs on toy."""

import argparse
import json
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import pytest
from made_up_questions import write_questions
from omegaconf import OmegaConf
from small_table import TABLE, TINY, entry_of

from qaexp.cli import reproduce
from qaexp.cli.command import USER_ERROR
from qaexp.config import choices, compose
from qaexp.errors import ConfigError
from qaexp.reproduction import cells, reproduction, runs
from qaexp.reproduction.cells import Keys, alternatives
from qaexp.reproduction.ledger import Ledger
from qaexp.reproduction.plan import Choice, Run, plan
from qaexp.reproduction.spec import Column, Row, Setting, Table, result_figures, result_tables
from qaexp.runs.identity import measured_config
from qaexp.runs.store import Outcome, run_overrides


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_table_is_run_once_resumes_and_survives_a_failing_row(
    jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bad = Row("Bad", [1.0, 1.0, None], overrides=[*TINY, "model.encoder.num_filters=0"])
    table = Table(**{**TABLE.__dict__, "rows": [*TABLE.rows[:3], bad], "seeds": [1, 2]})
    monkeypatch.setattr(reproduction, "result_tables", lambda: [table])
    monkeypatch.setattr(reproduction, "result_figures", list)
    monkeypatch.setattr(reproduction, "claims", lambda paper: [])
    monkeypatch.setattr(reproduction, "configuration_tables", list)
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("QAEXP_DATA", str(tmp_path / "no data"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    places = ["--results", str(tmp_path / "results"), "--runs", str(tmp_path / "runs"), "--jobs", str(jobs)]
    caplog.set_level("INFO")
    assert reproduce.main(["--paper", "ctrn", *places]) == reproduction.FAILED
    frame = pd.read_csv(tmp_path / "results" / "ctrn" / "table9.csv", dtype=str).fillna("").set_index("Model")
    assert frame["seeds"].to_dict() == {"Kelp": "", "Word Overlap": "toy: 1; absent: 0", "CNN": "2", "Bad": "0"}
    assert frame.loc["CNN", "status"] == "measured"
    assert 0 < float(frame.loc["CNN", "MAP"]) <= 100
    assert "Bad (toy), seed 1 failed: model.encoder.num_filters=0: must be at least 1" in caplog.text
    assert "epoch 1/" not in caplog.text, "a line a run, not a line an epoch"
    entries = sorted(path.name for path in (tmp_path / "results" / "ledger").iterdir())
    assert len(entries) == 3
    caplog.clear()
    assert reproduce.main(["--plan", *places]) == 0
    assert reproduce.main([*places, "--rows", "CNN"]) == 0  # nothing left of this row
    assert "[1/" not in caplog.text
    assert sorted(path.name for path in (tmp_path / "results" / "ledger").iterdir()) == entries
    kept = (tmp_path / "results" / "ctrn" / "table9.csv").read_text()
    assert reproduce.main(["--no-run", *places]) == 0
    assert (tmp_path / "results" / "ctrn" / "table9.csv").read_text() == kept


def test_a_killed_process_is_reported_in_one_sentence_and_finished_runs_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    killing = Row("Killing", [1.0, 1.0, None], overrides=["model._target_=killing.kill"])
    table = Table(**{**TABLE.__dict__, "rows": [TABLE.rows[2], killing], "seeds": [1]})
    monkeypatch.setattr(reproduction, "result_tables", lambda: [table])
    monkeypatch.setattr(reproduction, "result_figures", list)
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))
    places = ["--paper", "ctrn", "--results", str(tmp_path / "results"), "--runs", str(tmp_path / "runs")]
    assert reproduce.main([*places, "--jobs", "1", "--rows", "CNN"]) == 0
    assert reproduce.main([*places, "--jobs", "2"]) == USER_ERROR
    assert "the process of a run was killed, perhaps for lack of memory" in caplog.text
    assert len(list((tmp_path / "results" / "ledger").iterdir())) == 1


def test_busy_runs_are_tried_again_after_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tried, at_once = list[str](), runs._outcome

    def busy_at_first(run: Run, options: argparse.Namespace) -> Outcome:
        tried.append(run.cell.row.label)
        return at_once(run, options) if len(tried) > 1 else Outcome("busy", tmp_path)

    table = Table(**{**TABLE.__dict__, "rows": TABLE.rows[1:3], "seeds": [1]})
    monkeypatch.setattr(runs, "_outcome", busy_at_first)
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))
    ledger = Ledger(tmp_path / "ledger")
    planned = plan([table], ledger, Keys(tmp_path / "plans"), Choice(seeds=[1], rows=[], settings=["toy"]))
    caplog.set_level("INFO")
    assert runs.run_all(planned, ledger, argparse.Namespace(jobs=1, runs=tmp_path / "runs", logger="none")) == []
    assert tried == ["Word Overlap", "CNN", "Word Overlap"]
    assert len(ledger.entries) == 2
    assert "left to the other processes" not in caplog.text


def empty_ledger_of(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Its folder, where this is the only table that there is."""
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(reproduction, "result_tables", lambda: [table])
    monkeypatch.setattr(reproduction, "result_figures", list)
    monkeypatch.setattr(reproduction, "claims", lambda paper: [])
    folder = tmp_path / "results" / "ledger"
    folder.mkdir(parents=True)
    return folder


def test_entries_that_no_table_shows_are_named_and_pruned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = empty_ledger_of(TABLE, tmp_path, monkeypatch)
    [(shown, *_)] = Keys(tmp_path / "plans").of(next(alternatives(TABLE, TABLE.rows[2], "toy")), [1])
    for key in (shown, "1234567890abcdef"):
        (folder / f"{key}.json").write_text(json.dumps(asdict(entry_of(key, 1, [0.5]))))
    assert reproduce.main(["--no-run", "--results", str(tmp_path / "results")]) == 0
    assert reproduce.main(["--no-run", "--prune", "--results", str(tmp_path / "results")]) == 0
    assert [path.stem for path in folder.iterdir()] == [shown]
    assert reproduce.main(["--no-run", "--results", str(tmp_path / "results")]) == 0
    named, deleted = (message for message in caplog.messages if "that no table shows" in message)
    assert named.endswith("to be deleted with --prune: m_toy_seed1_1234567890abcdef")
    assert deleted.endswith("deleted: m_toy_seed1_1234567890abcdef")


def test_runs_on_a_part_of_the_data_stay_when_the_whole_arrives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(**{**TABLE.__dict__, "settings": {**TABLE.settings, "toy": Setting(["wikiqa", "toy"])}})
    folder = empty_ledger_of(table, tmp_path, monkeypatch)
    whole, part = alternatives(table, table.rows[2], "toy")
    entry = asdict(entry_of(Keys(tmp_path / "plans").of(whole, [1])[0].whole, 1, [0.5]))
    (folder / "whole.json").write_text(json.dumps({**entry, "command": "model=qa_cnn dataset=wikiqa"}))
    config = OmegaConf.to_container(compose([*part.seeded(1), "trainer.max_epochs=1"]), resolve=True)
    lower_limit = {"key": "another", "config": measured_config(config), "best_epoch": None}  # patience had ended it before
    (folder / "part.json").write_text(json.dumps({**entry, **lower_limit}))
    (folder / "other.json").write_text(json.dumps({**entry, **lower_limit, "key": "other", "config": {}}))
    assert reproduce.main(["--no-run", "--prune", "--results", str(tmp_path / "results")]) == 0
    assert sorted(path.stem for path in folder.iterdir()) == ["part", "whole"]


def test_a_bar_counts_each_table_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = list[str]()

    class Bar:
        def track(self, tables: Sequence[Table], description: str) -> Sequence[Table]:
            counted.extend(f"{description}: {table.title}" for table in tables)
            return tables

    other = Table(**{**TABLE.__dict__, "name": "table8"})
    for name, found in (("result_tables", [TABLE, other]), ("result_figures", []), ("tunings", []), ("configuration_tables", [])):
        monkeypatch.setattr(reproduction, name, lambda found=found: found)
    monkeypatch.setattr(reproduction, "claims", lambda paper: [])
    monkeypatch.setattr(reproduction, "progress", lambda: nullcontext(Bar()))
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))
    assert reproduce.main(["--no-run", "--table", "9", "--results", str(tmp_path)]) == 0
    assert counted == ["tables: ctrn, Table 9", "tables: ctrn, Table 8"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--paper", "ctrm"], "there is no paper 'ctrm'"),
        (["--paper", "ctrn", "--table", "99"], "there is no table 99 in ctrn; there are ctrn 2, 3, "),
        (["--paper", "ctrn", "--table", "tuning_snli"], "tuning_qatarliving, tuning_trecqa, tuning_trecqa_baselines, tuning_yahooqa"),
        (["--paper", "ctrn", "--seeds", "7", "--plan"], "these tables have no seed 7; their seeds are 1, 2, 3, 4, 5"),
        (["--paper", "ctrn", "--figure", "4"], "there is no figure 4 in ctrn; there are ctrn 3 (those of single runs come from"),
        (["--paper", "ctrn", "--table", "6", "--rows", "QRN"], "did you mean QRNN"),
        (["--paper", "ctrn", "--table", "6", "--settings", "zzz"], "--settings: there is no 'zzz'; choose among TRAIN, TRAIN-ALL"),
        (["--paper", "clstm", "--table", "4", "--rows", "TC-LSTMs (10)"], "--rows TC-LSTMs --settings 10"),
    ],
)
def test_a_mistake_is_reported_in_one_sentence(options: list[str], said: str, caplog: pytest.LogCaptureFixture) -> None:
    assert reproduce.main(options) == USER_ERROR
    assert said in caplog.text


def test_a_logger_is_one_of_the_choices(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(reproduce.LOGGERS) == choices("logger")
    with pytest.raises(SystemExit):
        reproduce.main(["--logger", "foo", "--plan"])
    assert (
        "argument --logger: invalid choice: 'foo' (choose from 'csv', 'mlflow', 'none', 'tensorboard', 'wandb')" in capsys.readouterr().err
    )


def test_a_pretrained_row_runs_its_pre_training_first_and_is_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_questions(tmp_path / "data")
    monkeypatch.setenv("QAEXP_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))
    for cached in (cells._lacking, cells._fingerprint):
        cached.cache_clear()
    model = ["model=rcnn", "model/pooling=last", "model.encoder.hidden_dim=6"]
    before = [*model[:1], *model[2:], "output.cutoffs=[20]", "pairs.steps_per_epoch=2", "trainer.max_epochs=1"]
    reading = [option for option in data if option.startswith("dataset.")]
    common = [*reading, "loss=max_margin", "dataset/negatives=lists", "trainer.max_epochs=1"]
    table = Table(
        **{
            **TABLE.__dict__,
            "paper": "rcnn",
            "seeds": [1, 2],
            "common": common,
            "settings": {"titles": Setting(["askubuntu"], ["random"])},
            "columns": {"MAP": Column("test/map")},
            "rows": [
                Row("RCNN", [50.0], overrides=model),
                Row("RCNN, pre-trained", [50.0], overrides=model, pretrain=before),
                Row("RCNN, pre-trained otherwise", [50.0], overrides=model, pretrain=[*before, "optimizer.lr=0.02"]),
            ],
        }
    )
    monkeypatch.setattr(reproduction, "result_tables", lambda: [table])
    monkeypatch.setattr(reproduction, "claims", lambda paper: [])
    monkeypatch.setattr(reproduction, "configuration_tables", list)
    places = ["--results", str(tmp_path / "results"), "--runs", str(tmp_path / "runs (1)")]
    assert reproduce.main(["--seeds", "1", *places]) == 0
    frame = pd.read_csv(tmp_path / "results" / "rcnn" / "table9.csv", dtype=str).set_index("Model")
    assert frame["seeds"].tolist() == ["1", "1", "1"]
    assert "init_from" not in frame.loc["RCNN", "command"]
    assert frame.loc["RCNN, pre-trained", "command"].startswith("qaexp pretrain ")
    assert " && qaexp dataset=askubuntu " in frame.loc["RCNN, pre-trained", "command"]
    ledger, keys = Ledger(tmp_path / "results" / "ledger"), Keys(tmp_path / "plans")
    assert len(ledger.entries) == 3
    planned = plan([table], ledger, keys, Choice())
    assert [run.seed for run in planned.done] == [1, 1, 1]
    assert [run.seed for run in planned.to_do] == [2, 2, 2]
    records = [json.loads(path.read_text()) for path in (tmp_path / "runs (1)").rglob("record.json")]
    begun = [record["config"]["init_from"]["key"] for record in records if record["config"].get("init_from")]
    assert len(records) == 5
    assert len(set(begun)) == 2
    assert {record["config"]["labels"]["row"] for record in records} >= {"RCNN, pre-trained", "RCNN, pre-trained, pre-training"}
    capsys.readouterr()
    assert reproduce.main(["--plan", *places]) == 0
    assert ", and 2 of pre-training\n" in capsys.readouterr().out


def test_a_row_learns_from_another_rows_run_of_the_same_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The teacher's run is that of its own row: it is made once, also when the student's row is asked for alone."""
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))
    rows = [
        Row("teacher", [1.0, None, None], overrides=[*TINY, "model/pooling=mean"]),
        Row("student", [1.0, None, None], overrides=[*TINY, "loss=margin_mse"], teacher="teacher"),
    ]
    table = Table(**{**TABLE.__dict__, "rows": rows, "seeds": [1, 2]})
    monkeypatch.setattr(reproduction, "result_tables", lambda: [table])
    monkeypatch.setattr(reproduction, "result_figures", list)
    monkeypatch.setattr(reproduction, "claims", lambda paper: [])
    monkeypatch.setattr(reproduction, "configuration_tables", list)
    places = ["--paper", "ctrn", "--results", str(tmp_path / "results"), "--runs", str(tmp_path / "runs")]
    assert reproduce.main([*places, "--rows", "student"]) == 0
    assert len(Ledger(tmp_path / "results" / "ledger").entries) == 2
    assert reproduce.main(places) == 0
    records = [json.loads(path.read_text()) for path in (tmp_path / "runs").rglob("record.json")]
    taught = {record["seed"]: record["config"]["loss"]["teacher"]["key"] for record in records if record["config"]["loss"].get("teacher")}
    assert len(records) == 4
    assert taught == {record["seed"]: record["key"] for record in records if not record["config"]["loss"].get("teacher")}
    frame = pd.read_csv(tmp_path / "results" / "ctrn" / "table9.csv", dtype=str).set_index("Model")
    assert frame["seeds"].to_dict() == {"teacher": "2", "student": "2"}
    assert " && qaexp " in frame.loc["student", "command"]
    assert frame.loc["student", "command"].endswith("loss.teacher=FOLDER")
    [begun] = [record for record in records if record["seed"] == 1 and record["config"]["loss"].get("teacher")]
    [path] = (tmp_path / "runs").rglob(f"*_{begun['key']}/record.json")
    path.write_text(json.dumps({**begun, "status": "interrupted"}))
    ledger = Ledger(tmp_path / "results" / "ledger")
    ledger.remove([entry.key for entry in ledger.entries if entry.seed == 1 and entry.config["loss"].get("teacher")])
    capsys.readouterr()
    assert reproduce.main([*places, "--plan"]) == 0
    assert "begun: ctrn, Table 9: student (toy), seed 1, up to epoch 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("teacher", "said"),
    [
        ("CNM", "row 'student': teacher: there is no row 'CNM'; did you mean CNN?"),
        ("Kelp", "row 'student': teacher: 'Kelp' runs after another run, or not at all; name a row of one run"),
        ("student", "row 'student': teacher: 'student' runs after another run, or not at all; name a row of one run"),
    ],
)
def test_a_teacher_is_a_row_that_runs_by_itself(teacher: str, said: str) -> None:
    student = Row("student", [1.0, None, None], overrides=TINY, teacher=teacher)
    assert Table(**{**TABLE.__dict__, "rows": [*TABLE.rows, student]}).fault() == said


def test_a_table_of_ones_own_measures_what_its_columns_show_and_says_nothing_of_our_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "experiments" / "mine").mkdir(parents=True)
    (tmp_path / "experiments" / "mine" / "table1.yaml").write_text(
        "{source: Mine, caption: Overlap., columns: {nDCG: {metric: test/nDCG@5}}, settings: {toy: {datasets: [toy]}}, "
        "rows: [{label: overlap, overrides: [model=word_overlap]}]}"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduction, "result_tables", lambda: [table for table in result_tables() if table.paper == "mine"])
    for name in ("result_figures", "tunings", "configuration_tables", "statistics_tables"):
        monkeypatch.setattr(reproduction, name, list)
    assert reproduce.main(["--results", "results", "--runs", "runs"]) == 0
    frame = pd.read_csv("results/mine/table1.csv", dtype=str).set_index("Model")
    assert 0 < float(frame.loc["overlap", "nDCG"]) < 100
    assert "dataset.measures=[nDCG@5]" in frame.loc["overlap", "command"].replace("'", "")
    page = Path("results/README.md").read_text()
    assert "believed" not in page
    assert "## Claims" not in page
    Path("results/believed.md").write_text("## What is believed\n\nOverlap counts.\n")
    assert reproduce.main(["--no-run", "--results", "results"]) == 0
    assert "Overlap counts." in Path("results/README.md").read_text()


def test_a_row_whose_teacher_cannot_be_read_fails_alone(tmp_path: Path) -> None:
    """A teacher of a class of one's own, without QAEXP_TRUSTED, had stopped the whole table."""
    (tmp_path / "teacher").mkdir()
    (tmp_path / "teacher" / "best.ckpt").write_bytes(b"no checkpoint")
    outcome = run_overrides([*TINY, "dataset=toy", "loss=margin_mse", f"loss.teacher={tmp_path / 'teacher'}"], tmp_path / "runs")
    assert (outcome.status, "is not a whole checkpoint of qaexp" in outcome.error) == ("failed", True)


def test_a_student_whose_loss_learns_from_no_teacher_is_refused(tmp_path: Path) -> None:
    student = Row("student", [1.0, None, None], overrides=TINY, teacher="CNN")
    table = Table(**{**TABLE.__dict__, "rows": [*TABLE.rows, student]})
    with pytest.raises(ConfigError, match="row 'student': its loss learns from no teacher; take one that does, such as loss=margin_mse"):
        Keys(tmp_path).of(next(alternatives(table, student, "toy")), [1])


def test_the_same_command_writes_tables_of_settings_and_of_statistics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Data statistics that cannot be counted here stay as they are."""
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("QAEXP_DATA", str(tmp_path / "no data"))
    monkeypatch.setattr(reproduction, "result_tables", list)
    monkeypatch.setattr(reproduction, "result_figures", lambda: [figure for figure in result_figures() if figure.paper == "ctrn"])
    monkeypatch.setattr(reproduction, "claims", lambda paper: [])
    caplog.set_level("INFO")
    places = ["--paper", "ctrn", "--results", str(tmp_path / "results")]
    assert reproduce.main(["--table", "2", "--latex", *places]) == 0
    assert "| CTRN" in (tmp_path / "results" / "ctrn" / "table2.md").read_text()
    assert r"\toprule" in (tmp_path / "results" / "ctrn" / "table2.tex").read_text()
    assert reproduce.main(["--table", "3", *places]) == 0
    assert "ctrn, Table 3: none of its data sets is here" in caplog.text
    assert not (tmp_path / "results" / "ctrn" / "table3.csv").exists()
