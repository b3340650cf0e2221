"""Which W&B runs wait to be uploaded, and what is said without a key."""

import os
import time
from pathlib import Path

import pytest
from closed_runs import closed_runs
from omegaconf import OmegaConf

from qaexp.cli.sync import QUIET_SECONDS, main, pending
from qaexp.config import compose
from qaexp.runs.record import RunRecord
from qaexp.tracking.logger import open_logger
from qaexp.tracking.offline import offline_runs


@pytest.fixture(autouse=True)
def no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))


@pytest.fixture
def record() -> RunRecord:
    config = OmegaConf.to_container(compose(["logger.mode=offline"]), resolve=True)
    assert isinstance(config, dict)
    return RunRecord.begin({str(name): value for name, value in config.items()}, "")


def ended(folder: Path) -> Path:
    """The only run below a folder, once its end is written."""
    [run] = closed_runs(folder)
    return run.folder.parent


def test_a_run_waits_from_its_end_to_its_upload(record: RunRecord, tmp_path: Path) -> None:
    with open_logger(record, tmp_path):
        while not offline_runs(tmp_path):
            time.sleep(0.1)
        assert pending(tmp_path) == []
    run = ended(tmp_path)
    assert pending(tmp_path) == [run]
    [log] = run.glob("run-*.wandb")
    log.with_suffix(".wandb.synced").touch()  # as `wandb sync` leaves it
    assert pending(tmp_path) == []


def test_a_run_that_was_killed_waits_once_it_has_been_quiet(record: RunRecord, tmp_path: Path) -> None:
    with open_logger(record, tmp_path):
        pass
    [log] = ended(tmp_path).glob("run-*.wandb")
    log.write_bytes(log.read_bytes()[:-20])
    assert pending(tmp_path) == []
    os.utime(log, (time.time() - 2 * QUIET_SECONDS,) * 2)
    assert pending(tmp_path) == [log.parent]


def test_the_command_says_what_waits_and_what_it_needs(
    record: RunRecord, tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "none"), "--list"]) == 2
    assert f"there is no folder {tmp_path / 'none'}" in caplog.text
    assert main([str(tmp_path)]) == 0
    assert "no W&B run is waiting to be uploaded" in capsys.readouterr().out
    with open_logger(record, tmp_path):
        pass
    run = ended(tmp_path)
    assert main([str(tmp_path), "--list"]) == 0
    assert capsys.readouterr().out == f"{run}\n"
    assert main([str(tmp_path)]) == 2
    assert f"1 W&B run in {tmp_path} can be uploaded once W&B has a key: set WANDB_API_KEY or run `wandb login`" in caplog.text
