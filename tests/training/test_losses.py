"""Losses against values worked out by hand, and what their gradients touch."""

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from hydra.utils import instantiate
from torch import Tensor

import qaexp
from qaexp.config import compose
from qaexp.data.batch import RankingBatch
from qaexp.errors import ConfigError
from qaexp.models.lexical.baselines import RandomGuess
from qaexp.train import train
from qaexp.training.hardest_negatives import by_group
from qaexp.training.losses import (
    ClassCrossEntropy,
    InfoNCE,
    ListwiseSoftmax,
    Loss,
    MarginMSE,
    MeanHinge,
    PairwiseHinge,
    PointwiseCrossEntropy,
)


def hinge(margin: float, scores: list[float], labels: list[int], groups: list[int]) -> tuple[Tensor, Tensor]:
    """The loss and its gradient."""
    leaf = torch.tensor(scores, requires_grad=True)
    loss = PairwiseHinge(margin)(leaf, torch.tensor(labels), torch.tensor(groups))
    loss.backward()
    assert leaf.grad is not None
    return loss.detach(), leaf.grad


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0.9, 0.1], 0.0),  # 0.2 - 0.9 + 0.1 < 0
        ([0.3, 0.1], 0.0),  # exactly the margin
        ([0.3, 0.2], 0.1),
        ([0.1, 0.5], 0.6),
        ([-0.5, -0.6], 0.1),
    ],
)
def test_one_negative(scores: list[float], expected: float) -> None:
    loss, _ = hinge(0.2, scores, [1, 0], [0, 0])
    assert loss.item() == pytest.approx(expected, abs=1e-6)


def test_only_the_hardest_negative_and_the_right_candidate_have_gradients() -> None:
    loss, gradient = hinge(0.5, [0.1, 0.3, 0.4, -0.9], [0, 1, 0, 0], [0, 0, 0, 0])
    assert loss.item() == pytest.approx(0.6, abs=1e-6)
    assert gradient.tolist() == [0.0, -1.0, 1.0, 0.0]


def test_groups_of_different_sizes_are_averaged() -> None:
    """Group 0: 0.5 - 0.2 + 0.4 = 0.7; group 1: 0.5 - 0.9 + 0.1 < 0; group 2: 0.5 + 0.3 - 0.3 = 0.5."""
    scores = [0.2, 0.4, 0.9, 0.0, -1.0, 0.1, -0.3, -0.3]
    loss, gradient = hinge(0.5, scores, [1, 0, 1, 0, 0, 0, 1, 0], [0, 0, 1, 1, 1, 1, 2, 2])
    assert loss.item() == pytest.approx((0.7 + 0.5) / 3, abs=1e-6)
    expected = torch.tensor([-1, 1, 0, 0, 0, 0, -1, 1]) / 3
    torch.testing.assert_close(gradient, expected)


def test_the_mean_hinge_learns_from_all_negatives_within_the_margin() -> None:
    """Group 0: 0.5 - 0.2 + 0.4 = 0.7 and 0.5 - 0.2 + 0.1 = 0.4; group 1: 0.5 - 0.9 - 1 < 0; group 2 has no negative."""
    leaf = torch.tensor([0.2, 0.4, 0.1, 0.9, -1.0, 0.0], requires_grad=True)
    loss = MeanHinge(0.5)(leaf, torch.tensor([1, 0, 0, 1, 0, 1]), torch.tensor([0, 0, 0, 1, 1, 2]))
    loss.backward()
    assert loss.item() == pytest.approx((0.7 + 0.4 + 0.0) / 3, abs=1e-6)
    assert leaf.grad is not None
    torch.testing.assert_close(leaf.grad, torch.tensor([-2, 1, 1, 0, 0, 0]) / 3)
    with pytest.raises(ConfigError, match="MeanHinge compares a right candidate with wrong ones"):
        MeanHinge(0.5)(leaf, torch.ones(6, dtype=torch.int64), torch.arange(6))


def test_a_negative_of_another_group_does_not_count() -> None:
    loss, _ = hinge(0.1, [0.5, 0.0, 0.5, 0.45], [1, 0, 1, 0], [0, 0, 1, 1])
    assert loss.item() == pytest.approx(0.05 / 2, abs=1e-6)


@pytest.mark.parametrize("score", [0.4, -1e30, 1e30])
def test_a_group_without_a_negative_costs_nothing(score: float) -> None:
    loss, gradient = hinge(0.5, [0.2, 0.4, score], [1, 0, 1], [0, 0, 1])
    assert loss.item() == pytest.approx(0.35, abs=1e-6)
    assert gradient.tolist() == [-0.5, 0.5, 0.0]


def test_a_group_without_a_right_candidate_costs_nothing() -> None:
    loss, gradient = hinge(0.5, [0.9, 0.8, 0.2, 0.4], [0, 0, 1, 0], [0, 0, 1, 1])
    assert loss.item() == pytest.approx(0.7, abs=1e-6)
    assert gradient.tolist() == [0.0, 0.0, -1.0, 1.0]


def test_each_of_several_right_candidates_is_an_example() -> None:
    loss, _ = hinge(0.5, [0.2, 0.4, 0.8], [1, 0, 1], [0, 0, 0])
    assert loss.item() == pytest.approx((0.7 + 0.1) / 2, abs=1e-6)


@pytest.mark.parametrize(("labels", "groups"), [([1, 0], [0, 1]), ([1, 1], [0, 0]), ([0, 0], [0, 0])])
def test_a_batch_with_nothing_to_compare_is_refused(labels: list[int], groups: list[int]) -> None:
    """dataset/negatives=pool_pairs would otherwise train on a loss of 0 for ever."""
    with pytest.raises(ConfigError, match="dataset/negatives=pool or random"):
        hinge(0.5, [0.2, 0.4], labels, groups)


def test_a_score_that_is_not_a_number_shows_in_the_loss() -> None:
    loss = PairwiseHinge(0.5)(torch.tensor([0.2, torch.nan]), torch.tensor([1, 0]), torch.tensor([0, 0]))
    assert torch.isnan(loss)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_the_hinge_holds_in_every_type(dtype: torch.dtype) -> None:
    scores = torch.tensor([0.25, 0.5, 0.75], dtype=dtype)
    loss = PairwiseHinge(0.5)(scores, torch.tensor([1, 0, 1]), torch.tensor([0, 0, 1]))
    assert loss.dtype == dtype
    assert loss.item() == 0.375


def test_cross_entropy_is_torchs_two_way_softmax() -> None:
    """The score is the difference of two logits: with z0 = 0, z1 is the score."""
    scores, labels = torch.randn(9, generator=torch.Generator().manual_seed(0)) * 5, torch.tensor([1, 0, 0, 1, 1, 0, 0, 0, 1])
    expected = torch.nn.functional.cross_entropy(torch.stack([torch.zeros(9), scores], dim=1), labels)
    torch.testing.assert_close(PointwiseCrossEntropy()(scores, labels, torch.arange(9)), expected)


def test_cross_entropy_is_finite_for_extreme_scores() -> None:
    scores = torch.tensor([200.0, -200.0], requires_grad=True)
    loss = PointwiseCrossEntropy()(scores, torch.tensor([0, 1]), torch.tensor([0, 0]))
    loss.backward()
    assert loss.item() == 200.0
    assert scores.grad is not None
    assert scores.grad.tolist() == [0.5, -0.5]


def test_rows_by_group() -> None:
    lowest = torch.finfo(torch.float32).min
    scores, keep = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([True, False, True, True])
    assert by_group(scores, torch.tensor([0, 1, 1, 1]), keep).tolist() == [[1.0, lowest, lowest], [lowest, 3.0, 4.0]]


def test_losses_of_one_score_and_of_classes_refuse_the_others_scores() -> None:
    labels, groups = torch.tensor([1, 0]), torch.tensor([0, 0])
    for loss in (PairwiseHinge(margin=1.0), PointwiseCrossEntropy()):
        with pytest.raises(
            ConfigError, match=rf"{type(loss).__name__} takes one score of a pair, and this model gives 3.*class_cross_entropy"
        ):
            loss(torch.zeros(2, 3), labels, groups)
    with pytest.raises(ConfigError, match="gives a pair one score"):
        ClassCrossEntropy()(torch.zeros(2), labels, groups)


def test_class_cross_entropy_is_minus_the_log_of_the_class_s_share() -> None:
    scores, labels = torch.tensor([[1.0, 2.0, -1.0], [0.5, 0.0, 0.0]]), torch.tensor([2, 0])
    shares = [
        math.exp(row[label]) / sum(math.exp(each) for each in row) for row, label in zip(scores.tolist(), labels.tolist(), strict=True)
    ]
    expected = -sum(math.log(share) for share in shares) / 2
    assert ClassCrossEntropy()(scores, labels, labels).item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("loss", [PairwiseHinge(margin=0.5), PointwiseCrossEntropy()], ids=lambda loss: type(loss).__name__)
def test_negatives_are_left_out_only_if_the_loss_gives_them_no_gradient(loss: Loss) -> None:
    scores = torch.linspace(0.0, 0.3, 4, requires_grad=True)
    loss(scores, torch.tensor([1, 0, 0, 0]), torch.zeros(4, dtype=torch.int64)).backward()
    assert scores.grad is not None
    assert (type(loss).pairs_to_learn is not Loss.pairs_to_learn) == (scores.grad[1:].count_nonzero() == 1)


def test_the_listwise_softmax_is_the_cross_entropy_of_each_right_candidate_against_the_wrong_ones() -> None:
    """Group 0: −log(e² / (e² + e¹ + e⁰)); group 1 has two right candidates, each alone against one wrong one."""
    leaf = torch.tensor([1.0, 0.5, 0.0, 0.3, 0.1, -0.2], requires_grad=True)
    loss = ListwiseSoftmax(temperature=0.5)(leaf, torch.tensor([1, 0, 0, 1, 1, 0]), torch.tensor([0, 0, 0, 1, 1, 1]))
    first = -math.log(math.exp(2) / (math.exp(2) + math.exp(1) + 1))
    others = [-math.log(math.exp(2 * s) / (math.exp(2 * s) + math.exp(-0.4))) for s in (0.3, 0.1)]
    assert loss.item() == pytest.approx((first + sum(others)) / 3, abs=1e-6)
    loss.backward()
    assert leaf.grad is not None
    assert torch.isfinite(leaf.grad).all()
    assert leaf.grad.sum().item() == pytest.approx(0, abs=1e-6)


def test_in_batch_negatives_are_the_candidates_of_other_examples_but_no_right_one() -> None:
    """Two examples of question 0 and one of question 1: the first two do not take each other's right candidate for wrong."""
    texts = torch.ones(5, 1, dtype=torch.int64)
    batch = RankingBatch(
        questions=texts[:2],
        candidates=texts,
        pair_question=torch.tensor([0, 0, 0, 1, 1]),
        pair_candidate=torch.tensor([0, 1, 2, 3, 4]),
        labels=torch.tensor([1, 0, 1, 1, 0]),
        groups=torch.tensor([0, 0, 1, 2, 2]),
    )
    wide = InfoNCE(temperature=0.1).pairs_to_learn(ANY, batch)
    pairs = list(zip(wide.groups.tolist(), wide.pair_candidate.tolist(), wide.labels.tolist(), strict=True))
    rows = {group: sorted((candidate, label) for g, candidate, label in pairs if g == group) for group in range(3)}
    assert rows == {
        0: [(0, 1), (1, 0), (3, 0), (4, 0)],
        1: [(1, 0), (2, 1), (3, 0), (4, 0)],
        2: [(0, 0), (1, 0), (2, 0), (3, 1), (4, 0)],
    }
    assert wide.pair_question.tolist() == [0] * 8 + [1] * 5


def test_a_question_among_the_candidates_is_no_wrong_one_of_its_own() -> None:
    """Candidates are questions, as on AskUbuntu: the text of question 0 is the wrong candidate of question 1."""
    texts = torch.ones(3, 1, dtype=torch.int64)
    batch = RankingBatch(
        questions=texts[:2],
        candidates=texts,
        pair_question=torch.tensor([0, 1, 1]),
        pair_candidate=torch.tensor([0, 1, 2]),
        labels=torch.tensor([1, 1, 0]),
        groups=torch.tensor([0, 1, 1]),
        question_texts=torch.tensor([5, 6]),
        candidate_texts=torch.tensor([7, 8, 5]),
    )
    wide = InfoNCE(temperature=0.1).pairs_to_learn(ANY, batch)
    assert list(zip(wide.groups.tolist(), wide.pair_candidate.tolist(), strict=True)) == [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]


def test_in_batch_negatives_of_a_batch_without_a_right_candidate_cost_nothing() -> None:
    scores = torch.tensor([0.3, 0.1], requires_grad=True)
    loss = InfoNCE(temperature=0.1)(scores, torch.tensor([0, 0]), torch.tensor([0, 1]))
    loss.backward()
    assert loss.item() == 0
    assert scores.grad is not None
    assert scores.grad.tolist() == [0, 0]


def test_in_batch_negatives_of_a_last_batch_with_a_single_pair_cost_nothing(tmp_path: Path) -> None:
    """With dataset/negatives=pool_pairs, the last batch may have right pairs alone, which had ended the run."""
    for scores, labels, groups in (([0.3], [1], [0]), ([0.3, 0.1, 0.2], [1, 1, 0], [0, 0, 1])):
        assert InfoNCE(temperature=0.1)(torch.tensor(scores), torch.tensor(labels), torch.tensor(groups)).item() == 0
    options = [
        "model=qa_cnn",
        "model.encoder.num_filters=8",
        "loss=info_nce",
        "dataset/negatives=pool_pairs",
        f"cache_dir={tmp_path}",
        *TOY,
    ]
    pairs = len(instantiate(compose(options).dataset).training_batches(0)._groups)
    assert train(compose([*options, f"dataset.batch_size={pairs - 1}"]), tmp_path / "run").status == "finished"
    with pytest.raises(ConfigError, match="there are none; raise it, or choose loss=listwise_softmax"):
        train(compose([*options, "dataset.batch_size=1"]), tmp_path / "alone")


def test_the_margins_of_a_student_are_drawn_to_those_of_its_teacher() -> None:
    """Margins 0.5 and 1.0 of the student, 2 and 6 of the teacher, a tenth of which is 0.2 and 0.6."""
    scores, targets = torch.tensor([1.0, 0.5, 0.0]), torch.tensor([5.0, 3.0, -1.0])
    loss = MarginMSE(teacher="a run", scale=0.1)(scores, torch.tensor([1, 0, 0]), torch.tensor([0, 0, 0]), targets)
    assert loss.item() == pytest.approx((0.3**2 + 0.4**2) / 2, abs=1e-6)


ANY = RandomGuess(vectors=torch.zeros(2, 0), seed=1)

TOY = [f"dataset.reader.num_{split}=4" for split in ("train", "dev", "test")] + ["logger=none", "trainer.max_epochs=1"]


def test_a_student_learns_from_a_run_that_reads_otherwise(tmp_path: Path) -> None:
    """A lexical teacher and a neural student: the batch has the teacher's own scores of the texts as they were written."""
    cfg = compose(["model=word_overlap", *TOY, f"cache_dir={tmp_path / 'cache'}"])
    train(cfg, tmp_path / "teacher")
    teacher, data = qaexp.load(tmp_path / "teacher"), instantiate(cfg.dataset)
    loss = MarginMSE(teacher=str(tmp_path / "teacher"), scale=1.0)
    loss.require_match(ANY, data)
    batch = next(iter(data.training_batches(epoch=0)))
    targets = loss.pairs_to_learn(ANY, batch).targets
    assert targets is not None
    for pair in range(len(batch.labels)):
        question, answer = (
            data.corpus.written(int(texts[rows[pair]]))
            for texts, rows in ((batch.question_texts, batch.pair_question), (batch.candidate_texts, batch.pair_candidate))
        )
        assert targets[pair].item() == pytest.approx(teacher.rank(question, [answer])[0].score, abs=1e-6)
    student = compose(["model=qa_cnn", "model.encoder.num_filters=8", "loss=margin_mse", f"loss.teacher={tmp_path / 'teacher'}", *TOY])
    student.cache_dir = str(tmp_path / "cache")
    assert train(student, tmp_path / "student").status == "finished"


def test_a_teacher_that_predicts_classes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qaexp.training.losses.load", lambda path: SimpleNamespace(classes=("yes", "no")))
    with pytest.raises(ConfigError, match="predicts classes and has no score to learn from"):
        MarginMSE(teacher="a run", scale=1.0).require_match(ANY, instantiate(compose(TOY).dataset))


def test_a_teacher_of_texts_with_fields_is_refused() -> None:
    """It would read both in one text, and rank by each apart."""
    data = instantiate(compose(TOY).dataset)
    data.__dict__["corpus"] = replace(data.corpus, texts=replace(data.corpus.texts, num_fields=2))
    with pytest.raises(ConfigError, match="have fields, which a ranking reads apart"):
        MarginMSE(teacher="a run", scale=1.0).require_match(ANY, data)


def test_distillation_without_a_teacher_says_what_to_name() -> None:
    data = instantiate(compose(TOY).dataset)
    with pytest.raises(ConfigError, match=r"name the run's folder in loss\.teacher"):
        MarginMSE(teacher=None, scale=1.0).require_match(ANY, data)
