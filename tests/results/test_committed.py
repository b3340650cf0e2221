"""The tables in `results/` are what the records in `results/ledger/` say under today's configuration, and are had again without torch."""

import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd

from qaexp.tables.build import MISSING, NOT_RUN

RESULTS = Path(__file__).resolve().parent.parent.parent / "results"

EMPTY = (NOT_RUN, MISSING)
"""A row without a run is the one or the other, as the data lie here."""

AGAIN = """
import sys
from qaexp.reproduce import main
status = main(["--no-run", "--results", sys.argv[1]])
sys.exit(status or ("imported torch" if "torch" in sys.modules else 0))
"""


def test_committed_tables_are_what_the_committed_records_say(tmp_path: Path) -> None:
    shutil.copytree(RESULTS / "ledger", tmp_path / "ledger")
    done = subprocess.run([sys.executable, "-c", AGAIN, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "of no table" not in done.stderr, "a committed record is shown by no table: its configuration has changed"
    written = [path.relative_to(tmp_path) for path in tmp_path.glob("*/*.csv")]
    assert len(written) >= 18
    for name in written:
        assert _rows(tmp_path / name) == _rows(RESULTS / name), f"results/{name} is not what the records say: run `make tables`"


def _rows(path: Path) -> list[dict[str, str]]:
    lines = pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
    return [line for line in lines if line.get("status") not in EMPTY]
