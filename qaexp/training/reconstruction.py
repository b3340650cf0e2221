"""The LightningModule of pre-training: learns to generate titles from contexts, and ranks with the encoder."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from qaexp.data.batch import ReconstructionBatch, ScoringBlock
from qaexp.data.module import RankingDataModule
from qaexp.errors import ConfigError
from qaexp.models.decoder import TitleDecoder
from qaexp.models.encoder.recurrent import RecurrentEncoder
from qaexp.models.scorer import Scorer
from qaexp.training.module import ScoringModule


class ReconstructionModule(ScoringModule):
    """Minimises −log P(title | context), the mean over all words and ends of a batch's titles (Lei et al. 2016, §4.2).

    The encoder is the scorer's, so that after every epoch the same weights rank the dev questions.

    Perplexity is exp of the mean of −log P over every word of the held-out titles, each title's end included.

    Departs: the authors' release sums over a title's words and averages over the titles of a batch; here every word counts the same.

    Raises:
        ConfigError: the scorer's questions and candidates have encoders of their own.
    """

    def __init__(
        self,
        scorer: Scorer,
        decoder: TitleDecoder,
        optimizer: Callable[..., Optimizer],
        schedule: Callable[..., LRScheduler],
        data: RankingDataModule,
        rebuild: Mapping[str, Any],
    ) -> None:
        super().__init__(scorer, optimizer, schedule, data, rebuild)
        if scorer.candidate_encoder is not scorer.question_encoder:
            raise ConfigError("model.shared=false makes two encoders, and pre-training trains one; set model.shared=true")
        self.scorer, self.decoder = scorer, decoder
        self.held_out: dict[str, int | float] = {}
        """Perplexity, and the words and questions it was measured on."""
        self._surprise, self._words, self._questions = 0.0, 0, 0

    def log_probabilities(self, batch: ReconstructionBatch) -> Float[Tensor, " token"]:
        """log P of each word of each title given its context, title after title, ends included."""
        encoder = self.scorer.question_encoder
        assert isinstance(encoder, RecurrentEncoder)  # like its decoder
        context = self.scorer.embedding.of(batch.contexts)
        _, state = encoder.run(context, None)
        return self.decoder(batch.titles, state, self.scorer.embedding)

    def training_step(self, batch: ReconstructionBatch, index: int) -> Float[Tensor, ""]:
        log_probabilities = self.log_probabilities(batch)
        loss = -log_probabilities.mean()
        self.require_finite(loss, index)
        self.log("train/loss", loss.detach(), on_step=False, on_epoch=True, logger=False, batch_size=len(log_probabilities))
        return loss

    def validation_step(self, batch: ReconstructionBatch | ScoringBlock, index: int, dataloader_idx: int = 0) -> None:
        if isinstance(batch, ScoringBlock):
            self.score_block(batch)
            return
        log_probabilities = self.log_probabilities(batch)
        self._surprise -= log_probabilities.double().sum().item()
        self._words += len(log_probabilities)
        self._questions += len(batch.titles)

    def on_validation_epoch_end(self) -> None:
        self._finish()
        self.log("held_out/perplexity", self.held_out["perplexity"], prog_bar=True, logger=False)
        self.log_dev_metrics()

    def test_step(self, batch: ReconstructionBatch | ScoringBlock, index: int, dataloader_idx: int = 0) -> None:
        self.validation_step(batch, index, dataloader_idx)

    def on_test_epoch_end(self) -> None:
        self._finish()

    def _finish(self) -> None:
        self.finish_split()
        perplexity = torch.tensor(self._surprise / self._words, dtype=torch.float64).exp().item()
        self.held_out = {"perplexity": perplexity, "words": self._words, "questions": self._questions}
        self._surprise, self._words, self._questions = 0.0, 0, 0
