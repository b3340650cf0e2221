"""The offline W&B runs that wait to be uploaded, and the messages of `qaexp sync`."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from offline_runs import closed_runs
from omegaconf import OmegaConf

from qaexp.cli.sync import main
from qaexp.config import compose
from qaexp.runs.record import RunRecord
from qaexp.tracking.logger import open_wandb
from qaexp.tracking.sync import has_key, offline_runs, pending


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


def test_a_key_in_the_environment_or_in_netrc_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not has_key()
    (tmp_path / "netrc").write_text("machine api.wandb.ai\n  login user\n  password secret\n")
    assert has_key()
    (tmp_path / "netrc").write_text("machine example.org\n  login user\n  password secret\n")
    assert not has_key()
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    assert has_key()


def test_a_run_waits_from_its_end_to_its_upload(record: RunRecord, tmp_path: Path) -> None:
    with open_wandb(record, tmp_path):
        while not offline_runs(tmp_path):
            time.sleep(0.1)
        assert pending(tmp_path) == []
    run = ended(tmp_path)
    assert pending(tmp_path) == [run]
    [log] = run.glob("run-*.wandb")
    log.with_suffix(".wandb.synced").touch()  # as `wandb sync` leaves it
    assert pending(tmp_path) == []


OPEN_A_RUN = """
import sys, time
from pathlib import Path
from omegaconf import OmegaConf
from qaexp.config import compose
from qaexp.runs.record import RunRecord
from qaexp.tracking.logger import open_wandb

folder = Path(sys.argv[1])
with open_wandb(RunRecord.begin(OmegaConf.to_container(compose(["logger.mode=offline"]), resolve=True), ""), folder):
    (folder / "open").touch()
    time.sleep(60)
"""


def test_a_run_waits_once_its_process_was_killed(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", OPEN_A_RUN, str(tmp_path)])
    while not (tmp_path / "open").exists() or not offline_runs(tmp_path):
        assert process.poll() is None
        time.sleep(0.1)
    assert pending(tmp_path) == []
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert pending(tmp_path) == offline_runs(tmp_path) != []


def test_a_run_that_ends_during_the_upload_is_no_failure(
    record: RunRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_wandb(record, tmp_path):
        pass
    run = ended(tmp_path)

    def upload(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        shutil.copytree(run, run.with_name("offline-run-20260101_000000-other"))
        [log] = run.glob("run-*.wandb")
        log.with_suffix(".wandb.synced").touch()
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    monkeypatch.setattr("qaexp.tracking.sync.subprocess.run", upload)
    assert main([str(tmp_path)]) == 0
    assert "1 W&B run uploaded" in capsys.readouterr().out


def test_the_command_says_what_waits_and_what_it_needs(
    record: RunRecord, tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "none"), "--list"]) == 2
    assert f"there is no folder {tmp_path / 'none'}" in caplog.text
    assert main([str(tmp_path)]) == 0
    assert "no W&B run is waiting to be uploaded" in capsys.readouterr().out
    with open_wandb(record, tmp_path):
        pass
    run = ended(tmp_path)
    assert main([str(tmp_path), "--list"]) == 0
    assert capsys.readouterr().out == f"{run}\n"
    assert main([str(tmp_path)]) == 2
    assert f"1 W&B run in {tmp_path} can be uploaded once W&B has a key: set WANDB_API_KEY or run `wandb login`" in caplog.text
