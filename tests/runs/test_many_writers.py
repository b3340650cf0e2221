"""Records on shared storage: eight processes go through the same 2,000 runs, a tenth of which kill the process that is at them."""

import json
import multiprocessing
import os
import random
import signal
import threading
from pathlib import Path

from qaexp.runs.record import RunRecord
from qaexp.runs.store import claim

RUNS, PROCESSES, KILLED = 2_000, 8, 200


def work(folder: Path, seed: int) -> None:
    """One process: whatever is not finished and nobody else is at, in an order of its own."""
    order = list(range(RUNS))
    rng = random.Random(seed)
    rng.shuffle(order)
    for number in order:
        place = folder / "runs" / f"run{number}"
        with claim(place) as mine:
            if not mine or RunRecord.with_status(place, "finished"):
                continue
            if number < KILLED and not (folder / f"killed{number}").exists():
                (folder / f"killed{number}").touch()
                threading.Timer(rng.uniform(0, 0.004), os.kill, (os.getpid(), signal.SIGKILL)).start()
                write(place, number, epochs=10_000)
            write(place, number, epochs=3)
            with (folder / f"finished-{os.getpid()}").open("a") as log:
                log.write(f"{number}\n")


def write(place: Path, number: int, epochs: int) -> None:
    """A run without the training."""
    record = RunRecord(
        key=f"{number:016x}",
        config={"seed": number, "dataset": {"selection_metric": "dev/map"}, "words": ["filler"] * 200},
        seed=number,
        command="",
    )
    with record.kept_in(place):
        for epoch in range(1, epochs + 1):
            record.add_epoch(epoch, {"dev/map": number / RUNS})
            record.history = record.history[-3:]
            record.save(place)


def test_no_record_is_broken_and_none_is_written_twice(tmp_path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["qaexp.runs.store"])
    processes = [context.Process(target=work, args=(tmp_path, seed)) for seed in range(PROCESSES)]
    for process in processes:
        process.start()
    deaths = 0
    while processes:
        for process in list(processes):
            process.join(0.01)
            if process.exitcode is None:
                continue
            processes.remove(process)
            if process.exitcode == -signal.SIGKILL:
                deaths += 1
                for number in range(KILLED):  # none is left half written
                    if (path := tmp_path / "runs" / f"run{number}" / "record.json").exists():
                        json.loads(path.read_text())
                processes.append(context.Process(target=work, args=(tmp_path, PROCESSES + deaths)))
                processes[-1].start()
            else:
                assert process.exitcode == 0
    assert deaths == KILLED
    paths = list((tmp_path / "runs").rglob("record.json"))
    records = [json.loads(path.read_text()) for path in paths]
    assert sorted(record["seed"] for record in records) == list(range(RUNS))
    for path, record in zip(paths, records, strict=True):
        assert record["status"] == "finished"
        assert path.parent.name == f"run{record['seed']}"
        assert [epoch["epoch"] for epoch in record["history"]] == [1, 2, 3]
    finishes = [int(line) for log in tmp_path.glob("finished-*") for line in log.read_text().split()]
    assert sorted(finishes) == list(range(RUNS))
