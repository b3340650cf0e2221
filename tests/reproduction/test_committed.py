"""The tables in `results/` are what the records in `results/ledger/` say under today's configuration; neither torch nor data are needed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from qaexp.reproduction.content import EXPERIMENTS

RESULTS = Path(__file__).resolve().parent.parent.parent / "results"

AGAIN = """
import sys
from qaexp.cli.reproduce import main
status = main(["--no-run", "--results", sys.argv[1]])
sys.exit(status or ("imported torch" if "torch" in sys.modules else 0))
"""


def test_committed_tables_follow_from_the_committed_ledger(tmp_path: Path) -> None:
    shutil.copytree(RESULTS / "ledger", tmp_path / "ledger")
    done = subprocess.run(
        [sys.executable, "-c", AGAIN, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "QAEXP_DATA": str(tmp_path / "no data")},
    )
    assert done.returncode == 0, done.stderr
    assert "that no table shows" not in done.stderr, "a committed record is shown by no table: its configuration has changed"
    written = [path.relative_to(tmp_path) for path in (*tmp_path.glob("*/*.csv"), *tmp_path.glob("*/*.md"))]
    assert len(written) >= 2 * 18
    for name in written:
        assert (tmp_path / name).read_text() == (RESULTS / name).read_text(), f"results/{name} is not what the records say"


@pytest.mark.parametrize("kind", ["table", "figure", "tuning"])
def test_every_committed_table_has_its_file(kind: str) -> None:
    made = {(path.parent.name, path.name.partition(".")[0]) for path in RESULTS.glob(f"*/{kind}*.*")}
    assert made
    assert not [f"{paper}/{name}" for paper, name in made if not (EXPERIMENTS / paper / f"{name}.yaml").is_file()]
