"""Comparisons against scipy's numbers, and the refusal to compare what was measured differently."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from qaexp.api import compare, train
from qaexp.errors import ConfigError, MissingDataError, RecordError
from qaexp.evaluation.significance import holm, paired_randomisation
from qaexp.runs.comparison import compare_runs

TOY = [*(f"dataset.reader.num_{split}=4" for split in ("train", "dev", "test")), "logger=none"]


def write_system(path: Path, seed: int, num_questions: int = 40, skip: int = 0) -> Path:
    rng = np.random.default_rng(seed)
    lines = [f"q{q} Q0 d{c} 1 {rng.random()} t" for q in range(skip, num_questions) for c in range(8)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    (tmp_path / "q").write_text("".join(f"q{q} 0 d{c} {int(c == q % 8)}\n" for q in range(40) for c in range(8)))
    return tmp_path / "q", write_system(tmp_path / "a.run", 1), write_system(tmp_path / "b.run", 2)


def reciprocal_ranks(run: Path) -> np.ndarray:
    scores: dict[str, dict[str, float]] = {}
    for line in run.read_text().splitlines():
        question, _, candidate, _, score, _ = line.split()
        scores.setdefault(question, {})[candidate] = float(score)
    return np.array([1 / (1 + sum(s > of[f"d{int(q[1:]) % 8}"] for s in of.values())) for q, of in scores.items()])


def test_a_row_has_the_numbers_of_scipy(files: tuple[Path, Path, Path]) -> None:
    qrels, one, other = files
    ours, theirs = reciprocal_ranks(one), reciprocal_ranks(other)
    reference = stats.ttest_rel(ours, theirs)
    interval = reference.confidence_interval(0.95)  # type: ignore[attr-defined]
    [by_t] = compare_runs([one, other], qrels, ["RR"], test="t").to_dict("records")
    expected = {
        "difference": (ours - theirs).mean(),
        "low": interval.low,
        "high": interval.high,
        "d": (ours - theirs).mean() / (ours - theirs).std(ddof=1),
        "p": reference.pvalue,  # type: ignore[attr-defined]
    }
    assert {name: by_t[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    signs = np.sign(ours - theirs).tolist()
    assert [by_t["better"], by_t["equal"], by_t["worse"]] == [signs.count(sign) for sign in (1, 0, -1)]
    [by_signs] = compare_runs([one, other], qrels, ["RR"]).to_dict("records")
    assert by_signs["p"] == pytest.approx(paired_randomisation(ours - theirs))


def test_holm_counts_every_row(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    qrels, one, other = files
    table = compare_runs([one, other, write_system(tmp_path / "c.run", 3)], qrels, ["RR", "P@1"])
    assert list(zip(table["first"].str[-5:], table["second"].str[-5:], strict=True))[:3] == [
        ("a.run", "b.run"),
        ("a.run", "c.run"),
        ("b.run", "c.run"),
    ]
    assert list(table["measure"]) == ["MRR"] * 3 + ["P@1"] * 3
    assert list(table["p (Holm)"]) == holm(table["p"].tolist())


def test_a_system_is_equal_to_itself(files: tuple[Path, Path, Path]) -> None:
    qrels, one, _ = files
    for test in ("t", "randomisation"):
        [row] = compare_runs([one, one], qrels, ["AP"], test=test).to_dict("records")
        assert (row["difference"], row["d"], row["p"], row["equal"]) == (0.0, 0.0, 1.0, 40)


def test_other_questions_are_refused_unless_missing_ones_count(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    qrels, one, _ = files
    fewer = write_system(tmp_path / "fewer.run", 2, skip=5)
    with pytest.raises(ConfigError, match="do not rank the same questions: 5 are in one of them alone"):
        compare_runs([one, fewer], qrels)
    [row] = compare_runs([one, fewer], qrels, ["RR"], complete=True).to_dict("records")
    assert row["second mean"] == pytest.approx(reciprocal_ranks(fewer).sum() / 40)


def test_what_cannot_be_compared_is_said(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    qrels, one, other = files
    with pytest.raises(ConfigError, match="two runs or more"):
        compare_runs([one], qrels)
    with pytest.raises(ConfigError, match="--qrels FILE"):
        compare_runs([one, other])
    with pytest.raises(ConfigError, match="no test 'wilcoxon'"):
        compare_runs([one, other], qrels, test="wilcoxon")
    (tmp_path / "empty").mkdir()
    with pytest.raises(MissingDataError, match=r"test\.run does not exist; name a run's folder that is finished"):
        compare_runs([tmp_path / "empty", one], qrels)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"convention": "lei16"}, "under the convention trec, .* under lei16"),
        ({"data": {"fingerprint": "f" * 64}}, "of different data .fingerprints 00000000 and ffffffff"),
    ],
)
def test_folders_that_were_measured_differently_are_refused(
    files: tuple[Path, Path, Path], tmp_path: Path, change: dict[str, object], says: str
) -> None:
    qrels, *runs = files
    for name, run, facts in (("one", runs[0], {}), ("other", runs[1], change)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "test.run").write_bytes(run.read_bytes())
        (tmp_path / name / "test.qrels").write_bytes(qrels.read_bytes())
        (tmp_path / name / "evaluation.json").write_text(json.dumps({"convention": "trec", "data": {"fingerprint": "0" * 64}, **facts}))
    folders = [tmp_path / "one", tmp_path / "other"]
    with pytest.raises(ConfigError, match=says):
        compare_runs(folders, measures=["RR"])
    by_files = compare_runs(runs, qrels, ["RR"]).drop(columns=["first", "second"])
    assert compare_runs(folders, qrels, ["RR"]).drop(columns=["first", "second"]).equals(by_files)
    assert compare_runs([folders[0], folders[0]], measures=["RR"])["difference"].item() == 0
    with pytest.raises(MissingDataError, match="--split dev: choose among test"):
        compare_runs(folders, split="dev")


def test_a_ranking_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    """Its missing pairs had counted as ranked last."""
    runs = [train(["model=word_overlap", *TOY], runs=tmp_path / name) for name in ("one", "other")]
    path = runs[0].folder / "test.run"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:4]))
    with pytest.raises(RecordError, match=r"test\.run lacks \d+ of the pairs in test\.qrels, so it was cut off; delete the run's folder"):
        compare(*runs)


def test_one_question_tells_nothing_and_takes_no_part_in_the_correction(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("q0 0 d0 1\nq0 0 d1 0\n")
    for name, score in (("a", 0.1), ("b", 0.9)):
        (tmp_path / name).write_text(f"q0 Q0 d0 1 {score} t\nq0 Q0 d1 2 0.5 t\n")
    [row] = compare_runs([tmp_path / "a", tmp_path / "b"], tmp_path / "q", "RR", test="t").to_dict("records")
    assert math.isnan(row["p"])
    assert math.isnan(row["p (Holm)"])
    assert holm([0.01, math.nan, 0.03]) == pytest.approx([0.02, math.nan, 0.03], nan_ok=True)
    with pytest.raises(ConfigError, match="a comparison needs a measure, such as AP"):
        compare_runs([tmp_path / "a", tmp_path / "b"], tmp_path / "q", [])
