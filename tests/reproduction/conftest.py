"""The small table with records."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from small_table import TABLE, entry_of

from qaexp.reproduction.cells import Keys
from qaexp.reproduction.ledger import Ledger
from qaexp.reproduction.measured import Measured, measured


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys(tmp_path / "plans")


@pytest.fixture
def filled(tmp_path: Path, keys: Keys) -> Measured:
    """The third row with three seeds, the fourth with two, all over the same eight questions."""
    ledger = Ledger(tmp_path / "ledger")
    ledger.folder.mkdir()
    bare = measured(TABLE, ledger, keys)
    for label, seeds, shift in (("CNN", (1, 2, 3), 0.0), ("CNN, wide", (1, 2), 0.3)):
        for seed, (key, *_) in zip(seeds, keys.of(bare.states[label, "toy"].cell, TABLE.seeds), strict=False):
            entry = entry_of(key, seed, [0.5 + shift + 0.01 * seed] * 8)
            (ledger.folder / f"{label}{seed}.json").write_text(json.dumps(asdict(entry)))
    return measured(TABLE, Ledger(ledger.folder), keys)
