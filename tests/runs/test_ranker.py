"""Loading a trained model is quick: what a ranking does not need is not imported."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import qaexp
from qaexp.config import CONF, compose
from qaexp.errors import CheckpointError, UnrankableScoresError
from qaexp.train import train

TINY = ["logger=none", "dataset.reader.num_train=20", "dataset.reader.num_dev=4", "dataset.reader.num_test=4", "trainer.max_epochs=1"]
SCRIPT = """
import sys, qaexp
qaexp.load(sys.argv[1]).rank("what is it", ["a cat", "a dog"])
print(*sorted({"pytorch_lightning", "torchmetrics", "pandas", "scipy", "wandb", "matplotlib", "torch._dynamo"} & set(sys.modules)))
"""


def test_a_first_ranking_waits_for_torch_and_hydra_alone(tmp_path: Path) -> None:
    train(compose([*TINY, f"cache_dir={tmp_path / 'cache'}"]), tmp_path / "run")
    ranked = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "run")], capture_output=True, text=True, check=True, cwd=CONF.parent
    )
    assert ranked.stdout.split() == []


def test_scores_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    """They had been returned in an arbitrary order."""
    train(compose([*TINY, f"cache_dir={tmp_path / 'cache'}"]), tmp_path / "run")
    ranker = qaexp.load(tmp_path / "run")
    with torch.no_grad():
        for weights in ranker.scorer.parameters():
            weights.fill_(torch.nan)
    with pytest.raises(UnrankableScoresError, match="the score of answer 0 is NaN"):
        ranker.rank("what is it", ["a cat", "a dog"])


def test_a_folder_of_runs_is_answered_with_one_of_them(tmp_path: Path) -> None:
    (tmp_path / "2026-11-29" / "a_run").mkdir(parents=True)
    (tmp_path / "2026-11-29" / "a_run" / "best.ckpt").touch()
    for folder in (tmp_path, tmp_path / "2026-11-29"):
        with pytest.raises(CheckpointError, match=rf"name a run's folder, such as {tmp_path}/2026-11-29/a_run or a \.ckpt file in one"):
            qaexp.load(folder)
