"""Whom a run of a sweep is compared with: finished runs over the same data, and nobody else."""

from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl

from qaexp.errors import PrunedError
from qaexp.runs.record import RunRecord
from qaexp.sweep.pruning import PruneByDev

MEDIAN = {"_target_": "optuna.pruners.MedianPruner", "n_startup_trials": 1, "n_warmup_steps": 0}
GLOVE = {"source": "GloVe(path='/data/glove.txt')", "files": ["1" * 16]}


def write(folder: Path, score: float, fingerprint: str, vectors: dict[str, Any], status: str, convention: str = "trec") -> None:
    history: list[dict[str, int | float]] = [{"epoch": epoch, "dev/map": score} for epoch in (1, 2)]
    config = {"dataset": {"selection_metric": "dev/map"}, "data_dir": "/data", "cache_dir": "/cache"}
    record = RunRecord("key", config, 1, "", status, data={"fingerprint": fingerprint, "vectors": vectors}, history=history)
    record.convention = convention
    record.save(folder)


def given_up(folder: Path) -> bool:
    trainer = pl.Trainer(logger=False, enable_checkpointing=False, accelerator="cpu")
    try:
        PruneByDev(MEDIAN, folder).on_train_epoch_end(trainer, pl.LightningModule())
    except PrunedError:
        return True
    return False


@pytest.mark.parametrize(
    ("fingerprint", "vectors", "status", "compared"),
    [
        ("texts", GLOVE, "finished", True),
        ("texts", GLOVE, "pruned", False),
        ("other texts", GLOVE, "finished", False),
        ("texts", {**GLOVE, "files": ["2" * 16]}, "finished", False),
        ("texts", {"source": GLOVE["source"]}, "finished", True),  # an older record
        ("texts", {"source": "RandomVectors(dim=50)", "files": []}, "finished", True),  # as along an axis of the sweep
        ("texts", {"source": "none read"}, "finished", True),
    ],
)
def test_a_run_is_compared_with_finished_ones_over_the_same_data(
    tmp_path: Path, fingerprint: str, vectors: dict[str, Any], status: str, compared: bool
) -> None:
    """A folder that was set aside lies beside the runs, and what a sweep has not come to yet is over the former data, too."""
    write(tmp_path / "run", 0.2, "texts", GLOVE, "running")
    assert not given_up(tmp_path / "run")
    write(tmp_path / "other_key", 0.9, fingerprint, vectors, status)
    assert given_up(tmp_path / "run") == compared
    (tmp_path / "other_key").rename(tmp_path / "other_key_ffffffff")  # as it is set aside
    assert not given_up(tmp_path / "run")


def test_a_run_is_not_compared_with_scores_of_another_convention(tmp_path: Path) -> None:
    write(tmp_path / "run", 0.2, "texts", GLOVE, "running")
    write(tmp_path / "other_key", 0.9, "texts", GLOVE, "finished", "semeval10")
    assert not given_up(tmp_path / "run")
