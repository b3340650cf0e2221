"""What every test may use: published data if it is at hand, a cache of its own, and few threads."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tiny_weights import write_tiny_weights

from qaexp.config import look_also_in

REPOSITORY = Path(__file__).resolve().parent.parent

torch.set_num_threads(1)  # tests are small: more threads only get in each other's way


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of published data: QAEXP_DATA, else `shared/data` beside the repository. Read only."""
    folder = Path(os.environ.get("QAEXP_DATA") or REPOSITORY.parent / "shared" / "data").expanduser()
    if not folder.is_dir():
        pytest.skip(f"published data are not at hand: {folder} does not exist; name their folder in QAEXP_DATA")
    return folder


@pytest.fixture
def cache_dir(tmp_path: Path) -> Path:
    """A folder for prepared files that nothing else uses; it does not exist yet."""
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def tiny_weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of small pretrained weights, for all models that name none."""
    folder = write_tiny_weights(tmp_path_factory.mktemp("weights") / "tiny")
    os.environ["QAEXP_WEIGHTS"] = str(folder)
    return folder


@pytest.fixture(autouse=True)
def no_folders_of_an_earlier_test() -> Iterator[None]:
    yield
    look_also_in([])  # what `--config-dir` named holds for the rest of a process
