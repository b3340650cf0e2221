"""Checkpoints: Lightning removes what is no longer the best, so no file that one names lies elsewhere; processes wait for the one that
writes."""

from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch

from qaexp.training import callbacks
from qaexp.training.callbacks import Checkpoints, WholeEpochs


@pytest.mark.parametrize(
    ("said", "taken"),
    [
        ("{folder}/next.ckpt", "{folder}/next.ckpt"),
        ("/elsewhere/before/next.ckpt", "{folder}/next.ckpt"),
        ("/elsewhere/before/best.ckpt", "{folder}/best.ckpt"),
        ("{folder}/../../precious.ckpt", "{folder}/precious.ckpt"),
        ("s3://bucket/precious.ckpt", "{folder}/precious.ckpt"),
        ("{folder}/..", ""),
        ("/home/me/thesis.tex", ""),
        ("", ""),
    ],
)
def test_a_file_named_in_a_checkpoint_lies_in_the_runs_folder(said: str, taken: str, tmp_path: Path) -> None:
    said, taken = (text.format(folder=tmp_path) for text in (said, taken))
    callback = Checkpoints(dirpath=tmp_path, filename="next", monitor="dev/map", mode="max")
    state: dict[str, Any] = {
        "best_model_score": torch.tensor(0.5),
        "best_model_path": said,
        "kth_best_model_path": said,
        "last_model_path": said,
        "kth_value": torch.tensor(0.5),
        "best_k_models": {said: torch.tensor(0.5)},
        "dirpath": str(Path(said).parent),
    }
    callback.load_state_dict(state)
    assert [callback.best_model_path, callback.kth_best_model_path, callback.last_model_path, *callback.best_k_models] == 4 * [taken]
    assert callback.best_model_score == 0.5


@pytest.mark.parametrize("first", [True, False])
def test_every_process_waits_until_the_first_has_moved_the_best_weights(
    first: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "next.ckpt").write_text("weights")
    monkeypatch.setattr(callbacks.ModelCheckpoint, "on_train_epoch_end", lambda *_: None)
    monkeypatch.setattr(pl.Trainer, "is_global_zero", first)
    trainer = pl.Trainer(logger=False, accelerator="cpu", enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    found: list[list[str]] = []  # the folder when this process begins to wait
    monkeypatch.setattr(trainer.strategy, "barrier", lambda *_: found.append([path.name for path in tmp_path.iterdir()]))
    WholeEpochs(dirpath=tmp_path, filename="last").on_train_epoch_end(trainer, pl.LightningModule())
    assert found == [["best.ckpt" if first else "next.ckpt"]]
