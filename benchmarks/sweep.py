"""A sweep of tiny jobs through the joblib launcher: how much of the workers' time is not training."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.row import Row

JOBS, WORKERS, LIMIT = 1_000, 2, 0.20
TINY = [
    "model=qa_lstm",
    "model.encoder.hidden_dim=16",
    "dataset.reader.num_train=200",
    "dataset.reader.num_dev=20",
    "dataset.reader.num_test=20",
    "dataset.vectors.dim=24",
    "trainer.max_epochs=3",
]


def rows(jobs: int = JOBS) -> Iterator[Row]:
    """`python -m benchmarks.sweep JOBS` measures fewer."""
    with tempfile.TemporaryDirectory() as folder:
        sweep = [
            "-m",
            *TINY,
            "logger=none",
            f"output_dir={folder}",
            f"optimizer.lr={','.join(f'{1e-3 + i * 1e-7:.7f}' for i in range(jobs))}",
        ]
        start = time.perf_counter()
        launcher = ["hydra/launcher=cores", f"hydra.launcher.n_jobs={WORKERS}"]
        subprocess.run([sys.executable, "-m", "qaexp", *sweep, *launcher], check=True, capture_output=True)
        wall = time.perf_counter() - start
        seconds = [json.loads(path.read_text())["seconds"] for path in Path(folder).rglob("record.json")]
    assert len(seconds) == jobs, f"{len(seconds)} of {jobs} jobs left a record"
    training = sum(each["fit"] + each["test"] for each in seconds)
    outside = 1 - training / (wall * WORKERS)
    yield Row(
        f"{jobs:,} jobs of {training / jobs:.2f} s on {WORKERS} workers: share of their time outside training and ranking, start included",
        f"{outside:.0%}",
        target=f"< {LIMIT:.0%}",
        held=outside < LIMIT,
    )


if __name__ == "__main__":
    for row in rows(int(sys.argv[1])):
        sys.stdout.write(f"{row.what}: {row.ours} ({row.target})\n")
