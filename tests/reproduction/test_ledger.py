"""The ledger: what it keeps of a run, and which of several records counts."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from small_table import SMALL, TINY, entry_of

from qaexp.errors import QaexpError
from qaexp.reproduction.ledger import Entry, Key, Ledger, digest
from qaexp.runs.identity import key_without_max_epochs
from qaexp.runs.record import RunRecord
from qaexp.runs.store import run_overrides


def test_an_entry_has_no_paths_and_keeps_the_measured_numbers(tmp_path: Path) -> None:
    outcome = run_overrides([*TINY, *SMALL, "logger=none", f"cache_dir={tmp_path / 'cache'}"], tmp_path / "runs")
    of_another_process = Ledger(tmp_path / "ledger")
    assert of_another_process.entries == []
    entry = Ledger(tmp_path / "ledger").enter(outcome.folder)
    of_another_process.reload()
    assert of_another_process.by_key == {entry.key: [entry]}
    [path] = (tmp_path / "ledger").iterdir()
    assert str(tmp_path) not in path.read_text()
    [again] = Ledger(tmp_path / "ledger").entries
    assert again == entry
    assert outcome.record is not None
    assert entry.value("test/map") == outcome.record.metrics["test"]["map"]
    per_question = entry.per_question("test/map")
    assert per_question is not None
    assert entry.per_question("dev/map") is not None
    assert sum(per_question.values) / 8 == pytest.approx(outcome.record.metrics["test"]["map"], abs=1e-6)
    assert entry.value("seconds per batch") == pytest.approx(entry.seconds["steps"] / entry.steps)


def test_the_choices_of_a_teacher_are_not_those_of_its_student() -> None:
    entry = replace(
        entry_of("a", 1, [0.5]), command="dataset=toy init_from=(seed=1) loss.teacher=(dataset=wikiqa dataset/vectors=glove300)"
    )
    assert (entry.choice("dataset"), entry.choice("dataset/vectors")) == ("toy", "")
    student = replace(entry, config={"loss": {"teacher": {"key": "t", "path": "runs/teacher"}}, "init_from": None})
    assert student.command_line == "qaexp dataset=toy seed=1 loss.teacher=FOLDER"


def test_runs_with_other_settings_or_data_have_their_own_entries(tmp_path: Path) -> None:
    config = {"seed": 1, "run_name": "qa_cnn_toy_seed1", "dataset": {}, "data_dir": "/data", "cache_dir": "/cache"}
    ledger, runs_of = Ledger(tmp_path / "ledger"), [("k", "f" * 64), ("k", "e" * 64), ("l", "f" * 64)]
    for number, (key, fingerprint) in enumerate(runs_of):
        record = RunRecord(key, config, 1, "", data={"fingerprint": fingerprint, "vectors": {"source": "none read"}})
        record.save(tmp_path / str(number))
        ledger.enter(tmp_path / str(number))
    assert sorted((entry.key, entry.fingerprint) for entry in ledger.entries) == sorted(runs_of)


def test_an_entry_has_every_commit_of_its_run(tmp_path: Path) -> None:
    config = {"seed": 1, "run_name": "qa_cnn_toy_seed1", "dataset": {}, "data_dir": "/data", "cache_dir": "/cache"}
    record = RunRecord("k", config, 1, "", commit="a", data={"fingerprint": "f" * 64, "vectors": {"source": "none read"}})
    record.continued.append({"from_epoch": 2, "commit": "b+changes", "versions": {}, "hardware": {}})
    record.save(tmp_path / "run")
    ledger = Ledger(tmp_path / "ledger")
    ledger.enter(tmp_path / "run")
    [entry] = ledger.entries
    assert entry.commits == ["a", "b+changes"]
    assert entry_of("k", 1, [0.5]).commits == ["c"]


def test_the_newest_entry_of_a_repeated_run_counts(tmp_path: Path) -> None:
    for day in (2, 1):
        entry = {**asdict(entry_of("k", 1, [0.5])), "started": f"2026-01-0{day}"}
        (tmp_path / f"{day}.json").write_text(json.dumps(entry))
    found = Ledger(tmp_path).find(Key("k", "", 1))
    assert found is not None
    assert found.started == "2026-01-02"


def test_a_run_ended_by_patience_serves_any_higher_limit_of_epochs(tmp_path: Path) -> None:
    def of(epochs: int, *options: str) -> RunRecord:
        given = [*TINY, *SMALL, f"trainer.max_epochs={epochs}", "logger=none", f"cache_dir={tmp_path / 'cache'}", *options]
        outcome = run_overrides(given, tmp_path / "runs")
        assert outcome.record is not None
        ledger.enter(outcome.folder)
        return outcome.record

    ledger = Ledger(tmp_path / "ledger")
    patient, other = of(8, "patience=2"), of(20, "patience=2")
    assert other.key != patient.key
    assert (other.history, other.metrics) == (patient.history, patient.metrics)
    assert 2 <= len(patient.history) < 8
    assert other.config["trainer"]["max_epochs"] == 20
    ledger.remove([other.key])
    found = ledger.find(Key.of(other.config))
    assert found is not None
    assert found.key == patient.key
    assert not found.cut_short
    below = {**other.config, "trainer": {**other.config["trainer"], "max_epochs": len(patient.history) - 1}}
    assert ledger.find(Key.of(below)) is None
    assert ledger.beginning_of(Key.of(below)) is None


def test_a_run_cut_short_by_its_limit_is_the_beginning_of_a_longer_one(tmp_path: Path) -> None:
    config = {"patience": 3, "trainer": {"max_epochs": 4}}
    for epochs, best in ((4, 2), (6, 4)):
        history = [{"train/loss": 1.0}] * epochs
        entry = {**asdict(entry_of(f"k{epochs}", 1, [0.5])), "config": config, "history": history, "best_epoch": best}
        (tmp_path / f"{epochs}.json").write_text(json.dumps(entry))
    ledger = Ledger(tmp_path)
    longer, shorter = (Key("other", key_without_max_epochs(config), limit) for limit in (9, 5))
    assert ledger.find(longer) is None
    for key, epochs in ((longer, 6), (shorter, 4)):
        begun = ledger.beginning_of(key)
        assert begun is not None
        assert begun.cut_short
        assert len(begun.history) == epochs


@pytest.mark.parametrize(("stops", "cut_short"), [(None, True), ({"patience": 30}, True), ({"patience": 2}, False)])
def test_only_the_patience_of_its_callbacks_can_end_a_run_early(stops: dict[str, int] | None, cut_short: bool) -> None:
    """The option `patience` alone ends nothing."""
    config = {"patience": 2, "callbacks": {"early_stopping": stops, "progress_bar": {"_target_": "Bar"}}}
    entry = Entry(**{**asdict(entry_of("k", 1, [0.5])), "config": config, "history": [{"train/loss": 1.0}] * 8, "best_epoch": 4})
    assert (entry.cut_short, entry.may_stop) == (cut_short, not cut_short)


def test_questions_are_the_same_if_their_names_are_in_the_same_order() -> None:
    assert len({digest(names) for names in (["a", "b"], ["b", "a"], ["a"], ["ab"])}) == 4


def test_a_question_may_have_a_name_that_pandas_reads_as_missing(tmp_path: Path) -> None:
    config = {"seed": 1, "run_name": "qa_cnn_toy_seed1", "dataset": {}, "data_dir": "/data", "cache_dir": "/cache"}
    record = RunRecord(
        "k", config, 1, "", data={"fingerprint": "f" * 64, "vectors": {"source": "none read"}}, metrics={"test": {"map": 0.75}}
    )
    record.save(tmp_path / "run")
    (tmp_path / "run" / "test.questions.csv").write_text("question,p@1,mrr,map,p@5\nNA,1.0,1.0,1.0,0.2\nnull,0.0,0.5,0.5,0.2\n")
    kept = Ledger(tmp_path / "ledger").enter(tmp_path / "run").per_question("test/map")
    assert kept is not None
    assert (kept.of, kept.values) == (digest(["NA", "null"]), [1.0, 0.5])


@pytest.mark.parametrize("content", ["{}", "[" * 10**5, '{"seed": ' + "9" * 5000 + "}", "\udcff"])
def test_a_file_that_is_no_entry_is_named_with_the_remedy(content: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(content, errors="surrogateescape")
    with pytest.raises(QaexpError, match=r"x\.json: not an entry of the ledger .* delete it, and the next"):
        assert Ledger(tmp_path).entries
