"""The names of files in a checkpoint: Lightning removes what is no longer the best, so none of them may lie elsewhere."""

from pathlib import Path
from typing import Any

import pytest
import torch

from qaexp.training.callbacks import Checkpoints


@pytest.mark.parametrize(
    ("said", "taken"),
    [
        ("{folder}/next.ckpt", "{folder}/next.ckpt"),
        ("/elsewhere/before/next.ckpt", "{folder}/next.ckpt"),
        ("/elsewhere/before/best.ckpt", "{folder}/next.ckpt"),
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
