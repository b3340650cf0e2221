"""The exported files, read back by pytrec_eval's own parsers, hold the same scores and give the same metrics."""

import math
import time

import numpy as np
import pytest
import pytrec_eval
import torch

from qaexp.errors import BadDataError, OutputError, UnrankableScoresError
from qaexp.evaluation.conventions import file_tie_order, string_tie_order
from qaexp.evaluation.metrics import RankingMetrics
from qaexp.evaluation.trec_files import write_qrels, write_run


def by_id(candidates):
    return torch.as_tensor(string_tie_order(candidates))


def random_split(seed, num_questions, distinct):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 12, num_questions)
    numbers = np.repeat(np.arange(num_questions), sizes)
    candidates = [f"é{i}" if i % 9 == 0 else f"a{i}" for size in sizes for i in rng.choice(200, size, replace=False).tolist()]
    scores = torch.tensor(rng.normal(size=distinct)[rng.integers(0, distinct, len(numbers))])
    return numbers, [f"q{n}" for n in numbers.tolist()], candidates, scores, torch.tensor(rng.integers(0, 2, len(numbers)))


@pytest.mark.parametrize("distinct", [2, 100_000])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_exported_files_give_our_metrics(tmp_path, distinct, dtype):
    numbers, questions, candidates, scores, labels = random_split(distinct, 300, distinct)
    scores, tie_order = scores.to(dtype), by_id(candidates)
    shuffled = torch.randperm(len(scores), generator=torch.Generator().manual_seed(0))
    pairs = [questions[i] for i in shuffled], [candidates[i] for i in shuffled], scores[shuffled]
    write_run(tmp_path / "run.txt", "ggsa-1", *pairs, tie_order[shuffled])
    write_qrels(tmp_path / "qrels.txt", questions, candidates, labels)
    with (tmp_path / "run.txt").open(encoding="utf-8") as run, (tmp_path / "qrels.txt").open(encoding="utf-8") as qrels:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(qrels), {"map", "recip_rank", "P.1,5", "ndcg_cut.10"})
        expected = evaluator.evaluate(pytrec_eval.parse_run(run))
    metrics = RankingMetrics("trec")
    metrics.update(scores, labels, torch.as_tensor(numbers), tie_order)
    measured = metrics.per_question()
    assert len(expected) == 300
    for ours, theirs in {"p@1": "P_1", "mrr": "recip_rank", "map": "map", "p@5": "P_5", "ndcg@10": "ndcg_cut_10"}.items():
        values = [expected[f"q{number}"][theirs] for number in measured["question"].tolist()]
        np.testing.assert_allclose(measured[ours].numpy(), values, rtol=0, atol=1e-9)


def test_scores_read_back_as_the_same_float32(tmp_path):
    bits = np.random.default_rng(0).integers(-(2**31), 2**31, 20_000).astype(np.int32)
    scores = bits.view(np.float32)
    scores = np.concatenate([scores[~np.isnan(scores)], np.float32([0.0, 1e-45, math.inf, -math.inf, 3.4028235e38, 1 / 3])])
    candidates = [f"c{i}" for i in range(len(scores))]
    write_run(tmp_path / "run.txt", "t", ["q"] * len(scores), candidates, torch.tensor(scores), by_id(candidates))
    read = pytrec_eval.parse_run((tmp_path / "run.txt").read_text().splitlines())["q"]
    assert np.array_equal(np.float32([read[candidate] for candidate in candidates]), scores)


def test_lines_are_in_rank_order(tmp_path):
    questions, candidates = ["q2", "q1", "q2", "q2"], ["a10", "x", "a9", "b"]
    scores, labels = torch.tensor([0.5, -1.0, 0.5, 2.0]), torch.tensor([1, 0, 0, 0])
    write_run(tmp_path / "run.txt", "t", questions, candidates, scores, by_id(candidates))
    assert (tmp_path / "run.txt").read_text() == "q2 Q0 b 1 2 t\nq2 Q0 a9 2 0.5 t\nq2 Q0 a10 3 0.5 t\nq1 Q0 x 1 -1 t\n"
    write_run(tmp_path / "run.txt", "t", questions, candidates, scores, torch.as_tensor(file_tie_order(candidates)))
    assert (tmp_path / "run.txt").read_text() == "q2 Q0 b 1 2 t\nq2 Q0 a10 2 0.5 t\nq2 Q0 a9 3 0.5 t\nq1 Q0 x 1 -1 t\n"
    write_qrels(tmp_path / "qrels.txt", questions, candidates, labels)
    assert (tmp_path / "qrels.txt").read_text() == "q2 0 a10 1\nq1 0 x 0\nq2 0 a9 0\nq2 0 b 0\n"


def test_ids_that_a_line_cannot_hold_are_refused_and_nothing_is_written(tmp_path):
    path, one = tmp_path / "run.txt", torch.ones(2)
    for tag, questions, candidates, fault in (
        ("my run", ["q", "q"], ["a", "b"], "tag 'my run'"),
        ("t", ["q 1", "q 1"], ["a", "b"], "question id 'q 1'"),
        ("t", ["q", "q"], ["a\tb", ""], "2 faults\n  candidate id 'a.*\n  candidate id ''"),
        ("t", ["q", "q"], ["a", "a"], "question q: candidate a again"),
    ):
        with pytest.raises(BadDataError, match=fault):
            write_run(path, tag, questions, candidates, one, by_id(candidates))
    with pytest.raises(BadDataError, match="candidate a again"):
        write_qrels(path, ["q", "q"], ["a", "a"], torch.tensor([1, 0]))
    with pytest.raises(UnrankableScoresError, match="NaN"):
        write_run(path, "t", ["q", "q"], ["a", "b"], one * torch.nan, by_id(["a", "b"]))
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "qrels.txt"
    write_qrels(path, ["q"], ["a"], torch.tensor([1]))
    with pytest.raises(ValueError, match="longer"):
        write_qrels(path, ["q"], ["a"], torch.tensor([1, 0]))
    assert path.read_text() == "q 0 a 1\n"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(OutputError, match="cannot write"):
        write_qrels(path / "below" / "a.txt", ["q"], ["a"], torch.tensor([1]))


def test_nine_hundred_thousand_lines_take_seconds(tmp_path):
    questions = [f"q{i // 500}" for i in range(900_000)]
    candidates = [f"{(i * 7919) % 24_989}" for i in range(900_000)]
    scores = torch.rand(900_000, generator=torch.Generator().manual_seed(0))
    start = time.perf_counter()
    write_run(tmp_path / "run.txt", "t", questions, candidates, scores, by_id(candidates))
    assert time.perf_counter() - start < 20  # about 2 when the machine is free
    assert (tmp_path / "run.txt").read_bytes().count(b"\n") == 900_000
