"""MV-LSTM's pooling and output against a loop over positions; matches and encoder have tests of their own."""

from functools import partial

import pytest
import torch

from qaexp.models.embedding.word_vectors import WordEmbedding
from qaexp.models.encoder.recurrent import BiLSTM
from qaexp.models.pairwise.match import TensorMatch
from qaexp.models.pairwise.mv_lstm import MVLSTM

QUESTIONS = torch.tensor([[3, 4, 0], [5, 0, 0], [6, 7, 8]])
CANDIDATES = torch.tensor([[9, 3, 4, 2], [5, 6, 0, 0], [7, 0, 0, 0]])


def model(k: int, num_classes: int, overlap: bool) -> MVLSTM:
    torch.manual_seed(1)
    return MVLSTM(
        embedding=partial(WordEmbedding, tuned=False, project_dim=None, dropout_rate=0.0),
        encoder=partial(BiLSTM, hidden_dim=3),
        match=partial(TensorMatch, num_slices=2, activation="relu"),
        k=k,
        hidden_dim=5,
        num_classes=num_classes,
        overlap=overlap,
        initial_bias=-2.0,
        vectors=torch.randn(10, 4),
    )


@pytest.mark.parametrize("overlap", [False, True])
def test_scores_equal_a_sort_of_each_slice(overlap: bool) -> None:
    for k, num_classes in ((2, 1), (7, 3)):
        scorer = model(k, num_classes, overlap)
        assert scorer.classifier.output.bias.tolist() == [-2.0] * num_classes
        scores = scorer.score(scorer.encode_question(QUESTIONS), scorer.encode_candidate(CANDIDATES))
        for pair in range(3):
            u, v = ({"tokens": t[t != 0][None], "mask": t[t != 0][None] != 0} for t in (QUESTIONS[pair], CANDIDATES[pair]))
            u, v = scorer.encoder(scorer.embedding(u)), scorer.encoder(scorer.embedding(v))
            S = scorer.match(scorer.match.begin_question(u), scorer.match.begin_candidate(v))[0]
            x = []
            for piece in S:
                strongest = sorted(piece.flatten().tolist(), reverse=True)[:k]
                x += strongest + [0.0] * (k - len(strongest))
            if scorer.overlap is not None:
                x += scorer.overlap(QUESTIONS[pair : pair + 1], CANDIDATES[pair : pair + 1])[0].tolist()
            hidden, output = scorer.classifier.hidden, scorer.classifier.output
            r = torch.clamp(hidden.weight @ torch.tensor(x) + hidden.bias, min=0)
            expected = output.weight @ r + output.bias
            torch.testing.assert_close(scores[pair], expected if num_classes > 1 else expected[0], rtol=1e-5, atol=1e-5)
