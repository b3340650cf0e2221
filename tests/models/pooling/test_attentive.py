"""Attentive pooling against a loop over words, straight from the paper."""

import math

import torch
from small_texts import some_states
from torch import Tensor

from qaexp.models.pooling.attentive import AttentivePooling
from qaexp.models.types import Text


def softmax(values: list[float]) -> list[float]:
    powers = [math.exp(value) for value in values]
    return [power / sum(powers) for power in powers]


def test_equations_13_to_18() -> None:
    question_lengths, candidate_lengths = [3, 1, 2], [5, 2, 1]
    torch.manual_seed(1)
    pooling = AttentivePooling(4)
    question, candidate = some_states(question_lengths, 4, 4, seed=1), some_states(candidate_lengths, 4, 5, seed=2)
    pooled_question, pooled_candidate = pooling(pooling.once_per_text("question", question), pooling.once_per_text("candidate", candidate))
    U = pooling.U.tolist()
    for pair, (M, L) in enumerate(zip(question_lengths, candidate_lengths, strict=True)):
        Q, A = question["states"][pair, :M].tolist(), candidate["states"][pair, :L].tolist()
        G = [[math.tanh(sum(q[i] * U[i][j] * a[j] for i in range(4) for j in range(4))) for a in A] for q in Q]
        sigma_q = softmax([max(row) for row in G])
        sigma_a = softmax([max(G[m][k] for m in range(M)) for k in range(L)])
        r_q = torch.tensor([sum(sigma_q[m] * Q[m][i] for m in range(M)) for i in range(4)])
        r_a = torch.tensor([sum(sigma_a[k] * A[k][i] for k in range(L)) for i in range(4)])
        torch.testing.assert_close(pooled_question["vector"][pair], r_q, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(pooled_candidate["vector"][pair], r_a, rtol=1e-5, atol=1e-5)


def test_padding_would_change_the_vectors_if_it_were_read() -> None:
    """`some_states` puts large states on padding, so the test above fails without the masks."""
    torch.manual_seed(1)
    pooling = AttentivePooling(4)
    question, candidate = some_states([3, 1, 2], 4, 4, seed=1), some_states([5, 2, 1], 4, 5, seed=2)

    def pooled(question: Text, candidate: Text) -> list[Tensor]:
        sides = pooling(pooling.once_per_text("question", question), pooling.once_per_text("candidate", candidate))
        return [side["vector"][1:] for side in sides]  # pairs with padding on both sides

    masked = pooled(question, candidate)
    for side in (0, 1):
        texts = [question, candidate]
        texts[side] = {**texts[side], "mask": torch.ones_like(texts[side]["mask"])}
        assert all((one - other).abs().max() > 1e-3 for one, other in zip(masked, pooled(*texts), strict=True))


def test_a_text_without_a_word_is_zero() -> None:
    pooling = AttentivePooling(4)
    question, candidate = some_states([0, 2], 4, 3), some_states([2, 0], 4, 3)
    pooled_question, pooled_candidate = pooling(pooling.once_per_text("question", question), pooling.once_per_text("candidate", candidate))
    assert pooled_question["vector"].any(dim=1).tolist() == [False, True]
    assert pooled_candidate["vector"].any(dim=1).tolist() == [True, False]
