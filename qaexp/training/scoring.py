"""Scoring a whole split through the cut: questions are encoded once and kept, candidates are encoded block by block.

Memory holds one block of candidates, whatever the number of pairs, and each distinct text is encoded once.
"""

from collections.abc import Callable, Iterable

import torch
from jaxtyping import Float
from torch import Tensor

from qaexp.data.batch import ScoringBlock
from qaexp.models.blocks import MAX_TOKENS
from qaexp.models.scorer import AnswerScorer
from qaexp.models.types import Text, concatenate_texts


class SplitScores:
    """Takes a split's blocks in order and computes a score for each of its pairs.

    MAX_TOKENS bounds the tokens (padding included) of either side that are gathered at once for stages after the cut. `begun` holds the
    scores of an earlier pass, NaN for pairs without one; blocks without a NaN are skipped.
    """

    def __init__(self, scorer: AnswerScorer, num_pairs: int, begun: Float[Tensor, "pair *class"] | None = None) -> None:
        self._scorer = scorer
        self._question_blocks: list[Text] = []
        self._questions: Text | None = None
        self._begun = begun is not None
        self.scores = torch.full((num_pairs,), torch.nan) if begun is None else begun
        self.num_scored = 0

    @torch.no_grad()
    def add(self, block: ScoringBlock) -> None:
        """Encode the block's texts; for candidates, score all their pairs."""
        if block.side == "question":
            self._question_blocks.append(self._encoded(self._scorer.encode_question, block))
            return
        if self._begun and not self.scores[block.pairs.cpu()].isnan().any():
            self.num_scored += len(block.pairs)
            return
        if self._questions is None:
            self._questions = concatenate_texts(self._question_blocks)
            self._question_blocks.clear()
        candidates = self._encoded(self._scorer.encode_candidate, block)
        most = MAX_TOKENS.get(block.tokens.device.type, MAX_TOKENS["cuda"])
        scores = self._scorer.score_all(self._questions, candidates, block.pair_question, block.pair_candidate, max_tokens=most)
        if self.scores.ndim < scores.ndim:  # the first scores of a model that gives one for each class
            self.scores = self.scores.unsqueeze(1).repeat(1, scores.shape[1])
        self.scores[block.pairs.cpu()] = scores.float().cpu()
        self.num_scored += len(block.pairs)

    def _encoded(self, encode: Callable[[Tensor], Text], block: ScoringBlock) -> Text:
        return self._scorer.encode_all(encode, block.tokens)


def score_blocks(scorer: AnswerScorer, blocks: Iterable[ScoringBlock], num_pairs: int) -> Float[Tensor, "pair *class"]:
    """The scores of all pairs of a split, computed on the scorer's device and returned on the CPU."""
    split, device = SplitScores(scorer, num_pairs), scorer.device
    for block in blocks:
        split.add(block.to(device))
    return split.scores
