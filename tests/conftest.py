"""What every test may use: published data if it is at hand, a cache of its own, and few threads."""

import os
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any

import pytest
import torch
from tiny_weights import write_tiny_weights

from qaexp.config import look_also_in

REPOSITORY = Path(__file__).resolve().parent.parent

CHROMIUM_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync"
)

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


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium of the system's packages, driven by playwright."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install 'qaexp[dev]'")
    if not (chromium := which("chromium") or which("chromium-browser") or which("google-chrome")):
        pytest.skip("there is no Chromium: apt-get install chromium")
    with api.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS.split())
        yield opened
        opened.close()


@pytest.fixture(autouse=True)
def no_folders_of_an_earlier_test() -> Iterator[None]:
    yield
    look_also_in([])  # what `--config-dir` named holds for the rest of a process
