"""Choosing the hardest negative first is learning through all of them, at a part of the price."""

from dataclasses import replace

import pytest
import torch
from hydra.utils import instantiate

from qaexp.config import compose
from qaexp.data.batch import RankingBatch
from qaexp.models.scorer import AnswerScorer
from qaexp.training.hardest_negatives import batch_scores, hardest_negatives
from qaexp.training.losses import PairwiseHinge


@pytest.fixture
def scorer() -> AnswerScorer:
    torch.manual_seed(5)
    return instantiate(compose(["model=ggsa", "model.embedding.dropout_rate=0.0"]).model, vectors=torch.randn(60, 12))


@pytest.fixture
def batch() -> RankingBatch:
    """Five groups of one right candidate and eight negatives, drawn from 20 texts of 1 to 30 words; group 3 has two right ones."""
    draw = torch.Generator().manual_seed(6)
    lengths = torch.randint(1, 31, (20,), generator=draw)
    candidates = torch.randint(2, 60, (20, 30), generator=draw).masked_fill(torch.arange(30) >= lengths[:, None], 0)
    labels = torch.zeros(5, 9, dtype=torch.int64)
    labels[:, 0] = 1
    labels[3, 4] = 1
    return RankingBatch(
        questions=torch.randint(2, 60, (5, 7), generator=draw),
        candidates=candidates,
        pair_question=torch.arange(5).repeat_interleave(9),
        pair_candidate=torch.stack([torch.randperm(20, generator=draw)[:9] for _ in range(5)]).flatten(),
        labels=labels.flatten(),
        groups=torch.arange(5).repeat_interleave(9),
    )


def test_blocks_of_similar_length_score_as_the_whole_batch(
    scorer: AnswerScorer, batch: RankingBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qaexp.training.hardest_negatives.BLOCK_TOKENS", 50)
    with torch.no_grad():
        torch.testing.assert_close(batch_scores(scorer, batch), scorer(batch), rtol=1e-5, atol=1e-5)


def test_the_loss_and_its_gradient_are_those_of_all_negatives(scorer: AnswerScorer, batch: RankingBatch) -> None:
    loss = PairwiseHinge(margin=0.5)
    chosen = hardest_negatives(scorer, batch)
    assert chosen.groups.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 3, 4, 4]
    assert chosen.labels.sum() == 6
    assert len(chosen.candidates) < len(batch.candidates)
    values, gradients = [], []
    for each in (batch, chosen):
        scorer.zero_grad()
        value = loss(scorer(each), each.labels, each.groups)
        value.backward()
        values.append(value.detach())
        gradients.append(torch.cat([p.grad.flatten() for p in scorer.parameters() if p.grad is not None]))
    torch.testing.assert_close(values[1], values[0], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-4, atol=1e-6)


def test_choosing_leaves_the_model_in_training(scorer: AnswerScorer, batch: RankingBatch) -> None:
    hardest_negatives(scorer.train(), batch)
    assert scorer.training
    assert all(p.grad is None for p in scorer.parameters())


def test_the_longest_field_of_a_text_counts(batch: RankingBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Titles of one or two words beside bodies: nothing of a body is cut off, in blocks of few texts either."""
    titles = batch.candidates.roll(1, dims=0) * (torch.arange(30) < 2)
    candidates = torch.stack([titles, batch.candidates], dim=1)  # (text, field, length)
    fields = replace(batch, candidates=candidates, questions=torch.stack([batch.questions, batch.questions.flip(1)], dim=1))
    options = ["model=rcnn", "model.embedding.dropout_rate=0.0", "model.encoder.hidden_dim=8"]
    torch.manual_seed(7)
    scorer = instantiate(compose(options).model, vectors=torch.randn(60, 12))
    monkeypatch.setattr("qaexp.training.hardest_negatives.BLOCK_TOKENS", 50)
    scores = scorer(fields)
    torch.testing.assert_close(batch_scores(scorer, fields), scores.detach(), rtol=1e-5, atol=1e-5)
    loss, chosen = PairwiseHinge(margin=0.5), hardest_negatives(scorer, fields)
    assert len(chosen.labels) < len(fields.labels)
    ours, all_of_them = loss(scorer(chosen), chosen.labels, chosen.groups), loss(scores, fields.labels, fields.groups)
    torch.testing.assert_close(ours, all_of_them, rtol=1e-5, atol=1e-5)


def test_dropout_is_off_while_choosing(batch: RankingBatch) -> None:
    torch.manual_seed(5)
    scorer = instantiate(compose(["model=ggsa", "model.embedding.dropout_rate=0.5"]).model, vectors=torch.randn(60, 12))
    chosen, in_training = (hardest_negatives(each, batch) for each in (scorer.eval(), scorer.train()))
    pairs, others = (each.candidates[each.pair_candidate] for each in (chosen, in_training))
    assert torch.equal(pairs, others)


def test_a_group_without_negatives_keeps_its_right_candidates_once(scorer: AnswerScorer, batch: RankingBatch) -> None:
    labels = batch.labels.clone()
    labels[9:18] = 1
    chosen = hardest_negatives(scorer, replace(batch, labels=labels))
    assert chosen.labels[chosen.groups == 1].tolist() == [1] * 9
    assert chosen.groups.tolist() == [0, 0, *[1] * 9, 2, 2, 3, 3, 3, 4, 4]


def test_the_last_group_may_lack_negatives_too(scorer: AnswerScorer, batch: RankingBatch) -> None:
    labels = batch.labels.clone()
    labels[36:45] = 1
    chosen = hardest_negatives(scorer, replace(batch, labels=labels))
    assert chosen.labels[chosen.groups == 4].tolist() == [1] * 9


def test_the_hinge_leaves_small_groups_whole(scorer: AnswerScorer, batch: RankingBatch) -> None:
    small = batch.of_pairs(torch.arange(45)[torch.arange(45) % 9 < 4])
    loss = PairwiseHinge(margin=0.5)
    assert loss.pairs_to_learn(scorer, small) is small
    assert torch.equal(loss.pairs_to_learn(scorer, batch).labels, hardest_negatives(scorer, batch).labels)
