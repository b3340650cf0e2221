"""Measures by name: the names, and every family against trec_eval with ties, graded labels and candidates that are not ranked."""

import numpy as np
import pytest
import pytrec_eval
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from qaexp.errors import ConfigError
from qaexp.evaluation.conventions import CONVENTIONS, METRICS
from qaexp.evaluation.measures import FAMILIES, find_measure, heading, is_measure, measure_keys, metric_key
from qaexp.evaluation.metrics import RankingMetrics
from qaexp.evaluation.questions import measure_questions
from qaexp.evaluation.ranks import UNJUDGED

TREC_NAMES = {
    **{f"P@{k}": f"P_{k}" for k in (1, 3, 5, 20)},
    "RR": "recip_rank",
    "AP": "map",
    "AP@3": "map_cut_3",
    "nDCG": "ndcg",
    **{f"nDCG@{k}": f"ndcg_cut_{k}" for k in (1, 5, 10)},
    **{f"R@{k}": f"recall_{k}" for k in (2, 5)},
    **{f"Success@{k}": f"success_{k}" for k in (1, 5)},
    "Rprec": "Rprec",
    "Bpref": "bpref",
}
ASKED = {"P.1,3,5,20", "recip_rank", "map", "map_cut.3", "ndcg", "ndcg_cut.1,5,10", "recall.2,5", "success.1,5", "Rprec", "bpref"}
PAIRS = st.lists(
    st.tuples(
        st.integers(0, 3),  # question
        st.integers(0, 14),  # candidate
        st.sampled_from([-1.5, 0.0, 0.25, 0.5]),  # score
        st.sampled_from([0, 0, 0, 1, 2, 3]),  # label
        st.booleans(),  # whether it is ranked
    ),
    min_size=1,
    max_size=40,
    unique_by=lambda pair: pair[:2],
)


@given(PAIRS)
@settings(max_examples=200, deadline=None)
def test_every_family_equals_trec_eval(pairs) -> None:
    pairs = [(*pair[:4], True) if place == 0 else pair for place, pair in enumerate(sorted(pairs))]
    ranked_questions = {question for question, *_, ranked in pairs if ranked}
    pairs = [pair for pair in pairs if pair[0] in ranked_questions]  # trec_eval leaves the others out
    questions, candidates, scores, labels, ranked = (list(column) for column in zip(*pairs, strict=True))
    qrels, run = {}, {}
    for question, candidate, score, label, is_ranked in pairs:
        qrels.setdefault(str(question), {})[f"c{candidate:02}"] = label
        if is_ranked:
            run.setdefault(str(question), {})[f"c{candidate:02}"] = score
    expected = pytrec_eval.RelevanceEvaluator(qrels, ASKED).evaluate(run)
    measured = measure_questions(
        torch.tensor(scores),
        torch.tensor(labels),
        torch.tensor(questions),
        torch.tensor(candidates),
        CONVENTIONS["trec"],
        list(TREC_NAMES),
        torch.tensor(ranked),
    )
    for name, trec_name in TREC_NAMES.items():
        values = [expected[str(question)][trec_name] for question in measured["question"].tolist()]
        np.testing.assert_allclose(measured[find_measure(name).key].numpy(), values, rtol=0, atol=1e-9, err_msg=name)


def test_a_family_has_a_formula_and_a_name_that_is_found_again() -> None:
    assert [find_measure(f"{family.shown}@3").family for family in FAMILIES.values()] == list(FAMILIES.values())
    assert measure_keys(["P@1", "RR", "AP", "P@5", "nDCG@10"]) == METRICS
    assert [heading(key) for key in METRICS] == ["P@1", "MRR", "MAP", "P@5", "nDCG@10"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nDGC@10", "there is no measure 'nDGC@10'; did you mean nDCG@10"),
        ("P", "the measure P needs a depth of at least 1, as in P@5"),
        ("RR@0", "needs a depth of at least 1"),
        ("P@five", "there is no measure 'P@five'"),
        ("", "there is no measure ''"),
        ("P(rel=)@5", "there is no measure"),
        ("RBP", "there is no measure 'RBP'"),
        ("INST", "there is no measure 'INST'"),
    ],
)
def test_a_name_that_is_no_measure_is_answered_with_the_nearest(name: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says.replace("(", r"\(")):
        find_measure(name)
    assert not is_measure(name)


def test_without_ir_measures_its_names_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ir_measures", None)
    with pytest.raises(ConfigError, match=r"pip install .*'ERR@20'"):
        find_measure("ERR@20")
    assert find_measure("nDCG@20").key == "ndcg@20"


def test_ir_measures_sees_the_order_of_the_convention_and_what_is_not_judged() -> None:
    labels, zeros = torch.tensor([0, 2, UNJUDGED]), torch.zeros(3).long()
    places = {"trec": torch.tensor([0, 1, 2]), "semeval10": torch.tensor([0, -1, -2])}
    for name, order in places.items():  # under trec, the last of equal scores is first
        measured = measure_questions(torch.zeros(3), labels, zeros, order, CONVENTIONS[name], ["Judged@1", "P(rel=2)@2", "P@2"])
        assert measured["Judged@1"].item() == (0.0 if name == "trec" else 1.0)
        assert measured["P(rel=2)@2"].item() == measured["p@2"].item() == 0.5


def test_a_question_whose_labels_are_all_negative_has_nothing_right() -> None:
    labels, questions = torch.tensor([-1, -1, 1, 0]), torch.tensor([0, 0, 1, 1])
    measured = measure_questions(torch.zeros(4), labels, questions, torch.zeros(4).long(), CONVENTIONS["trec"], ["Rprec", "Bpref"])
    assert [measured[name][0].item() for name in ("Rprec", "Bpref")] == [0, 0]


def test_conventions_keep_their_depth_and_divisors_at_any_depth() -> None:
    labels, zeros = torch.tensor([0] * 10 + [1, 1]), torch.zeros(12).long()
    scores = torch.arange(12, 0, -1).float()
    semeval = measure_questions(scores, labels, zeros, zeros, CONVENTIONS["semeval10"], ["RR@20", "AP@20", "R@11"])
    assert {name: semeval[name].item() for name in ("mrr@20", "map@20", "r@11")} == {"mrr@20": 0.0, "map@20": 0.0, "r@11": 0.5}
    early = measure_questions(
        scores, torch.tensor([0] * 6 + [1] + [0] * 5), zeros, zeros, CONVENTIONS["semeval10"], ["RR@5", "AP@5", "RR@10"]
    )
    assert {name: early[name].item() for name in ("mrr@5", "map@5", "mrr@10")} == {"mrr@5": 0.0, "map@5": 0.0, "mrr@10": 1 / 7}
    assert measure_questions(scores, labels, zeros, zeros, CONVENTIONS["trec"], ["RR@11"])["mrr@11"].item() == 1 / 11
    assert measure_questions(scores, labels, zeros, zeros, CONVENTIONS["lei16"], ["P@20"])["p@20"].item() == 2 / 12


def test_graded_labels_weigh_in_ndcg_and_count_as_right_elsewhere() -> None:
    zeros = torch.zeros(3).long()
    metrics = RankingMetrics("trec", ["nDCG@2", "P@1"])
    metrics.update(torch.tensor([3.0, 2.0, 1.0]), torch.tensor([1, 3, 0]), zeros, zeros)
    measured = {name: value.item() for name, value in metrics.compute().items()}
    second = 1 / np.log2(3)
    assert measured == pytest.approx({"ndcg@2": (1 + 3 * second) / (3 + second), "p@1": 1.0})


def test_a_metric_of_a_split_is_read_by_any_of_its_names() -> None:
    assert metric_key("test1/nDCG@3") == "test1/ndcg@3"
    assert metric_key("dev/nonsense") == "dev/nonsense"
    assert is_measure("accuracy")
    assert not is_measure("questions")
