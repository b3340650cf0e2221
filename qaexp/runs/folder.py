"""What lies in a run's folder, by name: whoever only looks for a run, or at it, needs no torch for that."""

from pathlib import Path

from qaexp.errors import CheckpointError, MissingDataError

CONFIG, RECORD, LOG = "config.yaml", "record.json", "run.log"
BEST, LAST = "best.ckpt", "last.ckpt"
NEXT = "next.ckpt"
"""The best weights until `last.ckpt` is of their epoch, too; then they are `best.ckpt`."""
SET_ASIDE = "record.json.damaged"
"""A record that could not be read, when the run began anew."""
ERROR, TRACEBACK = "error.txt", "error.log"
"""Why a run failed: in a sentence, where runs are kept for tables and sweeps; and where in the code."""


def checkpoint_file(path: str | Path) -> Path:
    """A checkpoint, or the best one in a run's folder.

    Raises:
        CheckpointError: there is none.
    """
    file = Path(path) / BEST if Path(path).is_dir() else Path(path)
    if not file.is_file():
        raise CheckpointError(f"{file} does not exist; name a run's folder or a .ckpt file in one")
    return file


def part_of_test(folder: Path, process: int) -> Path:
    """Where a process of a run keeps what it has scored of a test that is not over."""
    return folder / f"test-{process}.part"


def clear(folder: Path) -> None:
    """Remove what only an unfinished run needs."""
    for path in (folder / LAST, folder / NEXT, *folder.glob("test-*.part")):
        path.unlink(missing_ok=True)


def require_initial_run(source: str | None) -> None:
    """Raises MissingDataError if `source`, the value of `init_from`, names a run or checkpoint that does not exist."""
    try:
        if source:
            checkpoint_file(source)
    except CheckpointError as error:
        raise MissingDataError(f"init_from={error}") from error
