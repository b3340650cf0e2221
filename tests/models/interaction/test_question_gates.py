"""IARNN-GATE against a loop over words, from the equations of Wang et al. 2016, §4.3."""

import pytest
import torch
from small_texts import built, some_tokens

from qaexp.models.encoder.gated_gru import GatedGRU
from qaexp.models.interaction.question_gates import QuestionGates
from qaexp.models.scorer import Scorer

QUESTIONS, CANDIDATES, HIDDEN = [5, 2], [7, 1, 4], 3


def iarnn_gate(shared: str = "true") -> Scorer:
    return built("model=iarnn_gate", f"model.shared={shared}", f"model.encoder.hidden_dim={HIDDEN}", words=40, dim=6)


@pytest.mark.parametrize("shared", ["true", "false"])
@torch.no_grad()
def test_a_score_is_the_recurrence_with_the_question_in_its_gates(shared: str) -> None:
    scorer = iarnn_gate(shared)
    interaction, encoder = scorer.interaction, scorer.candidate_encoder
    assert isinstance(interaction, QuestionGates)
    assert isinstance(encoder, GatedGRU)
    asking = scorer.question_encoder
    assert isinstance(asking, GatedGRU)
    M = interaction.M.weight.reshape(2, 2, HIDDEN, 2 * HIDDEN)  # of each direction, for r and z
    questions, candidates = some_tokens(QUESTIONS, 40), some_tokens(CANDIDATES, 40, seed=1)
    words = scorer.embedding({"tokens": candidates, "mask": candidates != 0})["states"]
    for q, q_length in enumerate(QUESTIONS):
        asked = scorer.embedding({"tokens": questions[q : q + 1, :q_length], "mask": torch.ones(1, q_length, dtype=torch.bool)})
        r_q = asking.gru(asked["states"])[0][0].mean(dim=0)
        for a, a_length in enumerate(CANDIDATES):
            directions = []
            for direction, suffix in enumerate(["", "_reverse"]):
                W_r, W_z, W_n = getattr(encoder.gru, f"weight_ih_l0{suffix}").chunk(3)
                b_r, b_z, b_n = getattr(encoder.gru, f"bias_ih_l0{suffix}").chunk(3)
                U_r, U_z, U_n = getattr(encoder.gru, f"weight_hh_l0{suffix}").chunk(3)
                c_r, c_z, c_n = getattr(encoder.gru, f"bias_hh_l0{suffix}").chunk(3)
                h, states = torch.zeros(HIDDEN), []
                for x in words[a, :a_length] if direction == 0 else words[a, :a_length].flip(0):
                    r = torch.sigmoid(W_r @ x + b_r + U_r @ h + c_r + M[direction, 0] @ r_q)
                    z = torch.sigmoid(W_z @ x + b_z + U_z @ h + c_z + M[direction, 1] @ r_q)
                    h = (1 - z) * torch.tanh(W_n @ x + b_n + r * (U_n @ h + c_n)) + z * h
                    states.append(h)
                directions.append(sum(states, start=torch.zeros(HIDDEN)) / a_length)
            r_a = torch.cat(directions)
            expected = 1 / (1 + (r_q - r_a).norm()) / (1 + torch.exp(-(r_q @ r_a + 1)))
            actual = scorer.score(
                {name: tensor[[q]] for name, tensor in scorer.encode_question(questions).items()},
                {name: tensor[[a]] for name, tensor in scorer.encode_candidate(candidates).items()},
            )
            torch.testing.assert_close(actual[0], expected, rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_a_question_with_zero_weights_leaves_torchs_gru() -> None:
    scorer = iarnn_gate()
    assert isinstance(scorer.interaction, QuestionGates)
    scorer.interaction.M.weight.zero_()
    tokens = some_tokens([5, 7], 40)
    question, candidate = scorer.encode_question(tokens), scorer.encode_candidate(tokens)
    assert candidate.keys() == {"mask", "gru_gates"}, "what precedes the gates is done once a text"
    _, met = scorer.interaction(question, candidate)
    torch.testing.assert_close(scorer.candidate_encoder.finish(met)["states"], question["states"], rtol=1e-5, atol=1e-5)
