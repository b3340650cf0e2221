"""Runs by key: kept, claimed by one process at a time, resumed, and their failures recorded."""

import multiprocessing
import os
import signal
import time
from multiprocessing.synchronize import Event as EventType
from pathlib import Path

import pytest

from qaexp.cli.main import main
from qaexp.config import split_options
from qaexp.runs.record import RunRecord
from qaexp.runs.sources import Sources
from qaexp.runs.store import CLAIM, claim, error_of, run_overrides, set_aside
from qaexp.runs.table import row_name

TOY = [f"dataset.reader.num_{split}={number}" for split, number in (("train", 10), ("dev", 6), ("test", 6))]
TINY = ["model=qa_cnn", "model.encoder.num_filters=8", "trainer.max_epochs=2", "logger=none", "dataset/vectors=random", *TOY]


def test_a_finished_run_is_kept_wherever_its_command_comes_from(tmp_path: Path) -> None:
    options = [*TINY, f"cache_dir={tmp_path}"]
    ran = run_overrides(options, tmp_path / "runs")
    kept = run_overrides([*reversed(options)], tmp_path / "runs")
    assert (ran.status, kept.status) == ("ran", "kept")
    assert kept.record == ran.record == RunRecord.load(ran.folder)
    other = run_overrides([*options, "seed=2"], tmp_path / "runs")
    assert other.status == "ran"
    assert other.folder != ran.folder
    assert (ran.folder / "config.yaml").is_file()


def test_an_option_with_a_blank_in_it_is_one_option(tmp_path: Path) -> None:
    options = [*TINY, f"cache_dir='{tmp_path}/my cache'", "trainer.max_epochs=1"]
    ran = run_overrides(options, tmp_path / "runs")
    assert ran.record is not None, ran.error
    assert split_options(ran.record.command) == options
    assert row_name(ran.record) == " ".join([*TINY[:3], *TINY[4:], "trainer.max_epochs=1"])


def test_a_failure_leaves_a_sentence_and_stops_no_other_run(tmp_path: Path) -> None:
    options = [*TINY, f"cache_dir={tmp_path}"]
    failing = run_overrides([*options, "model.encoder.num_filters=0"], tmp_path / "runs")
    assert failing.status == "failed"
    assert failing.error
    assert error_of(failing.folder) == failing.error
    assert (failing.folder / "error.log").is_file()
    assert run_overrides(options, tmp_path / "runs").status == "ran"


def test_several_processes_which_would_each_begin_the_whole_command_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qaexp.train.train", lambda *_: pytest.fail("it ran"))
    outcome = run_overrides([*TINY, "trainer.devices=2", "trainer.accelerator=cpu"], tmp_path)
    assert outcome.status == "failed"
    assert outcome.error == "a run of a table, a sweep or qaexp.train runs in one process: leave trainer=ddp and trainer.devices out"


def test_an_old_failure_is_not_reported_once_the_run_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise ZeroDivisionError

    options = [*TINY, f"cache_dir={tmp_path}"]
    with monkeypatch.context() as patch:
        patch.setattr("qaexp.runs.tasks.write_run", full)
        failed = run_overrides(options, tmp_path / "runs")
    before = RunRecord.load(failed.folder)
    again = run_overrides(options, tmp_path / "runs")
    assert (failed.status, again.status, error_of(again.folder)) == ("failed", "ran", "")
    assert again.record is not None
    assert again.record.started == before.started  # it went on
    assert again.record.steps == before.steps


def test_a_run_with_a_damaged_record_begins_anew_and_the_record_is_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    options = [*TINY, f"cache_dir={tmp_path}"]
    with monkeypatch.context() as patch:
        patch.setattr("qaexp.runs.tasks.write_run", lambda *_: 1 / 0)
        folder = run_overrides(options, tmp_path / "runs").folder
    assert (folder / "last.ckpt").exists()
    damaged = (folder / "record.json").read_bytes()[:500] + b"\351"
    (folder / "record.json").write_bytes(damaged)
    again = run_overrides(options, tmp_path / "runs")
    assert (again.status, again.folder) == ("ran", folder)
    assert again.record is not None
    assert [epoch["epoch"] for epoch in again.record.history] == [1, 2]
    assert f"{folder / 'record.json'} is not a run's record" in caplog.text
    assert "it is now record.json.damaged, and the run starts again" in caplog.text
    assert (folder / "record.json.damaged").read_bytes() == damaged


def test_a_checkpoint_without_a_record_is_not_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = [*TINY, f"cache_dir={tmp_path}"]
    with monkeypatch.context() as patch:
        patch.setattr("qaexp.runs.tasks.write_run", lambda *_: 1 / 0)
        folder = run_overrides(options, tmp_path / "runs").folder
    (folder / "record.json").unlink()
    assert run_overrides(options, tmp_path / "runs").status == "ran"


def test_what_a_kill_left_is_removed_at_the_next_start(tmp_path: Path) -> None:
    options = [*TINY, f"cache_dir={tmp_path}"]
    folder = run_overrides(options, tmp_path / "runs").folder
    whole = {path.name for path in folder.iterdir()}
    for name in ("last.ckpt", "test-0.part", ".record.json.0123456789abcdef"):  # as a kill leaves them just after the run has finished
        (folder / name).touch()
    assert run_overrides(options, tmp_path / "runs").status == "kept"
    assert {path.name for path in folder.iterdir()} == whole
    (folder / "next.ckpt").touch()
    assert main([f"resume={folder}"]) == 0
    assert {path.name for path in folder.iterdir()} - {"run.log"} == whole


def test_a_run_that_was_taken_up_for_another_table_from_another_folder_may_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("qaexp.runs.tasks.write_run", lambda *_: 1 / 0)
        for table in ("table4", "table5"):
            options = [*TINY, f"cache_dir={tmp_path}", f"data_dir={tmp_path / table}"]
            failed = run_overrides(options, tmp_path / "runs", labels={"table": table})
    assert "table: table5" in (failed.folder / "config.yaml").read_text()
    assert main([f"resume={failed.folder}"]) == 0
    assert RunRecord.load(failed.folder).status == "finished"


def test_what_another_process_has_finished_meanwhile_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = [*TINY, f"cache_dir={tmp_path}"]
    ran = run_overrides(options, tmp_path / "runs")
    answers = iter([None, ran.record])
    with monkeypatch.context() as patch:
        patch.setattr(RunRecord, "of", lambda *_: next(answers))
        assert run_overrides(options, tmp_path / "runs").status == "kept"
    assert RunRecord.load(ran.folder) == ran.record


def _hold(folder: Path, held: EventType) -> None:
    with claim(folder) as mine:
        assert mine
        held.set()
        time.sleep(60)


def test_one_process_at_a_time_and_a_killed_one_gives_up_its_claim(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    held = context.Event()
    holder = context.Process(target=_hold, args=(tmp_path / "run", held))
    holder.start()
    assert held.wait(60)
    with claim(tmp_path / "run") as mine:
        assert not mine
    assert holder.pid is not None
    os.kill(holder.pid, signal.SIGKILL)
    holder.join(60)
    with claim(tmp_path / "run") as mine:
        assert mine
        with claim(tmp_path / "other") as other:
            assert other
    assert (tmp_path / "run" / CLAIM).exists()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file, no folder")
    with pytest.raises(Exception, match="cannot write"):
        run_overrides([*TINY, f"cache_dir={tmp_path}"], tmp_path / "runs")


def test_a_run_that_is_set_aside_is_named_by_its_data(tmp_path: Path) -> None:
    """Named by its texts alone, the second run over other vectors had no place, and its job failed for good."""
    named = []
    for vectors in ({"files": ["a" * 16]}, {"files": ["b" * 16]}, {"files": ["a" * 16]}, {"files": ["a" * 16]}, {"source": "none read"}):
        record = RunRecord("key", {}, 1, "", status="finished", data={"fingerprint": "f" * 64, "vectors": vectors})
        record.save(tmp_path / "run")
        aside = set_aside(tmp_path / "run", Sources("e" * 64))
        assert aside
        assert RunRecord.load(aside) == record
        named.append(aside.name)
    assert named == ["run_ffffffff_aaaaaaaa", "run_ffffffff_bbbbbbbb", "run_ffffffff_aaaaaaaa_2", "run_ffffffff_aaaaaaaa_3", "run_ffffffff"]
    assert not (tmp_path / "run").exists()


def test_a_run_that_another_process_has_begun_over_the_new_data_stays_where_it_is(tmp_path: Path) -> None:
    """Both had read the former record before either of them moved it."""
    for status, fingerprint in (("running", ""), ("finished", "e" * 64)):
        RunRecord("key", {}, 1, "", status=status, data={"fingerprint": fingerprint} if fingerprint else {}).save(tmp_path / "run")
        assert set_aside(tmp_path / "run", Sources("e" * 64)) is None
        assert RunRecord.load(tmp_path / "run").status == status
    assert set_aside(tmp_path / "gone", Sources("e" * 64)) is None
    RunRecord("key", {}, 1, "", status="interrupted", data={"fingerprint": "f" * 64}).save(tmp_path / "run")
    with claim(tmp_path / "run"):
        assert set_aside(tmp_path / "run", Sources("e" * 64)) is None, "another process has taken it up"
    assert set_aside(tmp_path / "run", Sources("e" * 64)) == tmp_path / "run_ffffffff"


def test_a_run_that_was_interrupted_on_other_texts_makes_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It failed at every start, since its data had changed."""
    for split in ("train", "dev", "test"):
        (tmp_path / f"{split}.tsv").write_text("what do roses need\twater\t1\nwhat do roses need\tstones\t0\n")
    options = [*TINY[: -len(TOY)], "dataset=own", f"dataset.reader.folder={tmp_path}", f"cache_dir={tmp_path / 'cache'}"]
    with monkeypatch.context() as patch:
        patch.setattr("qaexp.runs.tasks.write_run", lambda *_: 1 / 0)
        failed = run_overrides(options, tmp_path / "runs")
    assert (failed.status, (failed.folder / "last.ckpt").is_file()) == ("failed", True)
    (tmp_path / "train.tsv").write_text("what do roses need\twater\t1\nwhat do roses need\tsand\t0\n")
    again = run_overrides(options, tmp_path / "runs")
    assert (again.status, again.folder) == ("ran", failed.folder)
    assert "what it reads has changed since; the old run is now in" in caplog.text
    assert sorted(path.parent.name.count("_") for path in (tmp_path / "runs").rglob("last.ckpt")) == [failed.folder.name.count("_") + 1]
