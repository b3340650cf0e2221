"""Models by name and texts of made-up words, for measuring where real files are not at hand."""

import numpy as np
import torch
from hydra.utils import instantiate

from qaexp.config import compose
from qaexp.data.batch import RankingBatch
from qaexp.data.batching import ScoringBlocks
from qaexp.data.corpus import RankingSplit, TokenTable
from qaexp.models.scorer import AnswerScorer

VOCABULARY, DIM = 22_353, 300  # InsuranceQA's
MAX_LENGTH, BLOCK_TOKENS = 200, 16_384  # as in conf/dataset/_insuranceqa.yaml and _base.yaml
MEAN_LENGTH = 95


def scorer(model: str, *options: str) -> AnswerScorer:
    """A model of conf/model/, with options, over random word vectors."""
    torch.manual_seed(0)
    return instantiate(compose([f"model={model}", *options]).model, vectors=torch.randn(VOCABULARY, DIM))


def answer_lengths(number: int, rng: np.random.Generator) -> np.ndarray:
    """Lengths of `number` answers, distributed as in InsuranceQA."""
    return np.clip(rng.gamma(2.5, MEAN_LENGTH / 2.5, size=number).astype(int), 5, MAX_LENGTH)


def texts(lengths: np.ndarray, rng: np.random.Generator) -> TokenTable:
    """A text of each of these lengths."""
    return TokenTable(rng.integers(2, VOCABULARY, lengths.sum(), dtype=np.int32), np.concatenate([[0], lengths.cumsum()]))


def ranking(
    num_questions: int, num_candidates: int, answer_lengths: np.ndarray, rng: np.random.Generator
) -> tuple[TokenTable, RankingSplit]:
    """Questions of 4 to 12 words, each with a pool drawn from a shared answer set; the questions are the first texts."""
    table = texts(np.concatenate([rng.integers(4, 13, num_questions), answer_lengths]), rng)
    pools = [num_questions + rng.choice(len(answer_lengths), num_candidates, replace=False) for _ in range(num_questions)]
    candidates = np.concatenate(pools)
    split = RankingSplit(
        questions=np.arange(num_questions),
        offsets=np.arange(num_questions + 1) * num_candidates,
        candidates=candidates,
        labels=np.tile(np.arange(num_candidates) == 0, num_questions).astype(np.int8),
        question_ids=np.arange(num_questions).astype(np.bytes_),
        candidate_ids=candidates.astype(np.bytes_),
    )
    return table, split


def blocks(table: TokenTable, split: RankingSplit) -> ScoringBlocks:
    """The split, ready to be scored as qaexp scores InsuranceQA's."""
    return ScoringBlocks("made up", table, split, MAX_LENGTH, MAX_LENGTH, BLOCK_TOKENS)


def batch_of(num_groups: int, num_negatives: int) -> RankingBatch:
    """Groups of one right candidate and its negatives, each a text of its own, with InsuranceQA's spread of lengths."""
    rng = np.random.default_rng(0)
    lengths = answer_lengths(num_groups * (1 + num_negatives), rng)
    words = rng.integers(2, VOCABULARY, (len(lengths), lengths.max()))
    groups = torch.arange(num_groups).repeat_interleave(1 + num_negatives)
    return RankingBatch(
        questions=torch.from_numpy(rng.integers(2, VOCABULARY, (num_groups, 8))),
        candidates=torch.from_numpy(np.where(np.arange(lengths.max()) < lengths[:, None], words, 0)),
        pair_question=groups,
        pair_candidate=torch.arange(len(lengths)),
        labels=torch.tensor([1, *[0] * num_negatives] * num_groups),
        groups=groups,
    )
