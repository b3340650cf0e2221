"""Finished runs to export."""

from pathlib import Path

import pytest

from qaexp.config import compose
from qaexp.train import train

SMALL = [
    "dataset=toy",
    "logger=none",
    "dataset.reader.num_train=8",
    "dataset.reader.num_dev=4",
    "dataset.reader.num_test=4",
    "trainer.max_epochs=1",
]


@pytest.fixture(scope="session")
def bi_encoder_run(tiny_weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With LoRA, so that an export has to add its matrices to the weights."""
    pytest.importorskip("peft", reason="LoRA needs peft: pip install 'qaexp[pretrained]'")
    return _trained("bi_encoder", tmp_path_factory, "model.encoder.lora_rank=2", "optimizer.lr=0.1")


@pytest.fixture(scope="session")
def word_overlap_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _trained("word_overlap", tmp_path_factory)


def _trained(model: str, folders: pytest.TempPathFactory, *overrides: str) -> Path:
    folder = folders.mktemp(model)
    train(compose([f"model={model}", *SMALL, *overrides, f"cache_dir={folder / 'cache'}"]), folder / "run")
    return folder / "run"
