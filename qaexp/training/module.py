"""The base class of the LightningModules: optimiser, schedule, seeds, checkpoints and the scoring of whole splits."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from qaexp.data.batch import ScoringBlock
from qaexp.data.module import RankingDataModule
from qaexp.ddp import all_gather_ragged, rank_and_world_size
from qaexp.errors import ConfigError, NonFiniteLossError
from qaexp.models.pretrained.weights import kept_files
from qaexp.models.scorer import AnswerScorer
from qaexp.runs.checkpoint import require_same_vocabulary
from qaexp.training.scoring import SplitScores

EPOCHS = 1_000_003
"""Larger than the number of epochs of any run, so that each pair of a seed and an epoch has a dropout seed of its own."""


class ScoringModule(pl.LightningModule):
    """A scorer, its optimiser and learning-rate schedule; the data module defines what is ranked and under which convention.

    `rebuild` is what a checkpoint must hold to build the scorer again without any file of the data set.
    """

    def __init__(
        self,
        scorer: AnswerScorer,
        optimizer: Callable[..., Optimizer],
        schedule: Callable[..., LRScheduler],
        data: RankingDataModule,
        rebuild: Mapping[str, Any],
    ) -> None:
        super().__init__()
        self.scorer = scorer
        self._optimizer, self._schedule = optimizer, schedule
        self._data, self._rebuild = data, rebuild
        self._scoring: SplitScores | None = None
        self._ranking = ""
        self.scores: dict[str, Float[Tensor, "pair *class"]] = {}
        """The scores of each split that was ranked, in the order of its pairs."""
        self.latest_loss: Float[Tensor, ""] | None = None
        """The loss of the last training step, for the progress bar."""
        self._taken_up: dict[str, Float[Tensor, "pair *class"]] = {}

    def on_train_epoch_start(self) -> None:
        """Dropout, like the order of the batches, depends on (seed, epoch) alone: a resumed run repeats its epoch exactly."""
        self.scorer.train()  # Lightning does not call it; a frozen transformer switches its own dropout off there
        seed, process = self._data.seed * EPOCHS + self.current_epoch, rank_and_world_size()[0]
        if process:  # mixed, as torch reads only the low 32 bits of a seed on a CPU
            seed = int(np.random.SeedSequence([seed, process]).generate_state(1, np.uint64)[0])
        torch.manual_seed(seed % 2**63)

    def configure_optimizers(self) -> Any:
        """A schedule that takes `num_steps` changes the rate at each step, others after each epoch. Raises: ConfigError, if either does not
        build.
        """
        try:
            optimizer = self._optimizer(params=[(name, p) for name, p in self.named_parameters() if p.requires_grad])
            if "num_steps" not in inspect.signature(self._schedule).parameters:
                return [optimizer], [{"scheduler": self._schedule(optimizer=optimizer), "interval": "epoch"}]
            schedule = self._schedule(optimizer=optimizer, num_steps=int(self.trainer.estimated_stepping_batches))
            return [optimizer], [{"scheduler": schedule, "interval": "step"}]
        except (TypeError, ValueError) as error:
            raise ConfigError(f"optimizer or schedule cannot be built from this configuration: {error}") from error

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["qaexp"] = dict(self._rebuild)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        require_same_vocabulary(checkpoint, self._rebuild["vocabulary"])

    def require_finite(self, loss: Float[Tensor, ""], index: int) -> None:
        """Keep the loss for the progress bar. Raises: NonFiniteLossError, if it is NaN or infinite."""
        self.latest_loss = loss.detach()
        if not torch.isfinite(loss):
            kept = "; the best checkpoint of the epochs before it is kept" if self.current_epoch else ""
            remedy = "Lower optimizer.lr, or bound the gradient with trainer.gradient_clip_val=1"
            if not self.global_step:
                remedy = "No step was taken before it: look at the model, its word vectors and the data"
            raise NonFiniteLossError(f"the loss became {loss.item()} in epoch {self.current_epoch + 1}, batch {index + 1}{kept}. {remedy}")

    def on_test_start(self) -> None:
        """Forget the dev scores of training, since the test uses other weights."""
        self.scores.clear()

    def take_up(self, scores: Mapping[str, Float[Tensor, "pair *class"]]) -> None:
        """Continue from the scores of an earlier process with the same weights. Blocks without a NaN are not scored again."""
        self._taken_up = dict(scores)

    def scored_so_far(self) -> dict[str, Float[Tensor, "pair *class"]]:
        """Scores for `take_up`: of finished splits, of this process' share of the current split, and those taken up for later splits.

        NaN where a pair has no score.
        """
        if self._scoring is None:
            return {**self._taken_up, **self.scores}
        places, scores = self._places(self._ranking), self._scoring.scores
        partial = scores.new_full((self._data.splits[self._ranking].num_pairs, *scores.shape[1:]), torch.nan)
        partial[places] = scores
        return {**self._taken_up, **self.scores, self._ranking: partial}

    def _places(self, split: str) -> Int[np.ndarray, " pair"]:
        """Positions in the split of the pairs that this process scores."""
        return self._data.share(split, *rank_and_world_size())[1]

    @property
    def progress(self) -> tuple[str, int, int]:
        """The current split, how many of this process' pairs of it are scored, and how many there are."""
        return (self._ranking, self._scoring.num_scored, len(self._scoring.scores)) if self._scoring else (self._ranking, 0, 0)

    def score_block(self, block: ScoringBlock) -> None:
        """Score the block's pairs. The first block of another split finishes the previous one."""
        if self._scoring is None or block.split != self._ranking:
            self.finish_split()
            self._ranking = block.split
            places, begun = self._places(block.split), self._taken_up.pop(block.split, None)
            self._scoring = SplitScores(self.scorer, len(places), begun=None if begun is None else begun[places])
        self._scoring.add(block)

    def finish_split(self) -> None:
        """Keep the scores of the current split.

        Raises:
            ConfigError: not all of its pairs were scored.
        """
        if self._scoring is None:
            return
        if self._scoring.num_scored < len(self._scoring.scores):
            raise ConfigError(
                f"{self._scoring.num_scored} of the {len(self._scoring.scores)} pairs of {self._ranking} were scored, and metrics need "
                "all; a callback of yours has stopped the scoring"
            )
        parts = all_gather_ragged(self._scoring.scores.to(self.device))
        scores = parts[0].new_empty((sum(map(len, parts)), *parts[0].shape[1:]))
        for process, part in enumerate(parts):
            scores[torch.from_numpy(self._data.share(self._ranking, process, len(parts))[1]).to(part.device)] = part
        self.scores[self._ranking] = scores.cpu()
        self._scoring = None

    def log_dev_metrics(self) -> None:
        for name, value in self._data.metrics("dev", self.scores["dev"]).compute().items():
            self.log(f"dev/{name}", value.float(), prog_bar=f"dev/{name}" == self._data.selection_metric, logger=False)


def rebuild_plan(
    config: Mapping[str, Any], data: RankingDataModule, pretrained: Sequence[str], vector_dim: int, key: str, command: str
) -> dict[str, Any]:
    """Plain values from which `load` rebuilds the model: everything except the weights. Key and command name the run. For each name of
    `pretrained` weights, they include the files that say how the model is built and how it reads texts.
    """
    return {
        **({"pretrained": {name: kept_files(name) for name in pretrained}} if pretrained else {}),
        **({"drop_unknown": True} if config["dataset"].get("drop_unknown") else {}),
        "key": key,
        "command": command,
        "model": config["model"],
        "tokenise": config["dataset"]["tokenise"],
        "max_question_length": data.max_question_length,
        "max_candidate_length": data.max_candidate_length,
        "vocabulary": data.corpus.vocabulary.words,
        "vector_dim": vector_dim,
        "classes": list(data.classes),
    }
