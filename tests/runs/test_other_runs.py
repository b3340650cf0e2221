"""A teacher counts by its run and not by its path; another run in its place is noticed, also when a student is resumed."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf

from qaexp.cli.main import main
from qaexp.config import compose
from qaexp.errors import CheckpointError, QaexpError
from qaexp.runs.checkpoint import digest_of_weights, open_checkpoint
from qaexp.runs.identity import config_key
from qaexp.runs.other_runs import open_pinned, with_other_runs, with_pinned_runs
from qaexp.runs.record import RunRecord
from qaexp.runs.store import run_overrides
from qaexp.runs.table import row_name
from qaexp.train import train

TOY = [f"dataset.reader.num_{split}=4" for split in ("train", "dev", "test")] + ["logger=none", "trainer.max_epochs=1"]
STUDENT = ["model=qa_cnn", "model.encoder.num_filters=8", "loss=margin_mse", *TOY]


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("teacher")
    train(compose(["model=word_overlap", *TOY]), folder, "model=word_overlap")
    return folder


@pytest.fixture(scope="module")
def other_teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("other")
    train(compose(["model=tfidf", *TOY]), folder, "model=tfidf")
    return folder


def key(*overrides: str) -> str:
    config: Any = OmegaConf.to_container(compose([*STUDENT, *overrides]), resolve=True)
    return config_key(config)


def test_a_student_is_known_by_its_teachers_run(teacher: Path, other_teacher: Path, tmp_path: Path) -> None:
    elsewhere = shutil.copytree(teacher, tmp_path / "elsewhere")
    ours = key(f"loss.teacher={teacher}")
    assert ours == key(f"loss.teacher={elsewhere}") == key(f"loss.teacher={elsewhere / 'best.ckpt'}")
    assert ours not in (key(f"loss.teacher={other_teacher}"), key("loss=mean_hinge"))


def test_the_record_names_the_teacher_by_its_command(teacher: Path, tmp_path: Path) -> None:
    outcome = run_overrides([*STUDENT, f"loss.teacher={teacher}"], tmp_path)
    assert outcome.record is not None
    found = outcome.record.config["loss"]["teacher"]
    digest = digest_of_weights(open_checkpoint(teacher))
    key = RunRecord.load(teacher).key
    assert found == {"path": str(teacher), "key": key, "step": 0, "weights": digest, "command": "model=word_overlap"}
    assert row_name(outcome.record).endswith("trainer.max_epochs=1 loss.teacher=(model=word_overlap)")
    assert run_overrides([*STUDENT, f"loss.teacher={teacher}"], tmp_path).status == "kept"


def test_a_student_learns_again_from_a_teacher_that_was_trained_again(tmp_path: Path) -> None:
    """The same command on other training texts gives a teacher of the same key and step, with other weights."""
    small = ["model=qa_cnn", "model.encoder.num_filters=8", "dataset/vectors=random", *TOY]
    teacher, runs = tmp_path / "teacher", tmp_path / "runs"
    options = [*STUDENT, "dataset/vectors=random", f"loss.teacher={teacher}"]
    cfg = compose(small)
    train(cfg, teacher)
    former = run_overrides(options, runs)
    kept = key(*options[len(STUDENT) :])
    weights = open_checkpoint(teacher)["state_dict"]
    changed = torch.load(teacher / "best.ckpt", weights_only=True)
    changed["state_dict"] = {name: tensor + 1 for name, tensor in weights.items()}
    torch.save(changed, teacher / "best.ckpt")
    assert key(*options[len(STUDENT) :]) == kept
    again = run_overrides(options, runs)
    assert (former.status, again.status, run_overrides(options, runs).status) == ("ran", "ran", "kept")
    assert former.record is not None
    assert again.record is not None
    assert former.record.history != again.record.history
    with pytest.raises(CheckpointError, match=r"loss\.teacher=.* has other weights than when this run was started"):
        open_pinned("loss.teacher", former.record.config["loss"]["teacher"])


def test_a_student_is_not_resumed_with_another_teacher(teacher: Path, other_teacher: Path, tmp_path: Path) -> None:
    place = shutil.copytree(teacher, tmp_path / "teacher")
    cfg = compose([*STUDENT, f"loss.teacher={place}"])
    train(cfg, tmp_path / "student")
    shutil.rmtree(place)
    shutil.copytree(other_teacher, place)
    with pytest.raises(CheckpointError, match=r"loss\.teacher=.* is no longer the run that this one was started with"):
        train(cfg, tmp_path / "student", resume=True)


def test_a_teacher_that_is_not_there_is_named_before_anything_is_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert main([*STUDENT, f"loss.teacher={tmp_path / 'nowhere'}", f"output_dir={tmp_path / 'runs'}"]) == 2
    assert f"loss.teacher={tmp_path / 'nowhere'} does not exist; name a run's folder" in caplog.text


def test_a_configuration_with_pinned_runs_stays_as_it_is(teacher: Path) -> None:
    pinned = with_pinned_runs({"init_from": str(teacher), "loss": {"teacher": str(teacher), "scale": 1.0}, "seed": 1})
    assert with_pinned_runs(pinned) == pinned
    assert json.loads(json.dumps(pinned)) == pinned
    assert with_other_runs(pinned, {"init_from": None, "loss.teacher": None}) == {
        "init_from": None,
        "loss": {"teacher": None, "scale": 1.0},
        "seed": 1,
    }


def test_a_checkpoint_that_is_none_cannot_be_a_teacher(tmp_path: Path) -> None:
    (tmp_path / "best.ckpt").write_bytes(b"no checkpoint")
    with pytest.raises(QaexpError, match="is not a whole checkpoint"):
        with_pinned_runs({"loss": {"teacher": str(tmp_path)}})
