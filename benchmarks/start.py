"""From the start of a process to its first batch and first training step: `python -m benchmarks.start TIME` is that process."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator

from benchmarks.row import Row

DATASET = "insuranceqa_subset"
REPEATS, LIMIT_SECONDS = 5, 5
SKIPPED = 3


def rows() -> Iterator[Row]:
    """The first process of all fills the cache (word vectors take a minute) and is not counted."""
    what = f"start of the process to the first training batch, GGSA on {DATASET}, everything prepared"
    try:
        starts = [_start() for _ in range(REPEATS + 1)][1:]
    except FileNotFoundError as error:
        yield Row(f"{what}: skipped, {error}")
        return
    until_batch = [sum(seconds for part, seconds in parts.items() if part != "first step") for parts in starts]
    best = starts[until_batch.index(min(until_batch))]
    parts = ", ".join(f"{part} {seconds:.1f}" for part, seconds in best.items())
    yield Row(
        f"{what}: best of {REPEATS} (median {statistics.median(until_batch):.1f} s); {parts}",
        f"{min(until_batch):.1f} s",
        target=f"< {LIMIT_SECONDS} s",
        held=min(until_batch) < LIMIT_SECONDS,
    )


def _start() -> dict[str, float]:
    """Seconds of each part. Raises FileNotFoundError where the data set is not there."""
    command = [sys.executable, "-m", "benchmarks.start", str(time.time())]
    child = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if child.returncode == SKIPPED:
        raise FileNotFoundError(child.stdout.strip())
    child.check_returncode()
    return json.loads(child.stdout)


def main(started: float) -> None:
    """Do what a run does until its first training step, and print the seconds of each part."""
    seconds, last = {}, started

    def done(part: str) -> None:
        nonlocal last
        seconds[part] = time.time() - last
        last = time.time()

    import torch
    from hydra.utils import instantiate

    import qaexp.train  # noqa: F401
    from qaexp.config import compose
    from qaexp.errors import MissingDataError

    done("imports")
    cfg = compose(["model=ggsa", f"dataset={DATASET}"])
    data = instantiate(cfg.dataset)
    try:
        vectors = data.word_vectors
    except MissingDataError as error:
        sys.stdout.write(f"its files are {' '.join(str(error).split()[:8])} ... (is QAEXP_DATA set?)")
        raise SystemExit(SKIPPED) from None
    done("data")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    scorer = instantiate(cfg.model, vectors=vectors).to(device)
    loss, optimizer = instantiate(cfg.loss), instantiate(cfg.optimizer)(params=scorer.parameters())
    done("model")
    batch = next(iter(data.training_batches(epoch=0))).to(device)
    done("first batch")
    loss(scorer(batch), batch.labels, batch.groups).backward()
    optimizer.step()
    done("first step")
    sys.stdout.write(json.dumps(seconds))


if __name__ == "__main__":
    main(float(sys.argv[1]))
