"""Attention of the pooled question against loops over words, from Tan et al. 2016, eq. 9–11."""

import pytest
import torch
from small_texts import some_states

from qaexp.errors import ConfigError
from qaexp.models.intermediates import watch
from qaexp.models.pooling.question_attention import QuestionAttention

QUESTION_LENGTHS, CANDIDATE_LENGTHS = [3, 1, 2], [5, 2, 1]
DIM = 4


@pytest.mark.parametrize("pool", ["max", "mean"])
@torch.no_grad()
def test_equations_9_to_11(pool: str) -> None:
    torch.manual_seed(3)
    pooling = QuestionAttention(DIM, pool=pool)
    question, candidate = some_states(QUESTION_LENGTHS, DIM, 4, seed=1), some_states(CANDIDATE_LENGTHS, DIM, 6, seed=2)
    shown = {}
    with watch(lambda name, tensor: shown.setdefault(name, tensor)):
        r_q, r_a = pooling(pooling.once_per_text("question", question), pooling.once_per_text("candidate", candidate))
    for pair, (M, L) in enumerate(zip(QUESTION_LENGTHS, CANDIDATE_LENGTHS, strict=True)):
        h_q, h_a = list(question["states"][pair, :M]), list(candidate["states"][pair, :L])
        o_q = torch.stack(h_q).amax(dim=0) if pool == "max" else sum(h_q) / M
        powers = [torch.exp(pooling.w_ms.weight[0] @ torch.tanh(pooling.W_am.weight @ h + pooling.W_qm.weight @ o_q)) for h in h_a]
        s = [power / sum(powers) for power in powers]
        weighed = torch.stack([L * s_t * h for s_t, h in zip(s, h_a, strict=True)])
        o_a = weighed.amax(dim=0) if pool == "max" else weighed.sum(dim=0) / L
        torch.testing.assert_close(r_q["vector"][pair], o_q, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(r_a["vector"][pair], o_a, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(shown["attention"][pair, :L], torch.stack(s), rtol=1e-5, atol=1e-5)
        assert not shown["attention"][pair, L:].any()


@torch.no_grad()
def test_uniform_attention_is_plain_pooling() -> None:
    pooling = QuestionAttention(DIM, pool="max")
    pooling.w_ms.weight.zero_()
    candidate = some_states(CANDIDATE_LENGTHS, DIM, 6, seed=2)
    _, r_a = pooling(
        pooling.once_per_text("question", some_states(QUESTION_LENGTHS, DIM, 4, seed=1)), pooling.once_per_text("candidate", candidate)
    )
    plain = torch.stack([states[:L].amax(dim=0) for states, L in zip(candidate["states"], CANDIDATE_LENGTHS, strict=True)])
    torch.testing.assert_close(r_a["vector"], plain, rtol=1e-5, atol=1e-5)


def test_another_pooling_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"model\.pooling\.pool=last: choose max or mean"):
        QuestionAttention(DIM, pool="last")


@pytest.mark.parametrize("pool", ["max", "mean"])
def test_an_answer_without_a_word_is_zero(pool: str) -> None:
    pooling = QuestionAttention(DIM, pool=pool)
    question, candidate = some_states([2, 2], DIM, 3), some_states([2, 0], DIM, 3)
    _, r_a = pooling(pooling.once_per_text("question", question), pooling.once_per_text("candidate", candidate))
    assert r_a["vector"].any(dim=1).tolist() == [True, False]
