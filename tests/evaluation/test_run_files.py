"""Run files of any system against pytrec_eval's own reading of them, and what is wrong with a file."""

import gzip
import time
from codecs import BOM_UTF8
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval

from qaexp.errors import BadDataError, MissingDataError, QaexpError
from qaexp.evaluation.run_files import CHUNK, Qrels, measure_run

NAMES = {"map": "map", "mrr": "recip_rank", "ndcg@10": "ndcg_cut_10", "p@1": "P_1", "ndcg": "ndcg", "r@5": "recall_5", "Bpref": "bpref"}
ASKED = {"map", "recip_rank", "ndcg_cut.10", "P.1", "ndcg", "recall.5", "bpref"}


def random_files(folder: Path, seed: int, num_questions: int = 30, depth: int = 40) -> tuple[Path, Path]:
    """Runs with ties, graded labels, unjudged candidates, questions of one file alone, and lines in any order."""
    rng = np.random.default_rng(seed)
    judged = [
        f"q{question}\t0\td{candidate} {max(0, rng.integers(-2, 4))}"
        for question in range(num_questions)
        for candidate in rng.choice(90, 25, replace=False).tolist()
    ]
    ranked = [
        f"q{question} Q0 {'é' if rng.integers(0, 8) == 0 else 'd'}{candidate} 1 {rng.integers(-3, 4) / 3} tag"
        for question in range(4, num_questions + 3)
        for candidate in rng.choice(90, rng.integers(1, depth), replace=False).tolist()
    ]
    rng.shuffle(ranked)
    (folder / "all.qrels").write_text("\n".join(judged) + "\n", encoding="utf-8")
    (folder / f"{seed}.run").write_text("\n".join(ranked) + "\n", encoding="utf-8")
    return folder / "all.qrels", folder / f"{seed}.run"


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_run_file_is_measured_as_trec_eval_measures_it(tmp_path: Path, seed: int) -> None:
    qrels, run = random_files(tmp_path, seed)
    with qrels.open(encoding="utf-8") as judged, run.open(encoding="utf-8") as ranked:
        expected = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(judged), ASKED).evaluate(pytrec_eval.parse_run(ranked))
    measured = measure_run(run, Qrels.read(qrels), list(NAMES))
    assert sorted(measured.values.index) == sorted(expected)
    assert (measured.not_judged, measured.not_ranked) == (3, 4)
    for ours, theirs in NAMES.items():
        values = [expected[question][theirs] for question in measured.values.index]
        np.testing.assert_allclose(measured.values[ours], values, rtol=0, atol=1e-9, err_msg=ours)


def test_complete_counts_the_questions_that_a_run_lacks_as_0(tmp_path: Path) -> None:
    qrels, run = random_files(tmp_path, 5)
    some, all_of_them = (measure_run(run, Qrels.read(qrels), ["AP"], complete=complete).values for complete in (False, True))
    assert (len(some), len(all_of_them)) == (26, 30)
    assert np.sum(all_of_them["map"]) == pytest.approx(np.sum(some["map"]))
    assert all_of_them.loc[["q0", "q1", "q2", "q3"], "map"].tolist() == [0.0] * 4


def test_a_packed_file_and_blank_lines_change_nothing(tmp_path: Path) -> None:
    qrels, run = random_files(tmp_path, 6)
    expected = measure_run(run, Qrels.read(qrels), ["AP", "RR"]).values
    with gzip.open(tmp_path / "packed.run.gz", "wb") as file:
        file.write(BOM_UTF8 + run.read_bytes().replace(b"\n", b"\r\n\r\n"))
    assert measure_run(tmp_path / "packed.run.gz", Qrels.read(qrels), ["AP", "RR"]).values.equals(expected)


def test_a_damaged_packed_file_is_named(tmp_path: Path) -> None:
    whole = bytearray(gzip.compress(b"q 0 c 1\n" * 1000))
    whole[12:40] = bytes(28)
    (tmp_path / "damaged.qrels.gz").write_bytes(whole)
    with pytest.raises(BadDataError, match=r"damaged\.qrels\.gz"):
        Qrels.read(tmp_path / "damaged.qrels.gz")


def test_a_file_that_is_read_in_parts_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    qrels, run = random_files(tmp_path, 7)
    expected = measure_run(run, Qrels.read(qrels), ["AP", "nDCG"]).values
    monkeypatch.setattr("qaexp.evaluation.run_files.CHUNK", 200)
    assert CHUNK > 200
    assert measure_run(run, Qrels.read(qrels), ["AP", "nDCG"]).values.equals(expected)


def test_stable_conventions_break_ties_by_the_order_of_lines(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("q 0 a 0\nq 0 b 1\n")
    (tmp_path / "r").write_text("q Q0 a 1 0.5 t\nq Q0 b 2 0.5 t\n")
    for name, value in {"trec": 1.0, "lei16": 0.5}.items():
        assert measure_run(tmp_path / "r", Qrels.read(tmp_path / "q"), ["RR"], name).values["mrr"].item() == value


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("q Q0 a 1 0.5 t\nq Q0 b 2 0.4\n", "line 2: 5 fields, 6 expected: 'q Q0 b 2 0.4'"),
        ("q Q0 a 1 0.5 t u\n", "line 1: 7 fields, 6 expected"),
        ("q Q0 a 1 0.5 t\n\nq Q0 b 2 0.4 t t\nq Q0 c\n", "2 faults\n  line 3: 7 fields.*\n  line 4: 3 fields"),
        ("q Q0 a 1 high t\n", "line 1: 'high' is not a number"),
        ("q Q0 b 1 2 t\nq Q0 a 1 nan t\n", "line 2: 'nan' is not a number"),
        ("q Q0 a 1 0.5 t\nr Q0 a 1 0.5 t\nq Q0 a 2 0.4 t\n", "line 3: candidate a of question q again"),
        ("", "it is empty"),
    ],
)
def test_what_is_wrong_with_a_run_is_said_with_its_line(tmp_path: Path, lines: str, says: str) -> None:
    (tmp_path / "q").write_text("q 0 a 1\n")
    (tmp_path / "r").write_text(lines)
    with pytest.raises(BadDataError, match=says):
        measure_run(tmp_path / "r", Qrels.read(tmp_path / "q"), ["AP"])


def test_what_is_wrong_with_judgements_is_said_with_its_line(tmp_path: Path) -> None:
    for lines, says in (
        ("q 0 a 0.5\n", "line 1: the label is 0.5"),
        ("q 0 a yes\n", "'yes' is not a number"),
        ("q 0 a 1\nq 0 a 0\n", "again"),
    ):
        (tmp_path / "q").write_text(lines)
        with pytest.raises(BadDataError, match=says):
            Qrels.read(tmp_path / "q")
    with pytest.raises(MissingDataError, match="there is no such file"):
        Qrels.read(tmp_path / "none")


def test_a_run_of_other_questions_names_one_of_each(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("q1 0 a 1\n")
    (tmp_path / "r").write_text("Q1 Q0 a 1 0.5 t\n")
    with pytest.raises(QaexpError, match=r"none of the 1 questions.*'q1'.*'Q1'"):
        measure_run(tmp_path / "r", Qrels.read(tmp_path / "q"), ["AP"])


def test_judgements_without_a_right_candidate_leave_nothing_to_average_under_lei16(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("q1 0 a 0\n")
    (tmp_path / "r").write_text("q1 Q0 a 1 0.5 t\n")
    with pytest.raises(QaexpError, match="no right candidate of any question, and the convention lei16"):
        measure_run(tmp_path / "r", Qrels.read(tmp_path / "q"), ["AP"], convention="lei16")


@pytest.mark.slow
def test_a_million_lines_take_seconds(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    with (tmp_path / "r").open("w") as run, (tmp_path / "q").open("w") as qrels:
        for question in range(1000):
            candidates = rng.choice(100_000, 1000, replace=False).tolist()
            run.writelines(f"q{question} Q0 d{name} 1 {-place / 7} t\n" for place, name in enumerate(candidates))
            qrels.writelines(f"q{question} 0 d{name} 1\n" for name in candidates[::100])
    start = time.process_time()
    measured = measure_run(tmp_path / "r", Qrels.read(tmp_path / "q"), ["AP", "RR", "nDCG@10", "P@1"])
    assert time.process_time() - start < 20
    assert measured.values["mrr"].tolist() == [1.0] * 1000


def test_precision_by_the_size_of_a_pool_counts_what_was_ranked(tmp_path: Path) -> None:
    """Under lei16 P@5 of a pool of three is a share of three; a judged candidate that the run lacks is none of them."""
    (tmp_path / "q").write_text("".join(f"1 0 d{place} {int(place == 1)}\n" for place in range(1, 5)))
    (tmp_path / "r").write_text("".join(f"1 Q0 d{place} {place} {-place} tag\n" for place in range(1, 4)))
    values = measure_run(tmp_path / "r", Qrels.read(tmp_path / "q"), ["P@5"], "lei16").values
    assert values["p@5"].tolist() == [1 / 3]
