"""aNMM against a loop over words and bins, written from Yang et al. 2016, §3."""

import math
from functools import partial

import pytest
import torch
from torch import Tensor

from qaexp.data.vocabulary import UNKNOWN
from qaexp.models.embedding.word_vectors import WordEmbedding
from qaexp.models.pairwise.anmm import ANMM

QUESTIONS = torch.tensor([[3, 4, 0, 0], [5, 0, 0, 0], [6, 1, 8, 3]])
CANDIDATES = torch.tensor([[9, 3, 4, 2, 3], [5, 6, 1, 0, 0], [1, 2, 0, 0, 0]])
NUM_BINS = 6


def model(num_weight_sets: int) -> ANMM:
    torch.manual_seed(1)
    embedding = partial(WordEmbedding, tuned=False, project_dim=None, dropout_rate=0.0)
    return ANMM(embedding, NUM_BINS, num_weight_sets, vectors=torch.randn(10, 4))


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def paper(scorer: ANMM, question: Tensor, candidate: Tensor) -> float:
    """The score of two texts without padding."""
    table = scorer.embedding.words.weight
    h = []
    for j in question:
        x = [0.0] * (NUM_BINS + 1)
        for i in candidate:
            P = torch.cosine_similarity(table[j], table[i], dim=0).item()
            borders = [-1 + 2 * k / NUM_BINS for k in range(NUM_BINS)]
            x[NUM_BINS if i == j > UNKNOWN else max(k for k, border in enumerate(borders) if border <= P)] += P
        sets = [sigmoid(sum(w * x_k for w, x_k in zip(weights, x, strict=True))) for weights in scorer.w.T.tolist()]
        h.append(sets[0] if scorer.r is None else sigmoid(sum(r * s for r, s in zip(scorer.r.tolist(), sets, strict=True))))
    powers = [math.exp((scorer.v @ table[j]).item()) for j in question]
    return sum(power / sum(powers) * h_j for power, h_j in zip(powers, h, strict=True))


@pytest.mark.parametrize("num_weight_sets", [1, 3])
def test_scores_equal_a_loop_over_words(num_weight_sets: int) -> None:
    scorer = model(num_weight_sets)
    scores = scorer.score(scorer.encode_question(QUESTIONS), scorer.encode_candidate(CANDIDATES))
    for pair in range(3):
        question, candidate = (t[t != 0] for t in (QUESTIONS[pair], CANDIDATES[pair]))
        assert scores[pair].item() == pytest.approx(paper(scorer, question, candidate), abs=1e-5)


def test_parameters_are_one_weight_per_bin_and_the_attention_vector() -> None:
    assert sum(p.numel() for p in model(1).parameters() if p.requires_grad) == NUM_BINS + 1 + 4
