"""AI-CNN against a loop over segments."""

from functools import partial

import torch
from torch import Tensor

from qaexp.models.embedding.word_vectors import WordEmbedding
from qaexp.models.encoder.cnn import CNN
from qaexp.models.pairwise.ai_cnn import AICNN, SegmentAttention
from qaexp.models.pairwise.match import TensorMatch
from qaexp.models.scorer import read_out

QUESTIONS = torch.tensor([[3, 4, 0], [5, 0, 0], [6, 7, 8]])
CANDIDATES = torch.tensor([[9, 3, 4, 2], [5, 6, 0, 0], [7, 0, 0, 0]])


def model(num_classes: int) -> AICNN:
    torch.manual_seed(1)
    return AICNN(
        embedding=partial(WordEmbedding, tuned=False, project_dim=None, dropout_rate=0.0),
        encoder=partial(CNN, num_filters=4, window=3),
        match=partial(TensorMatch, num_slices=2, activation="tanh"),
        attention_dim=3,
        hidden_dim=5,
        num_classes=num_classes,
        vectors=torch.randn(10, 4),
    )


def attended(attention: SegmentAttention, u: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Σ_i α_i u_i, and α."""
    W, w = attention.hidden, attention.w
    powers = torch.stack([torch.exp(w.weight[0] @ torch.tanh(W.weight @ u_i + W.bias)) for u_i in u])
    alpha = powers / powers.sum()
    return sum((a * u_i for a, u_i in zip(alpha, u, strict=True)), start=torch.zeros(2)), alpha


def test_scores_and_attention_equal_a_loop_over_segments() -> None:
    for num_classes in (1, 3):
        scorer = model(num_classes)
        scores = scorer.score(scorer.encode_question(QUESTIONS), scorer.encode_candidate(CANDIDATES))
        for pair in range(3):
            words = [t[t != 0][None] for t in (QUESTIONS[pair], CANDIDATES[pair])]
            q, a = (scorer.encoder(scorer.embedding({"tokens": t, "mask": t != 0})) for t in words)
            v = scorer.match(scorer.match.begin_question(q), scorer.match.begin_candidate(a))[0]
            rows, columns = v.shape[1:]
            u_q = [torch.stack([v[:, i, j] for j in range(columns)]).amax(dim=0) for i in range(rows)]
            u_a = [torch.stack([v[:, i, j] for i in range(rows)]).amax(dim=0) for j in range(columns)]
            r_q, alpha_q = attended(scorer.question_attention, u_q)
            r_a, alpha_a = attended(scorer.candidate_attention, u_a)
            hidden, output = scorer.classifier.hidden, scorer.classifier.output
            expected = output.weight @ torch.tanh(hidden.weight @ torch.cat([r_q, r_a]) + hidden.bias) + output.bias
            torch.testing.assert_close(scores[pair], expected if num_classes > 1 else expected[0], rtol=1e-5, atol=1e-5)
            seen = read_out(scorer, words[0][0], words[1][0])
            torch.testing.assert_close(seen["pair.question_attention"], alpha_q.detach(), rtol=1e-5, atol=1e-5)
            torch.testing.assert_close(seen["pair.attention"], alpha_a.detach(), rtol=1e-5, atol=1e-5)


def test_beside_an_empty_text_there_is_nothing_to_attend_to() -> None:
    scorer = model(1)
    empty = torch.zeros(3, 4, dtype=torch.long)
    scores = scorer.score(scorer.encode_question(QUESTIONS), scorer.encode_candidate(empty))
    torch.testing.assert_close(scores, scorer.classifier(torch.zeros(3, 4)))
