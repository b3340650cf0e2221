"""Training steps on WikiQA against MatchZoo-py 1.1.1, which is from 2020 and needs an environment of its own.

`MATCHZOO` is a command that takes a model's name there (ArcI, ArcII, MVLSTM, aNMM) and perhaps `frozen`, trains on WikiQA with the defaults
of MatchZoo-py (300 numbers a word, questions up to 10 and answers up to 100 words, 64 pairs a batch, Adam, hinge loss), and prints a line
that ends in `1359 pairs a second`, by processor time of one thread.
"""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator

from benchmarks.optimizer import TrainingStep
from benchmarks.row import Row
from benchmarks.timing import CPU, one_thread, timed
from qaexp.config import compose
from qaexp.data.module_cache import open_data
from qaexp.errors import MissingDataError

WIDTHS = {
    "ArcI": ["model=arc_i", "model.encoder.num_filters=[32]", "model.similarity.num_layers=4"],
    "ArcII": ["model=arc_ii", "model.num_filters=[32,32]", "model.hidden_dim=128"],
    "MVLSTM": ["model=mv_lstm", "model/match=cosine", "model.encoder.hidden_dim=32", "model.k=10", "model.hidden_dim=128"],
    "aNMM": ["model=anmm", "model.num_bins=200", "model.num_weight_sets=100"],
}
"""MatchZoo-py's models, and ours at their widths: filters, hidden layers, states, bins and sets of weights."""
TARGETS = {"ArcI": 3.0, "ArcII": 3.0, "MVLSTM": 3.0, "aNMM": 1.5}
WIKIQA = [
    "dataset=wikiqa",
    "dataset/vectors=random",
    "dataset.vectors.dim=300",
    "dataset.max_question_length=10",
    "dataset.max_candidate_length=100",
]
PAIRS = [
    "dataset/negatives=pool",
    "dataset.negatives.num=1",
    "dataset.batch_size=64",
    "loss=pairwise_hinge",
    "loss.margin=1.0",
    "optimizer=adam",
]
WARM_UP, NUM_STEPS, NUM_TURNS = 3, 40, 3


def rows() -> Iterator[Row]:
    if not (command := os.environ.get("MATCHZOO")):
        yield Row("MatchZoo-py: skipped, as MATCHZOO names no command (benchmarks/matchzoo.py says which)")
        return
    for model in WIDTHS:
        for vectors in ("frozen", "tuned"):
            try:
                turns = [(pairs_a_second(model, vectors), _theirs(command, model, vectors)) for _ in range(NUM_TURNS)]
            except MissingDataError as error:
                yield Row(f"MatchZoo-py: skipped, {str(error).splitlines()[0]}")
                return
            ratios, target = [ours / theirs for ours, theirs in turns], TARGETS[model]
            ours, theirs = (f"{sorted(side)[NUM_TURNS // 2]:,.0f} pairs/s" for side in zip(*turns, strict=True))
            held = sorted(ratios)[NUM_TURNS // 2] >= target
            yield Row(f"{model} on WikiQA, vectors {vectors}: ours, MatchZoo-py", ours, theirs, ratios, f"ours ÷ other ≥ {target:g}", held)


def pairs_a_second(model: str, vectors: str) -> float:
    """(right, wrong) pairs that a second of training reads, by processor time of one thread."""
    cfg = compose([*WIDTHS[model], f"model/embedding={vectors}", "model.embedding.dropout_rate=0", *WIKIQA, *PAIRS, "optimizer=adam"])
    data = open_data(cfg.dataset)
    step = TrainingStep(data, cfg, CPU)
    batches = iter([batch for epoch in range(5) for batch in data.training_batches(epoch)])
    read = 0

    def steps(number: int) -> None:
        nonlocal read
        for _, batch in zip(range(number), batches, strict=False):
            step(batch)
            read += int((batch.labels > 0).sum())

    with one_thread(CPU):
        steps(WARM_UP)
        read = 0
        seconds = timed(lambda: steps(NUM_STEPS), CPU)
    return read / seconds


def _theirs(command: str, model: str, vectors: str) -> float:
    arguments = [*shlex.split(command), model, *(["frozen"] if vectors == "frozen" else [])]
    said = subprocess.run(arguments, capture_output=True, text=True, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"}).stdout
    [found] = re.findall(r"([\d.]+) pairs a second", said)
    return float(found)
