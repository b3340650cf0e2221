"""Pretrained models are small ones here."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True, scope="session")
def weights(tiny_weights: Path) -> None:
    """What a model that names no weights is built from."""
