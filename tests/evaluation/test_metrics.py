"""The metrics against trec_eval, against rankings worked by hand, and against loops written from each convention's words."""

import math
import pickle
import re
import warnings
from itertools import pairwise

import numpy as np
import pytest
import pytrec_eval
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torchmetrics.retrieval import RetrievalMRR

from qaexp.errors import ConfigError, QaexpError, UnrankableScoresError
from qaexp.evaluation.conventions import CONVENTIONS, METRICS, file_tie_order, find_convention, string_tie_order
from qaexp.evaluation.metrics import RankingMetrics
from qaexp.evaluation.questions import measure_questions, share_tied_at_first_answer
from qaexp.evaluation.ranks import rank_pairs

TREC_NAMES = {"p@1": "P_1", "mrr": "recip_rank", "map": "map", "p@5": "P_5", "ndcg@10": "ndcg_cut_10"}


def random_pools(seed: int, num_questions: int, dtype: torch.dtype, distinct: int):
    """Pools of 1 to 12 candidates, ids of different lengths, tying scores below, at and above 0; some all wrong, some all right."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 13, num_questions)
    questions = np.repeat(np.arange(num_questions), sizes)
    ids = [f"{'aZ_é'[i % 4]}{i}" for size in sizes for i in rng.choice(120, size, replace=False).tolist()]
    scores = torch.tensor(rng.integers(-distinct // 2, distinct // 2 + 1, len(questions)) / 7.0).to(dtype)
    labels = (rng.random(len(questions)) < np.repeat(rng.choice([0.0, 0.1, 0.4, 1.0], num_questions), sizes)).astype(np.int64)
    return questions, ids, scores, labels


def trec_eval(questions, ids, scores, labels):
    qrels, run = {}, {}
    for question, candidate, score, label in zip(questions.tolist(), ids, scores.double().tolist(), labels.tolist(), strict=True):
        qrels.setdefault(f"q{question}", {})[candidate] = label
        run.setdefault(f"q{question}", {})[candidate] = score
    return pytrec_eval.RelevanceEvaluator(qrels, {"map", "recip_rank", "P.1,5", "ndcg_cut.10"}).evaluate(run)


def loop(name, scores, labels):
    """One question, in file order, from the words of docs/concepts.md; None where the question is left out."""
    ranked = [labels[i] > 0 for i in sorted(range(len(scores)), key=lambda i: -scores[i])]  # sorted() is stable
    if name == "lei16" and not any(ranked):
        return None
    seen = ranked[:10] if name == "semeval10" else ranked
    precisions = [sum(ranked[: r + 1]) / (r + 1) for r in range(len(seen)) if seen[r]]
    divisor = len(precisions) if name == "semeval10" else sum(ranked)
    return {
        "p@1": float(ranked[0]),
        "mrr": next((1 / (r + 1) for r in range(len(seen)) if seen[r]), 0.0),
        "map": sum(precisions) / divisor if precisions else 0.0,
        "p@5": sum(ranked[:5]) / (min(5, len(ranked)) if name == "lei16" else 5),
        "ndcg@10": sum(right / math.log2(r + 2) for r, right in enumerate(ranked[:10]))
        / max(sum(1 / math.log2(r + 2) for r in range(min(10, sum(ranked)))), 1e-9),
    }


def metrics_of(name, questions, ids, scores, labels, chunks=1):
    metrics = RankingMetrics(name)
    tie_order = find_convention(name).tie_order(ids)
    for part in np.array_split(np.arange(len(scores)), chunks):
        metrics.update(scores[part], *(torch.as_tensor(values[part]) for values in (labels, questions, tie_order)))
    return metrics


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("distinct", [1, 3, 8, 10_000])
def test_trec_equals_trec_eval(dtype, distinct):
    pools = random_pools(distinct, 600, dtype, distinct)
    metrics, expected = metrics_of("trec", *pools, chunks=3), trec_eval(*pools)
    measured = metrics.per_question()
    assert len(measured["question"]) == len(expected) == 600
    for name, theirs in TREC_NAMES.items():
        values = np.array([expected[f"q{question}"][theirs] for question in measured["question"].tolist()])
        np.testing.assert_allclose(measured[name].numpy(), values, rtol=0, atol=1e-9)
        assert metrics.compute()[name].item() == pytest.approx(values.mean(), abs=1e-9)


def test_doubles_equal_in_float32_tie_as_in_trec_eval():
    questions, ids, labels = np.array([0, 0, 1, 1]), ["a", "b", "a", "b"], np.array([1, 0, 1, 0])
    scores = torch.tensor([1 + 1e-9, 1.0, 1 + 1e-6, 1.0], dtype=torch.float64)
    assert metrics_of("trec", questions, ids, scores, labels).per_question()["mrr"].tolist() == [0.5, 1.0]
    assert [measures["recip_rank"] for measures in trec_eval(questions, ids, scores, labels).values()] == [0.5, 1.0]


@pytest.mark.parametrize("name", ["semeval10", "lei16"])
@pytest.mark.parametrize("distinct", [1, 3, 10_000])
def test_stable_conventions_equal_a_loop_over_questions(name, distinct):
    questions, ids, scores, labels = random_pools(distinct, 400, torch.float32, distinct)
    expected = {q: loop(name, scores[questions == q].tolist(), labels[questions == q].tolist()) for q in range(400)}
    expected = {question: values for question, values in expected.items() if values is not None}
    measured = metrics_of(name, questions, ids, scores, labels, chunks=5).per_question()
    assert measured["question"].tolist() == list(expected)
    assert (len(expected) < 400) == (name == "lei16")
    for metric in METRICS:
        np.testing.assert_allclose(measured[metric].numpy(), [values[metric] for values in expected.values()], rtol=0, atol=1e-12)


HAND_WORKED = {
    # question 0: a9 and a10 tie for first place, a10 is right (and a2 below); question 1: no right candidate
    "trec": {"p@1": [0, 0], "mrr": [1 / 2, 0], "map": [(1 / 2 + 2 / 3) / 2, 0], "p@5": [2 / 5, 0]},  # "a9" > "a10": a9, a10, a2
    "semeval10": {"p@1": [1, 0], "mrr": [1, 0], "map": [(1 + 2 / 3) / 2, 0], "p@5": [2 / 5, 0]},  # as they came: a10, a9, a2
    "lei16": {"p@1": [1], "mrr": [1], "map": [(1 + 2 / 3) / 2], "p@5": [2 / 3]},
}


@pytest.mark.parametrize("name", CONVENTIONS)
def test_hand_worked_ranking(name):
    questions, ids = np.array([0, 0, 0, 1, 1]), ["a10", "a9", "a2", "b", "c"]
    scores, labels = torch.tensor([0.0, -0.0, -1.5, 3.0, -torch.inf]), np.array([1, 0, 1, 0, 0])
    metrics = metrics_of(name, questions, ids, scores, labels)
    measured = metrics.per_question()
    for metric, values in HAND_WORKED[name].items():
        assert measured[metric].tolist() == pytest.approx(values, abs=1e-15)
        assert metrics.compute()[metric].item() == pytest.approx(sum(values) / len(values), abs=1e-15)
    counted = len(HAND_WORKED[name]["mrr"])
    assert [measured[key].tolist() for key in ("question", "candidates", "answers")] == [
        [0, 1][:counted],
        [3, 2][:counted],
        [2, 0][:counted],
    ]
    assert {value.dtype for value in metrics.compute().values()} == {torch.float64}


def test_semeval10_sees_ten_ranks_and_divides_by_what_it_finds_there():
    scores, zeros = torch.arange(12.0).flip(0), torch.zeros(12, dtype=torch.int64)
    last, both = zeros.clone(), zeros.clone()
    last[10], both[[1, 10]] = 1, 1
    for labels, semeval, trec in ((last, (0, 0), (1 / 11, 1 / 11)), (both, (1 / 2, 1 / 2), (1 / 2, (1 / 2 + 2 / 11) / 2))):
        for name, (mrr, average) in (("semeval10", semeval), ("trec", trec)):
            measured = measure_questions(scores, labels, zeros, zeros, CONVENTIONS[name])
            assert (measured["mrr"].item(), measured["map"].item()) == pytest.approx((mrr, average), abs=1e-15)


def test_ties_decide_the_result_of_a_constant_scorer():
    """Right answers first in the file: a stable order makes a constant scorer perfect, trec_eval's order does not."""
    questions, ids = np.repeat(np.arange(50), 4), list("abcd") * 50
    labels, scores = np.tile([1, 0, 0, 0], 50), torch.zeros(200)
    assert metrics_of("semeval10", questions, ids, scores, labels).compute()["p@1"] == 1
    trec = metrics_of("trec", questions, ids, scores, labels)
    assert (trec.compute()["p@1"], trec.compute()["mrr"], trec.share_tied_at_first_answer()) == (0, 0.25, 1)


@pytest.mark.parametrize("name", CONVENTIONS)
def test_result_does_not_depend_on_the_order_of_arrival(name):
    questions, ids, scores, labels = random_pools(3, 200, torch.float32, 3)
    tie_order, shuffled = find_convention(name).tie_order(ids), np.random.default_rng(0).permutation(len(ids))
    expected, metrics = metrics_of(name, questions, ids, scores, labels).per_question(), RankingMetrics(name)
    for part in np.array_split(shuffled, 7):
        metrics.update(scores[part], *(torch.as_tensor(values[part]) for values in (labels, questions, tie_order)))
    assert all(torch.equal(expected[key], values) for key, values in metrics.per_question().items())


def test_two_processes_measure_what_one_would():
    questions, ids, scores, labels = random_pools(5, 100, torch.float32, 3)
    tie_order, whole = string_tie_order(ids), metrics_of("trec", questions, ids, scores, labels)
    parts = [RankingMetrics("trec"), RankingMetrics("trec")]
    for i, part in enumerate(parts):  # every question is split between the two
        part.update(scores[i::2], *(torch.as_tensor(values[i::2].copy()) for values in (labels, questions, tie_order)))
    others = [parts[1].scores[0], parts[1].labels[0], parts[1].questions[0], parts[1].tie_order[0]]
    gathered = iter(others * 3)
    parts[0].dist_sync_fn = lambda state, group=None: [state, next(gathered)]
    parts[0].distributed_available_fn = lambda: True
    assert parts[0].compute() == whole.compute()
    assert torch.equal(parts[0].per_question()["map"], whole.per_question()["map"])
    assert parts[0].share_tied_at_first_answer() == whole.share_tied_at_first_answer()
    assert len(parts[0].scores[0]) == len(others[0]) + len(ids) % 2  # its own pairs again, once measured


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(-2, 2), st.floats(width=32, allow_nan=False), st.integers(0, 3)), min_size=1, max_size=30))
def test_order_is_question_then_score_then_tie_then_arrival(rows):
    questions, scores, ties = (list(column) for column in zip(*rows, strict=True))
    order = rank_pairs(torch.tensor(scores), torch.tensor(questions), torch.tensor(ties)).tolist()
    assert order == sorted(range(len(rows)), key=lambda i: (questions[i], -scores[i], -ties[i], i))


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=4), min_size=1, max_size=20))
def test_string_tie_order_is_that_of_strcmp(ids):
    encoded, order = [candidate.encode() for candidate in ids], string_tie_order(ids).tolist()
    ascending = sorted(range(len(ids)), key=lambda i: encoded[i])
    assert all((order[i] < order[j]) == (encoded[i] < encoded[j]) for i, j in pairwise(ascending))
    assert string_tie_order(np.array(encoded)).tolist() == order


def test_scores_at_or_below_zero_are_ranked_where_torchmetrics_drops_them():
    scores, labels, zeros = torch.tensor([-0.1, -0.2]), torch.tensor([1, 0]), torch.tensor([0, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = RetrievalMRR()
        theirs.update(scores, labels, zeros)
        assert theirs.compute() == 0  # the fault: a right answer ranked first; when this fails, torchmetrics has mended it
    assert measure_questions(scores, labels, zeros, zeros, CONVENTIONS["trec"])["mrr"].item() == 1
    for shift in (-5.0, 0.0, 5.0):
        assert measure_questions(scores + shift, labels, zeros, zeros, CONVENTIONS["trec"])["p@1"].item() == 1


def test_labels_above_zero_are_right_and_sparse_question_numbers_keep_their_order():
    measured = measure_questions(
        torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2, -1, 0]), torch.tensor([2**31 - 1, 7, 7]), torch.zeros(3).long(), CONVENTIONS["trec"]
    )
    assert (measured["question"].tolist(), measured["answers"].tolist(), measured["mrr"].tolist()) == ([7, 2**31 - 1], [0, 1], [0, 1])


def test_share_tied_at_first_answer():
    scores = torch.tensor([1.0, 1.0, 0.5, 2.0, 1.0, 1.0, 3.0, 3.0, -torch.inf, -torch.inf, 2.0, 2.0])
    labels = torch.tensor([1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1, 1])
    questions = torch.tensor([9, 9, 9, 1, 1, 1, 2, 2, 3, 3, 4, 4])
    # 9: tied; 1: the tie is at the second answer; 2: no answer; 3: tied at −inf; 4: only right ones tie
    assert share_tied_at_first_answer(scores, labels, questions).item() == 2 / 4
    assert share_tied_at_first_answer(scores[6:8], labels[6:8], questions[6:8]).item() == 0
    doubles, unanswered = torch.tensor([1 + 1e-9, 1.0], dtype=torch.float64), torch.tensor([2.0, -torch.inf])
    assert share_tied_at_first_answer(doubles, torch.tensor([1, 0]), torch.tensor([0, 0])).item() == 1
    assert share_tied_at_first_answer(unanswered, torch.tensor([1, 0]), torch.tensor([0, 1])).item() == 0


@pytest.mark.parametrize(("name", "remedy"), [("trec_eval", "did you mean trec?"), ("ours", "choose among trec, semeval10, lei16")])
def test_an_unknown_convention_names_the_nearest_or_all(name: str, remedy: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"no scoring convention is called {name!r}; {remedy}")):
        RankingMetrics(name)


def test_unrankable_scores_say_why():
    zeros, empty = torch.zeros(2, dtype=torch.int64), torch.zeros(0, dtype=torch.int64)
    metrics = RankingMetrics("lei16")
    with pytest.raises(QaexpError, match="`update` has not been called"):
        metrics.per_question()
    metrics.update(torch.zeros(0), empty, empty, empty)
    with pytest.raises(UnrankableScoresError, match="no scored pairs"):
        metrics.compute()
    metrics.update(torch.tensor([1.0, 2.0]), zeros, zeros, zeros)
    with pytest.raises(UnrankableScoresError, match="no question has a right candidate"):
        metrics.compute()
    metrics.update(torch.tensor([1.0, torch.nan]), zeros, zeros + 3, zeros)
    with pytest.raises(UnrankableScoresError, match="1 of 4 scores are NaN, the first in question number 3"):
        metrics.compute()
    with pytest.raises(UnrankableScoresError, match="31 bits"):
        rank_pairs(torch.ones(1), torch.tensor([2**31]), torch.zeros(1).long())


def test_reset_forgets_and_pickling_remembers():
    questions, ids, scores, labels = random_pools(1, 20, torch.float32, 3)
    metrics = metrics_of("lei16", questions, ids, scores, labels)
    expected = metrics.compute()
    assert pickle.loads(pickle.dumps(metrics)).compute() == expected
    metrics.reset()
    metrics.update(torch.tensor([1.0]), torch.tensor([1]), torch.tensor([0]), torch.tensor([0]))
    assert {name: value.item() for name, value in metrics.compute().items()} == dict.fromkeys(METRICS, 1.0)


def test_file_tie_order_puts_the_first_pair_first():
    order = torch.as_tensor(file_tie_order(["b", "a", "c"]))
    assert rank_pairs(torch.zeros(3), torch.zeros(3).long(), order).tolist() == [0, 1, 2]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", CONVENTIONS)
def test_gpu_equals_cpu(name):
    questions, ids, scores, labels = random_pools(2, 300, torch.float32, 3)
    tie_order = find_convention(name).tie_order(ids)
    pairs = (scores, torch.as_tensor(labels), torch.as_tensor(questions), torch.as_tensor(tie_order))
    expected = measure_questions(*pairs, CONVENTIONS[name])
    measured = measure_questions(*(tensor.cuda() for tensor in pairs), CONVENTIONS[name])
    assert all(torch.allclose(measured[key].cpu(), values, rtol=0, atol=1e-12) for key, values in expected.items())
