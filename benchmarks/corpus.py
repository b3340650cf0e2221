"""Reading a corpus of AskUbuntu's size, made up: `python -m benchmarks.corpus FOLDER` is a process that opens the one in that folder."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.memory import peak_resident_bytes
from benchmarks.row import Row
from qaexp.data.made_up import QUESTIONS

LIMIT_FIRST, LIMIT_AFTER, LIMIT_GB = 60, 3, 2


def rows() -> Iterator[Row]:
    """The whole data set in a process of its own, twice: files are read, then what was prepared of them is opened."""
    with tempfile.TemporaryDirectory() as folder:
        made = [sys.executable, "-m", "qaexp.data", "make-up", f"{folder}/askubuntu_made_up"]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
        first, after = (_opened(folder) for _ in range(2))
    what = f"reading {QUESTIONS:,} questions, until vectors and the first batch are there"
    for how, report, limit in (("the first time", first, LIMIT_FIRST), ("after that", after, LIMIT_AFTER)):
        held = report["seconds"] < limit
        yield Row(f"{what}: {how}", f"{report['seconds']:.1f} s", target=f"< {limit} s", held=held)
    yield Row(
        f"peak memory of reading them; {first['words']:,} words",
        f"{first['gb']:.2f} GB",
        target=f"< {LIMIT_GB} GB",
        held=first["gb"] < LIMIT_GB,
    )


def _opened(folder: str) -> dict[str, float]:
    """Seconds, imports left out, words, and the peak of the process in GB."""
    report = subprocess.run([sys.executable, "-m", "benchmarks.corpus", folder], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(report.stdout)


def main(folder: Path) -> None:
    """Do what a run does until its first training step."""
    from hydra.utils import instantiate

    from qaexp.config import compose
    from qaexp.data.module import RankingDataModule

    cfg = compose(["dataset=askubuntu_made_up", f"data_dir={folder}", f"cache_dir={folder}/cache"])
    start = time.perf_counter()
    data: RankingDataModule = instantiate(cfg.dataset)
    vectors = data.word_vectors
    next(iter(data.training_batches(epoch=0)))
    seconds = time.perf_counter() - start
    sys.stdout.write(json.dumps({"seconds": seconds, "words": len(vectors), "gb": peak_resident_bytes() / 1e9}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
