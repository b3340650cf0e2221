"""Scoring questions × candidates of a shared answer set: each text encoded once, against both texts encoded for each pair."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from benchmarks.made_up import BLOCK_TOKENS, MAX_LENGTH, blocks, ranking, scorer
from benchmarks.row import Row
from benchmarks.timing import CPU, DEVICE, paired
from qaexp.data.corpus import RankingSplit, TokenTable
from qaexp.models.scorer import AnswerScorer
from qaexp.training.scoring import score_blocks

NUM_QUESTIONS, NUM_CANDIDATES, NUM_ANSWERS = 1_000, 500, 5_000
SAMPLE = 2_500 if DEVICE == CPU else 100_000  # pairs that are scored one by one; the others cost the same
NUM_PAIRS = 2  # far from the limit
TOLERANCE = 1e-5


def rows() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    lengths = np.clip(rng.gamma(3.0, 32.0, NUM_ANSWERS), 5, MAX_LENGTH).astype(np.int64)  # mean about 95
    table, split = ranking(NUM_QUESTIONS, NUM_CANDIDATES, lengths, rng)
    sample = np.sort(rng.choice(split.num_pairs, SAMPLE, replace=False))
    model = scorer("ggsa").to(DEVICE).eval()
    through_cut, one_by_one = torch.empty(0), torch.empty(0)

    def ours() -> None:
        nonlocal through_cut
        through_cut = score_blocks(model, blocks(table, split), split.num_pairs)

    def other() -> None:
        nonlocal one_by_one
        one_by_one = pair_by_pair(model, table, split, sample)

    measured = paired(ours, other, NUM_PAIRS, DEVICE, warm_up=DEVICE != CPU)
    apart = (through_cut[sample] - one_by_one).abs().max().item()
    if not apart <= TOLERANCE:
        raise AssertionError(f"the two ways to score a pair differ by {apart:g}; they should agree to {TOLERANCE:g}")
    whole = replace(measured, other=[seconds * split.num_pairs / SAMPLE for seconds in measured.other])
    what = f"{NUM_QUESTIONS:,} × {NUM_CANDIDATES} pairs over {NUM_ANSWERS:,} answers of {lengths.mean():.0f} words, GGSA: through the cut"
    yield whole.at_least(f"{what}, pair by pair (from {SAMPLE:,} pairs; same scores to {apart:.0e})", 10)


@torch.no_grad()
def pair_by_pair(model: AnswerScorer, table: TokenTable, split: RankingSplit, pairs: np.ndarray) -> Tensor:
    """Scores of some pairs, in batches as large as a block of texts and formed by length too."""
    questions, candidates = split.questions[split.pair_question[pairs]], split.candidates[pairs]
    order = np.argsort(table.lengths(candidates, MAX_LENGTH), kind="stable")
    scores = torch.empty(len(pairs))
    for chosen in np.array_split(order, max(1, round(table.lengths(candidates, MAX_LENGTH).sum() / BLOCK_TOKENS))):
        question = model.encode_question(torch.from_numpy(table.padded(questions[chosen], MAX_LENGTH)).to(DEVICE))
        candidate = model.encode_candidate(torch.from_numpy(table.padded(candidates[chosen], MAX_LENGTH)).to(DEVICE))
        scores[chosen] = model.score(question, candidate).cpu()
    return scores
