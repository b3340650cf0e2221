"""The LightningModule that trains any scorer on any ranking data, and scores whole splits."""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from qaexp.data.batch import RankingBatch, ScoringBlock, lengths_of
from qaexp.data.batching import blocks_within
from qaexp.data.module import RankingDataModule
from qaexp.ddp import all_gather_ragged, rank_and_world_size
from qaexp.errors import ConfigError
from qaexp.models.scorer import AnswerScorer
from qaexp.training.learning_pairs import LearningPairs
from qaexp.training.losses import Loss, by_group
from qaexp.training.module import ScoringModule
from qaexp.training.scoring import SplitScores

log = logging.getLogger(__name__)

MANY = 4
"""From so many pairs a group, finding the hardest negative first is cheaper than learning through all of them."""


class RankingModule(ScoringModule):
    """Scorer and loss, over a data set's pairs.

    Raises:
        ConfigError: the data set has classes and the loss takes none, or the other way round.
    """

    def __init__(
        self,
        scorer: AnswerScorer,
        loss: Loss,
        optimizer: Callable[..., Optimizer],
        schedule: Callable[..., LRScheduler],
        data: RankingDataModule,
        rebuild: Mapping[str, Any],
    ) -> None:
        super().__init__(scorer, optimizer, schedule, data, rebuild)
        if data.num_classes > 1 and not loss.takes_classes:
            raise ConfigError(
                f"dataset={data.name} has {data.num_classes} classes, and {type(loss).__name__} tells right from wrong; "
                "choose loss=class_cross_entropy"
            )
        if data.num_classes == 1 and loss.takes_classes:
            raise ConfigError(
                f"{type(loss).__name__} takes classes, and dataset={data.name} has right and wrong candidates; "
                "choose loss=pairwise_hinge or pointwise_cross_entropy"
            )
        self.loss = loss
        self._learning_pairs = LearningPairs()
        if scorer.bounded and loss.takes_log_odds:
            log.warning(
                "the scores of this model stay within a narrow range, and this loss reads them as log-odds: it cannot come near 0, and "
                "hardly tells right from wrong; choose loss=pairwise_hinge, or model/similarity=mlp where the model has that slot"
            )

    def on_train_epoch_start(self) -> None:
        super().on_train_epoch_start()
        self._learning_pairs.begin_epoch()

    def training_step(self, batch: RankingBatch, index: int) -> Float[Tensor, ""]:
        process, processes = rank_and_world_size()
        share = share_of(batch, process, processes) if processes > 1 else batch
        if self.loss.reads_hardest_alone and len(share.labels) > MANY * share.num_groups:
            share = hardest_negatives(self.scorer, share)
        loss_of = partial(loss_of_all, self.loss, share=share, num_groups=batch.num_groups, process=process, processes=processes)
        loss, objective = self._learning_pairs.step(self.scorer, share, loss_of)
        self.require_finite(loss, index)
        self.log("train/loss", loss, prog_bar=True, on_step=False, on_epoch=True, batch_size=batch.num_groups)
        return objective

    def validation_step(self, block: ScoringBlock, index: int) -> None:
        self.score_block(block)

    def on_validation_epoch_end(self) -> None:
        self.finish_split()
        self.log_dev_metrics()

    def test_step(self, block: ScoringBlock, index: int, dataloader_idx: int = 0) -> None:
        self.score_block(block)

    def on_test_epoch_end(self) -> None:
        self.finish_split()


BLOCK_TOKENS = 2**14
"""Tokens of candidates that are encoded at once, padding included: what conf/dataset/_base.yaml gives the blocks of a split, which go the
same way. No setting, so that none of scoring's changes how training rounds.
"""


def hardest_negatives(scorer: AnswerScorer, batch: RankingBatch) -> RankingBatch:
    """The batch with its right candidates and, of each group, the negative with the highest score.

    dos Santos et al. 2016, §2.3: of 50 negatives drawn for a question, "only the one with the highest score" trains.

    Reading: the scores that choose are those the model ranks with, so dropout is off while choosing. Of lists likewise (Lei et al. 2016,
    §3), in batches with more than four candidates a list, where the authors' release takes the maximum of scores with dropout.
    """
    training = scorer.training
    scores = batch_scores(scorer.eval(), batch).to(batch.labels.device)
    scorer.train(training)
    wrong = batch.labels != 1
    rows = by_group(scores, batch.groups, keep=wrong)  # (group, width)
    sizes = torch.bincount(batch.groups)
    hardest = (sizes.cumsum(0) - sizes + rows.argmax(dim=1))[torch.bincount(batch.groups[wrong], minlength=len(sizes)) > 0]
    return batch.of_pairs(torch.cat([hardest, torch.nonzero(~wrong).squeeze(1)]).sort().values)


def batch_scores(scorer: AnswerScorer, batch: RankingBatch) -> Tensor:
    """The scores of a batch's pairs, without gradients, its candidates encoded in blocks of similar length."""
    split = SplitScores(scorer, len(batch.labels))
    none = batch.pair_question[:0]
    split.add(ScoringBlock("train", "question", batch.questions, none, none, none))
    lengths = lengths_of(batch.candidates)
    order = lengths.argsort(stable=True)
    for rows in blocks_within(lengths[order].cpu().numpy(), BLOCK_TOKENS):
        block = order[rows]
        place = torch.full_like(order, -1)
        place[block] = torch.arange(len(block), device=order.device)
        pairs = torch.nonzero(place[batch.pair_candidate] >= 0).squeeze(1)
        split.add(
            ScoringBlock(
                "train",
                "candidate",
                batch.candidates[block][..., : max(1, int(lengths[block[-1]]))],
                pairs,
                batch.pair_question[pairs],
                place[batch.pair_candidate[pairs]],
            )
        )
    return split.scores


def share_of(batch: RankingBatch, process: int, processes: int) -> RankingBatch:
    """The pairs of every `processes`-th group, starting with group `process`. Without any such group, the pairs of group 0."""
    mine = batch.groups % processes == process
    if not mine.any():
        mine = batch.groups == 0
    share = batch.of_pairs(torch.nonzero(mine).squeeze(1))
    return RankingBatch(**{**vars(share), "groups": share.groups.unique(return_inverse=True)[1]})


def loss_of_all(
    loss: Loss, scores: Float[Tensor, "pair *class"], share: RankingBatch, num_groups: int, process: int, processes: int
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """The loss of the whole batch: its value, and the number that this process must minimise.

    With L(s) the loss of all scores and θ the weights, ∂L/∂θ = Σ_p ∂L/∂s_p · ∂s_p/∂θ over the processes' own scores s_p. The scores of
    the others come without a gradient, so each process has its own term of the sum. DDP averages these terms, hence the factor
    `processes`. Shares of different sizes are therefore weighted rightly, and no group is counted twice.
    """
    if processes == 1:
        whole = loss(scores, share.labels, share.groups)
        return whole.detach(), whole
    counts = process < num_groups  # else the share is ballast: DDP wants every process to take part
    own = scores if counts else scores[:0]
    numbers = share.groups * processes + process
    groups = torch.cat(list(all_gather_ragged(numbers if counts else numbers[:0])))
    labels = torch.cat(list(all_gather_ragged(share.labels if counts else share.labels[:0])))
    parts = list(all_gather_ragged(own))
    parts[process] = own
    order = groups.argsort(stable=True)
    whole = loss(torch.cat(parts)[order], labels[order], groups[order])
    return whole.detach(), processes * whole if counts else 0.0 * scores.sum()
