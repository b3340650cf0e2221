"""Training steps on WikiQA with tuned word vectors: fused optimisers over the words of training against plain ones over all words."""

import statistics
from collections.abc import Iterator, Sequence
from functools import partial

import torch
from hydra.utils import instantiate
from omegaconf import DictConfig

from benchmarks.row import Row
from benchmarks.timing import DEVICE, paired, readable, timed
from qaexp.config import compose
from qaexp.data.batch import RankingBatch
from qaexp.data.module import RankingDataModule
from qaexp.data.module_cache import open_data
from qaexp.errors import MissingDataError
from qaexp.training.losses import as_loss
from qaexp.training.optimizer import as_optimizer

FASTER = {"ap_cnn": 1.6, "qa_lstm": 1.6, "ggsa": 1.2, "anmm": 2.0}
"""At least so many times as fast with Adam as before."""
WIKIQA = ["dataset=wikiqa", "dataset/vectors=own_text", "dataset.vectors.dim=300"]
BATCH_SIZE, NUM_STEPS, NUM_PAIRS = 20, 3, 5


def rows() -> Iterator[Row]:
    try:
        data = open_data(compose(WIKIQA).dataset)
        data.word_vectors  # noqa: B018
    except MissingDataError as error:
        yield Row(f"training steps on WikiQA: skipped, {str(error).splitlines()[0]}")
        return
    for model, times in FASTER.items():
        for optimizer in ("adam", "rmsprop"):
            ours, other = Steps(data, model, optimizer, before=False), Steps(data, model, optimizer, before=True)
            what = f"{NUM_STEPS} steps of {model} on WikiQA, batch {BATCH_SIZE}, tuned vectors, {optimizer}"
            pairs = paired(ours, other, NUM_PAIRS, DEVICE)
            yield pairs.at_least(f"{what}: now, before", times) if optimizer == "adam" else pairs.told(f"{what}: now, before")
            yield ours.share(f"{model}, {optimizer}: the optimiser's part of a step, the step")


class TrainingStep:
    """A model, its loss and its optimiser as in a run. `before` has a parameter for every word, and the optimiser as its YAML says."""

    def __init__(self, data: RankingDataModule, cfg: DictConfig, device: torch.device, before: bool = False) -> None:
        torch.manual_seed(1)
        self._scorer = instantiate(cfg.model, vectors=data.word_vectors).to(device)
        self._scorer.fit(data.corpus, data.training_batches)
        self._loss, build = as_loss(instantiate(cfg.loss)), instantiate(cfg.optimizer)
        if not before:
            self._scorer.learn_only(torch.from_numpy(data.training_words))
        named = [(name, p) for name, p in self._scorer.named_parameters() if p.requires_grad]
        self.optimizer = build(params=[p for _, p in named]) if before else as_optimizer(build, decay_word_vectors=False)(named)

    def gradients(self, batch: RankingBatch) -> None:
        self.optimizer.zero_grad()
        self._loss(self._scorer(batch), batch.labels, batch.groups).backward()

    def __call__(self, batch: RankingBatch) -> None:
        self.gradients(batch)
        self.optimizer.step()


class Steps:
    """Some training steps, the same batches each time."""

    def __init__(self, data: RankingDataModule, model: str, optimizer: str, before: bool) -> None:
        cfg = compose([f"model={model}", "model/embedding=tuned", *WIKIQA, f"optimizer={optimizer}", "loss=pairwise_hinge"])
        self._step = TrainingStep(data, cfg, DEVICE, before)
        batches: Sequence[RankingBatch] = list(data.training_batches(0))
        self._batches = [batch.to(DEVICE) for batch in batches[:: len(batches) // NUM_STEPS][:NUM_STEPS]]

    def __call__(self) -> None:
        for batch in self._batches:
            self._step(batch)

    def share(self, what: str) -> Row:
        """A row that holds if the optimiser takes at most a tenth of a step."""
        steps, optimizers = list[float](), list[float]()
        for batch in self._batches * NUM_PAIRS:
            gradients, optimizer = (timed(run, DEVICE) for run in (partial(self._step.gradients, batch), self._step.optimizer.step))
            steps.append(gradients + optimizer)
            optimizers.append(optimizer)
        shares = [optimizer / step for optimizer, step in zip(optimizers, steps, strict=True)]
        return Row(what, readable(optimizers), readable(steps), shares, "ours ÷ other ≤ 0.1", statistics.median(shares) <= 0.1)
