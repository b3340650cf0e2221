"""The hardest negative of each group, found without gradients. Only its pair and those of right candidates need gradients."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from qaexp.data.batch import RankingBatch, ScoringBlock, lengths_of
from qaexp.data.batching import blocks_within
from qaexp.models.scorer import AnswerScorer
from qaexp.training.scoring import SplitScores

BLOCK_TOKENS = 2**14
"""Tokens of candidates that are encoded at once, padding included, as in conf/dataset/_base.yaml for the blocks of a split. It is not
configurable, so that options of scoring do not change the rounding of training.
"""


def hardest_negatives(scorer: AnswerScorer, batch: RankingBatch) -> RankingBatch:
    """The batch with its right candidates and, of each group, the negative with the highest score.

    dos Santos et al. 2016, §2.3: of 50 negatives drawn for a question, "only the one with the highest score" trains.

    Reading: the model chooses with the scores that it ranks with, so dropout is off. The same goes for lists (Lei et al. 2016, §3) in
    batches with more than four candidates a list; there the authors' release takes the maximum of scores with dropout.
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


def by_group(scores: Float[Tensor, " pair"], groups: Int[Tensor, " pair"], keep: Bool[Tensor, " pair"]) -> Float[Tensor, "group place"]:
    """A row for each group with the scores of its pairs in `keep`. The rest of a row is the lowest number of the type."""
    sizes = torch.bincount(groups)
    place = torch.arange(len(groups), device=groups.device) - (sizes.cumsum(0) - sizes)[groups]
    rows = scores.new_full((len(sizes), int(sizes.max())), torch.finfo(scores.dtype).min)
    return rows.index_put((groups[keep], place[keep]), scores[keep])


def is_score(rows: Float[Tensor, "*any place"]) -> Bool[Tensor, "*any place"]:
    """Which numbers of `by_group` are scores, and not what fills up a row."""
    return rows != torch.finfo(rows.dtype).min
