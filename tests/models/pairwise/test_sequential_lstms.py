"""The LSTM models of Rocktäschel et al. 2016 against their equations, one pair and one word at a time."""

import pytest
import torch
from small_texts import built, some_tokens
from torch import Tensor, nn

from qaexp.data.batch import RankingBatch
from qaexp.models.pairwise.sequential_lstms import AttentionLSTMs, SingleLSTM, WordAttentionLSTMs

WORDS, DIM, HIDDEN = 20, 5, 4
QUESTIONS, CANDIDATES = [3, 1, 6], [4, 2, 7]


def output(scorer: nn.Module, x: Tensor) -> Tensor:
    hidden, last = scorer.get_submodule("output.hidden"), scorer.get_submodule("output.output")
    return last(torch.tanh(hidden(x)))[0]


def lstm(layer: nn.LSTM, words: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """All states, and the last state and memory."""
    states = []
    for x in words:
        gates = layer.weight_ih_l0 @ x + layer.bias_ih_l0 + layer.weight_hh_l0 @ h + layer.bias_hh_l0
        i, f, z, o = gates.chunk(4)
        c = f.sigmoid() * c + i.sigmoid() * z.tanh()
        h = o.sigmoid() * c.tanh()
        states.append(h)
    return torch.stack(states), h, c


def by_hand(scorer: nn.Module, question: Tensor, candidate: Tensor) -> Tensor:
    table = scorer.get_submodule("embedding.words").weight
    x, y, zero = table[question], table[candidate], torch.zeros(HIDDEN)
    if isinstance(scorer, SingleLSTM):
        return output(scorer, lstm(scorer.lstm, torch.cat([x, scorer.delimiter[None], y]), zero, zero)[1])
    assert isinstance(scorer, (AttentionLSTMs, WordAttentionLSTMs))
    Y, _, memory = lstm(scorer.question_lstm, x, zero, zero)
    H, h, _ = lstm(scorer.candidate_lstm, y, zero, memory)
    W_y, W_h, w = scorer.W_y.weight, scorer.W_h.weight, scorer.w.weight[0]
    if isinstance(scorer, AttentionLSTMs):
        attention = torch.stack([w @ torch.tanh(W_y @ each + W_h @ h) for each in Y]).softmax(dim=0)
        r = (attention[:, None] * Y).sum(dim=0)
    else:
        r = zero
        for h_t in H:
            attention = torch.stack([w @ torch.tanh(W_y @ each + W_h @ h_t + scorer.W_r.weight @ r) for each in Y]).softmax(dim=0)
            r = (attention[:, None] * Y).sum(dim=0) + torch.tanh(scorer.W_t.weight @ r)
    return output(scorer, torch.tanh(scorer.W_p.weight @ r + scorer.W_x.weight @ h))


@pytest.mark.parametrize("bound", [0.1, 1.0])  # a tanh of the small numbers that 0.1 gives is nearly what it is of
@pytest.mark.parametrize("model", ["single_lstm", "attention_lstms", "word_attention_lstms"])
@torch.no_grad()
def test_scores_equal_the_equations_word_by_word(model: str, bound: float) -> None:
    scorer = built(
        f"model={model}", f"model.hidden_dim={HIDDEN}", "model.output_dim=3", f"model.initial_bound={bound}", words=WORDS, dim=DIM
    )
    questions, candidates = some_tokens(QUESTIONS, WORDS, longest=8), some_tokens(CANDIDATES, WORDS, longest=9, seed=1)
    q, c = torch.arange(3).repeat_interleave(3), torch.arange(3).repeat(3)
    scores = scorer(RankingBatch(questions, candidates, q, c, torch.zeros(9, dtype=torch.int64), q))
    expected = [
        by_hand(scorer, questions[i, : QUESTIONS[i]], candidates[j, : CANDIDATES[j]]) for i, j in zip(q.tolist(), c.tolist(), strict=True)
    ]
    torch.testing.assert_close(scores, torch.stack(expected), rtol=1e-5, atol=1e-5)
