"""One run on two processes measures what one process measures."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hydra.utils import instantiate
from waiting import wait_until

from qaexp.config import compose
from qaexp.data.batch import RankingBatch
from qaexp.processes import Process
from qaexp.training import ranking
from qaexp.training.losses import Loss, PairwiseHinge, PointwiseCrossEntropy

ROOT = Path(__file__).resolve().parents[1]
SMALL = ["dataset.reader.num_train=61", "dataset.reader.num_dev=21", "dataset.reader.num_test=20", "dataset.vectors.dim=12"]


def run(folder: Path, *options: str) -> dict:
    command = [sys.executable, "-m", "qaexp", "logger=none", f"output_dir={folder}", *SMALL, "trainer.max_epochs=3", *options]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    [record] = folder.rglob("record.json")  # one process writes
    return json.loads(record.read_text())


@pytest.mark.parametrize(
    "options",
    [
        ["model.embedding.dropout_rate=0", "optimizer.lr=1e-3", "dataset.batch_size=12"],
        ["model=ap_cnn", "model.embedding.dropout_rate=0", "dataset/negatives=random", "dataset.negatives.num=6", "dataset.batch_size=4"],
        ["model=word_overlap"],
    ],
    ids=["ggsa", "hardest negatives, a batch of one group", "nothing to train"],
)
def test_two_processes_measure_what_one_does(options: list[str], tmp_path: Path) -> None:
    cache = f"cache_dir={tmp_path / 'cache'}"
    options = [*options, "trainer.accelerator=cpu"]
    alone = run(tmp_path / "alone", cache, *options)
    together = run(tmp_path / "together", cache, *options, "trainer=ddp")
    assert together["status"] == "finished"
    assert (alone["processes"], together["processes"]) == (1, 2)
    assert together["metrics"].keys() == alone["metrics"].keys() == {"dev", "test"}
    for split, metrics in alone["metrics"].items():
        assert together["metrics"][split] == pytest.approx(metrics, abs=1e-6)
    for ours, theirs in zip(together["history"], alone["history"], strict=True):
        assert ours == pytest.approx(theirs, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
def test_the_other_process_ends_with_the_first(name: str, tmp_path: Path) -> None:
    options = ["trainer=ddp", "trainer.accelerator=cpu", "trainer.max_epochs=4000", "patience=4000", "logger=none"]
    command = [sys.executable, "-m", "qaexp", f"output_dir={tmp_path}", f"cache_dir={tmp_path / 'cache'}", *SMALL, *options]
    first = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"})
    try:
        wait_until(lambda: any(json.loads(path.read_text())["history"] for path in tmp_path.rglob("record.json")))
        [other] = [Process.of(int(pid)) for pid in Path(f"/proc/{first.pid}/task/{first.pid}/children").read_text().split()]
        first.send_signal(getattr(signal, name))
        assert first.wait(timeout=60) == (130 if name == "SIGTERM" else -signal.SIGKILL)
        wait_until(lambda: Process.of(other.pid) != other)
    finally:
        first.kill()
    [record] = tmp_path.rglob("record.json")
    assert json.loads(record.read_text())["status"] == ("interrupted" if name == "SIGTERM" else "running")


def test_no_question_is_split_between_processes_and_every_pair_is_scored_once(tmp_path: Path) -> None:
    data = instantiate(compose([*SMALL, f"cache_dir={tmp_path}"]).dataset)
    parts = [data.share("dev", process, 4) for process in range(4)]
    assert sorted(np.concatenate([places for _, places in parts]).tolist()) == list(range(210))
    for table, places in parts:
        whole = data.splits["dev"]
        np.testing.assert_array_equal(whole.candidates[places], table.candidates)
        questions = np.unique(whole.pair_question[places])
        assert sum(int(np.diff(whole.offsets)[question]) for question in questions) == len(places)


@pytest.mark.parametrize("loss", [PairwiseHinge(margin=0.5), PointwiseCrossEntropy()], ids=["hinge", "cross entropy"])
@pytest.mark.parametrize("num_groups", [1, 2, 5])
def test_the_mean_of_the_processes_gradients_is_that_of_the_whole_batch(
    loss: Loss, num_groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    sizes = torch.tensor([3, 2, 4, 2, 3])[:num_groups]
    groups = torch.repeat_interleave(torch.arange(num_groups), sizes)
    starts = sizes.cumsum(0) - sizes
    labels = torch.zeros(len(groups), dtype=torch.int64)
    labels[starts] = 1
    rows = torch.arange(len(groups))
    texts = torch.ones(len(groups), 2, dtype=torch.int64)
    batch = RankingBatch(texts[:num_groups], texts, groups, rows, labels, groups)
    features, weights = torch.randn(len(groups), 3), torch.randn(3, requires_grad=True)
    whole = loss(features @ weights, labels, groups)
    [expected] = torch.autograd.grad(whole, weights)

    parts = [ranking.share_of(batch, process, 2) for process in range(2)]
    places = [torch.nonzero(groups % 2 == process).squeeze(1) for process in range(2)]
    counted = [place if len(place) else place[:0] for place in places]
    queue: list[list[torch.Tensor]] = []
    monkeypatch.setattr(ranking, "all_gather_ragged", lambda tensor: queue.pop(0))
    gradients = []
    for process in range(2):
        mine = places[process] if len(places[process]) else torch.nonzero(groups == 0).squeeze(1)
        queue += [[groups[p] for p in counted], [labels[p] for p in counted], [(features[p] @ weights).detach() for p in counted]]
        measured, objective = ranking.loss_of_all(loss, features[mine] @ weights, parts[process], num_groups, process, 2)
        torch.testing.assert_close(measured, whole.detach())
        gradients.append(torch.autograd.grad(objective, weights)[0])
    torch.testing.assert_close(sum(gradients) / 2, expected)
