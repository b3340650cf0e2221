"""iGGSA's interaction against loops over words, written from Xu et al. 2019, eq. 5–7."""

import pytest
import torch
from small_texts import built, some_tokens
from torch import Tensor, nn

from qaexp.models.encoder.ggsa import GatedGroupSelfAttention
from qaexp.models.encoder.self_attention import FeedForward
from qaexp.models.interaction.question_residual import QuestionResidual
from qaexp.models.scorer import Scorer
from qaexp.models.types import Text

QUESTIONS, CANDIDATES = [5, 2], [13, 1, 11]


def iggsa(shared: str) -> Scorer:
    return built("model=iggsa", f"model.shared={shared}", words=40, dim=12)


def embedded(scorer: Scorer, tokens: Tensor) -> Text:
    return scorer.embedding({"tokens": tokens, "mask": tokens != 0})


def feed_forward(layer: FeedForward, x: Tensor) -> Tensor:
    first, second = layer[0], layer[2]
    assert isinstance(first, nn.Linear)
    assert isinstance(second, nn.Linear)
    return second.weight @ torch.clamp(first.weight @ x + first.bias, min=0) + second.bias


def layer_norm(x: Tensor, norm: nn.LayerNorm) -> Tensor:
    return (x - x.mean()) / (x.var(correction=0) + 1e-5).sqrt() * norm.weight + norm.bias


@pytest.mark.parametrize("shared", ["true", "false"])
@torch.no_grad()
def test_a_score_of_iggsa_is_eq_5_to_7_word_by_word(shared: str) -> None:
    scorer = iggsa(shared)
    interaction, encoder = scorer.interaction, scorer.candidate_encoder
    assert isinstance(interaction, QuestionResidual)
    assert isinstance(encoder, GatedGroupSelfAttention)
    nn.init.normal_(interaction.norm.weight)
    questions, candidates = some_tokens(QUESTIONS, 40), some_tokens(CANDIDATES, 40, seed=1)
    for q, q_length in enumerate(QUESTIONS):
        for a, a_length in enumerate(CANDIDATES):
            H_q = scorer.question_encoder(embedded(scorer, questions[q : q + 1, :q_length]))["states"][0]
            Y_a = encoder.begin(embedded(scorer, candidates[a : a + 1, :a_length]))["residual"][0]
            c = sum(H_q, start=torch.zeros(12)) / q_length  # eq. 5
            H_a = []
            for y in Y_a:
                residual = feed_forward(interaction.feed_forward, y * c)
                y_tilde = layer_norm(y + residual, interaction.norm)
                H_a.append(y_tilde + feed_forward(encoder.feed_forward, y_tilde))  # eq. 6–7
            v_q, v_a = H_q.max(dim=0).values, torch.stack(H_a).max(dim=0).values
            expected = v_q @ v_a / (v_q.norm() * v_a.norm())
            actual = scorer.score(
                {name: tensor[[q]] for name, tensor in scorer.encode_question(questions).items()},
                {name: tensor[[a]] for name, tensor in scorer.encode_candidate(candidates).items()},
            )
            torch.testing.assert_close(actual[0], expected, rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_the_answer_depends_on_the_question_before_the_cosine() -> None:
    scorer = iggsa("true")
    question, candidate = (
        scorer.encode_question(some_tokens([5, 4], 40)),
        scorer.encode_candidate(some_tokens([7, 7], 40, seed=1)[:1].expand(2, -1)),
    )
    _, seen = scorer.interaction(question, candidate)
    torch.testing.assert_close(candidate["residual"][0], candidate["residual"][1])
    assert (seen["residual"][0] - seen["residual"][1]).abs().max() > 0.01
