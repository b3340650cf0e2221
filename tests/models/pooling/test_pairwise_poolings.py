"""Every encoder and interaction of Xu et al. 2019, Tables 2 and 5, under every pooling that reads both texts."""

import pytest
import torch
from small_texts import built, some_tokens

from qaexp.models.scorer import read_out

LENGTHS = [12, 1, 10, 7]


@pytest.mark.parametrize("pooling", ["attentive", "question_attention", "multihop_mlp", "multihop_sequential"])
@pytest.mark.parametrize("model", ["qa_lstm_attention", "self_attention", "ggsa", "iggsa"])
@torch.no_grad()
def test_a_padded_batch_scores_as_its_pairs_do_one_by_one(model: str, pooling: str) -> None:
    scorer, tokens = built(f"model={model}", f"model/pooling={pooling}", words=30, dim=24), some_tokens(LENGTHS, 30, longest=17)
    scores = scorer.score(scorer.encode_question(tokens.flip(0)), scorer.encode_candidate(tokens))
    for row, (q, a) in enumerate(zip(LENGTHS[::-1], LENGTHS, strict=True)):
        alone = scorer.score(scorer.encode_question(tokens.flip(0)[row : row + 1, :q]), scorer.encode_candidate(tokens[row : row + 1, :a]))
        torch.testing.assert_close(scores[row], alone[0], rtol=1e-5, atol=1e-5)


def test_the_part_of_a_pooling_for_one_text_runs_before_the_cut() -> None:
    tokens = some_tokens(LENGTHS, 30)
    for pooling, of_candidate in (("question_attention", {"mask", "states", "keys"}), ("multihop_sequential", {"mask", "states"})):
        scorer = built("model=ggsa", f"model/pooling={pooling}", words=30, dim=24)
        assert scorer.encode_question(tokens).keys() == {"mask", "vector"}
        assert scorer.encode_candidate(tokens).keys() == of_candidate
    # of iGGSA the answer's states are known only once the question has stepped in
    scorer = built("model=iggsa", "model/pooling=question_attention", words=30, dim=24)
    assert scorer.encode_candidate(tokens).keys() == {"mask", "residual"}


@pytest.mark.parametrize(
    ("pooling", "question", "candidate"),
    [
        ("attentive", {"pair.question_attention": (7,)}, {"pair.attention": (12,)}),
        ("question_attention", {}, {"pair.attention": (12,)}),
        ("multihop_mlp", {"question.question_attention": (2, 7)}, {"pair.attention": (3, 12)}),
        ("multihop_sequential", {"question.question_attention": (2, 7)}, {"pair.attention": (3, 12)}),
    ],
)
def test_the_weights_of_a_pair_can_be_read_out(pooling: str, question: dict[str, tuple[int]], candidate: dict[str, tuple[int]]) -> None:
    tokens = some_tokens(LENGTHS, 30)
    read = read_out(built("model=ggsa", f"model/pooling={pooling}", words=30, dim=24), tokens[3, :7], tokens[0])
    score = read.pop("score")
    assert score.shape == ()
    expected = question | candidate
    assert {name: tuple(read[name].shape) for name in expected} == expected
    for weights in (read[name] for name in expected):
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:-1]))
