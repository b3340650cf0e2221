"""What a tuning says is best on dev, beside what the tables have."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from small_table import SMALL, TABLE, TINY, entry_of

from qaexp.reproduction import tuned
from qaexp.reproduction.build import measured
from qaexp.reproduction.cells import Keys
from qaexp.reproduction.ledger import Ledger
from qaexp.reproduction.page import as_markdown
from qaexp.reproduction.spec import UNPRINTED, Column, Row, Setting, Table, Tuning


@pytest.mark.parametrize(
    ("of_dev", "verdict"),
    [
        ({"1e-3": [0.5], "1e-2": [0.6]}, "best of 2: 1e-2; taken: 1e-3"),
        ({"1e-3": [0.5], "1e-2": [0.4]}, "best of 2: 1e-3; taken: 1e-3"),
        ({"1e-3": [0.5], "1e-2": [0.4], "1e-1": [0.3]}, "best: 1e-3; taken: 1e-3"),
        ({"1e-3": [0.4, 0.5], "1e-2": [0.5, 0.6], "1e-1": [0.9]}, "best of 2 over 2 seeds: 1e-2; taken: 1e-3"),
        ({"1e-3": [0.5, 0.9], "1e-2": [0.6], "1e-1": [0.4]}, "best: 1e-2; taken: 1e-3"),
        ({"1e-3": [0.5]}, ""),
        ({"1e-3": [0.5, None, 0.9], "1e-2": [0.6, 0.7]}, "best of 2: 1e-2; taken: 1e-3"),  # one's seeds 1 and 3, the other's 1 and 2
    ],
)
def test_a_tuning_says_what_is_best_of_what_was_measured_and_what_the_tables_have(
    of_dev: dict[str, list[float | None]], verdict: str, tmp_path: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_table = Table(**{**TABLE.__dict__, "rows": [Row("CNN", [0.5, 0.5, None], overrides=[*TINY, "optimizer.lr=1e-3"])]})
    monkeypatch.setattr(tuned, "result_tables", lambda: [in_table])
    values = ("1e-3", "1e-2", "1e-1")
    settings = {value: Setting(["toy"], overrides=[*SMALL, f"optimizer.lr={value}"]) for value in values}
    columns = {value: Column("dev/p@1", value) for value in values}
    rows = [Row("CNN", [UNPRINTED] * 3, overrides=TINY)]
    tuning = Tuning(**{**TABLE.__dict__, "name": "tuning_toy", "settings": settings, "columns": columns, "rows": rows})
    ledger = Ledger(tmp_path / "ledger")
    ledger.folder.mkdir()
    bare = measured(tuning, ledger, keys)
    for value, over_seeds in of_dev.items():
        of_seeds = keys.of(bare.states["CNN", value].cell, tuning.seeds)
        for seed, ((key, *_), dev) in enumerate(zip(of_seeds, over_seeds, strict=False), 1):
            if dev is None:
                continue
            entry = {**asdict(entry_of(key, seed, [0.5])), "metrics": {"dev": {"p@1": dev}}}
            (ledger.folder / f"{value}_{seed}.json").write_text(json.dumps(entry))
    found = measured(tuning, Ledger(ledger.folder), keys)
    assert found.frame.loc[0, "verdict"] == verdict
    assert found.frame.loc[0, "status"] == "measured"
    page = as_markdown(found)
    assert page.startswith("# ctrn, tuning on toy\n")
    assert "- the tables are run with what is taken" in page
    assert "(paper" not in page
