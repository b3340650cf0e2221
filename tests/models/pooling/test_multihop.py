"""Multihop attention against loops over hops and words, from the equations of Tran & Niederée 2018."""

import pytest
import torch
from small_texts import some_states
from torch import Tensor, nn

from qaexp.errors import ConfigError
from qaexp.models.intermediates import watch
from qaexp.models.pooling.multihop import MultihopMLP, MultihopPooling, MultihopSequential

QUESTION_LENGTHS, CANDIDATE_LENGTHS = [3, 1, 2], [5, 2, 1]
DIM, HOPS = 4, 3


def softmax(scores: list[Tensor]) -> list[Tensor]:
    powers = [torch.exp(score) for score in scores]
    return [power / sum(powers) for power in powers]


def weighed(weights: list[Tensor], states: list[Tensor]) -> Tensor:
    return sum((weight * state for weight, state in zip(weights, states, strict=True)), start=torch.zeros(DIM))


def question_vectors(pooling: MultihopPooling, h: list[Tensor]) -> list[Tensor]:
    memory = sum(h, start=torch.zeros(DIM)) / len(h)
    vectors = [memory]
    for k in range(HOPS):
        alpha = softmax([pooling.w[k] @ (torch.tanh(state @ pooling.W[k]) * torch.tanh(memory @ pooling.U[k])) for state in h])
        vectors.append(weighed(alpha, h))
        memory = memory + vectors[-1]
    return vectors


def run(lstm: nn.LSTM, words: list[Tensor], suffix: str) -> list[Tensor]:
    W, U = getattr(lstm, f"weight_ih_l0{suffix}"), getattr(lstm, f"weight_hh_l0{suffix}")
    b = getattr(lstm, f"bias_ih_l0{suffix}") + getattr(lstm, f"bias_hh_l0{suffix}")
    h, C, states = torch.zeros(DIM // 2), torch.zeros(DIM // 2), []
    for x in words:
        i, f, new, o = (W @ x + U @ h + b).split(DIM // 2)
        C = i.sigmoid() * new.tanh() + f.sigmoid() * C
        h = o.sigmoid() * C.tanh()
        states.append(h)
    return states


def answer_scores(pooling: MultihopPooling, h: list[Tensor], o_q: Tensor) -> list[Tensor]:
    if isinstance(pooling, MultihopMLP):
        return [pooling.v.weight[0] @ torch.tanh(pooling.W_a.weight @ state + pooling.W_q.weight @ o_q) for state in h]
    assert isinstance(pooling, MultihopSequential)
    gamma = [state * o_q for state in h]
    forward, backward = run(pooling.lstm, gamma, ""), run(pooling.lstm, gamma[::-1], "_reverse")[::-1]
    return [left.sum() + right.sum() for left, right in zip(forward, backward, strict=True)]


@pytest.mark.parametrize("make", [MultihopMLP, MultihopSequential])
@torch.no_grad()
def test_every_hop_reads_the_question_and_then_the_answer(make: type[MultihopPooling]) -> None:
    torch.manual_seed(4)
    pooling = make(DIM, num_hops=HOPS)
    for weight in pooling.parameters():
        nn.init.normal_(weight)
    question, candidate = some_states(QUESTION_LENGTHS, DIM, 4, seed=1), some_states(CANDIDATE_LENGTHS, DIM, 6, seed=2)
    shown: dict[str, Tensor] = {}
    with watch(lambda name, tensor: shown.__setitem__(name, tensor)):
        r_q, r_a = pooling(pooling.once_per_text("question", question), pooling.once_per_text("candidate", candidate))
    assert r_q["vector"].shape == r_a["vector"].shape == (3, HOPS + 1, DIM)
    assert shown["question_attention"].shape == (3, HOPS, 4)
    assert shown["attention"].shape == (3, HOPS + 1, 6)
    for pair, (M, L) in enumerate(zip(QUESTION_LENGTHS, CANDIDATE_LENGTHS, strict=True)):
        h_q, h_a = list(question["states"][pair, :M]), list(candidate["states"][pair, :L])
        for k, o_q in enumerate(question_vectors(pooling, h_q)):
            beta = softmax(answer_scores(pooling, h_a, o_q))
            torch.testing.assert_close(r_q["vector"][pair, k], o_q, rtol=1e-5, atol=1e-5)
            torch.testing.assert_close(r_a["vector"][pair, k], weighed(beta, h_a), rtol=1e-5, atol=1e-5)
            torch.testing.assert_close(shown["attention"][pair, k, :L], torch.stack(beta), rtol=1e-5, atol=1e-5)
        assert not shown["attention"][pair, :, L:].any()
        assert not shown["question_attention"][pair, :, M:].any()


def test_an_odd_width_cannot_be_halved() -> None:
    with pytest.raises(ConfigError, match="width 5"):
        MultihopSequential(5, num_hops=1)


@pytest.mark.parametrize("kind", [MultihopMLP, MultihopSequential])
def test_a_text_without_a_word_is_zero_at_every_hop(kind: type[MultihopPooling]) -> None:
    pooling = kind(4, num_hops=2)
    question, candidate = some_states([0, 2], 4, 3), some_states([2, 0], 4, 3)
    o_q, o_a = pooling(pooling.once_per_text("question", question), pooling.once_per_text("candidate", candidate))
    assert o_q["vector"].any(dim=2).tolist() == [[False] * 3, [True] * 3]
    assert o_a["vector"].any(dim=2).tolist() == [[True] * 3, [False] * 3]
