"""The names of the files in a run's folder, and where runs are. Needs no torch."""

import os
from pathlib import Path

from qaexp.errors import CheckpointError

CONFIG, RECORD, LOG = "config.yaml", "record.json", "run.log"
RESULTS = Path(os.environ.get("QAEXP_RESULTS") or "results")
"""Where every command looks for tables and runs, and writes them: by default in the current folder."""
RUNS = RESULTS / "runs"
"""As `output_dir` in conf/."""
BEST, LAST = "best.ckpt", "last.ckpt"
NEXT = "next.ckpt"
"""The best weights until `last.ckpt` has the same epoch; then they become `best.ckpt`."""
SET_ASIDE = "record.json.damaged"
"""A damaged record, set aside when the run started again."""
EVALUATION = "evaluation.json"
"""What `qaexp evaluate` measured, in its folder."""
ERROR, TRACEBACK = "error.txt", "error.log"
"""Why a run of a table or sweep failed, in a sentence; and the traceback."""


def checkpoint_file(path: str | Path) -> Path:
    """A checkpoint, or the best one in a run's folder.

    Raises:
        CheckpointError: there is none.
    """
    file = Path(path) / BEST if Path(path).is_dir() else Path(path)
    if not file.is_file():
        raise CheckpointError(f"{file} does not exist; name a run's folder{example_below(path, BEST)} or a .ckpt file in one")
    if file.suffix != ".ckpt":
        raise CheckpointError(f"{file} is not a checkpoint; name a run's folder or a .ckpt file in one")
    return file


def example_below(path: str | Path, file: str) -> str:
    """Such as `, such as results/runs/2026-11-30/12-00-00`: a run below a folder that has this file; empty if there is none."""
    found = next((found for pattern in ("*", "*/*", "*/*/*") for found in Path(path).glob(f"{pattern}/{file}")), None)
    return f", such as {found.parent}" if found else ""


def part_of_test(folder: Path, process: int) -> Path:
    """Where a process of a run keeps its scores of an unfinished test."""
    return folder / f"test-{process}.part"


def clear(folder: Path) -> None:
    """Remove what only an unfinished run needs. `last.ckpt` stays, so that the run can be continued with more epochs."""
    for path in (folder / NEXT, *folder.glob("test-*.part")):
        path.unlink(missing_ok=True)


def is_resumable(folder: Path) -> bool:
    """Whether the folder has what an unfinished run continues from: its last checkpoint and its record."""
    return (folder / LAST).is_file() and (folder / RECORD).is_file()


def clear_all(folder: Path) -> None:
    """Remove `last.ckpt`, too, as sweeps and tables do to save space: they have many runs."""
    clear(folder)
    (folder / LAST).unlink(missing_ok=True)
