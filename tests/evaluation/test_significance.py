"""Intervals, verdicts, the randomisation test and Holm's correction, against scipy's and worked by hand."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from qaexp.evaluation.significance import Interval, detectable, holm, paired_randomisation, verdict, welch, welch_error


def test_the_interval_is_that_of_scipys_t() -> None:
    values = [70.1, 71.3, 69.8, 70.6, 70.2]
    ours = Interval.of(values, random=True)
    low, high = stats.t.interval(0.95, df=4, loc=np.mean(values), scale=stats.sem(values))
    assert (ours.mean - ours.half, ours.mean + ours.half) == pytest.approx((low, high))


def test_one_seed_has_no_interval_but_a_deterministic_value_is_exact() -> None:
    assert math.isnan(Interval.of([70.1], random=True).half)
    assert Interval.of([70.1], random=False) == Interval(70.1, 0.0)


@pytest.mark.parametrize("printed", [69.0, 69.99, 70.4, 70.8, 71.5, 72.0])
def test_the_verdict_agrees_with_scipys_one_sample_test(printed: float) -> None:
    values = [70.1, 71.3, 69.8, 70.6, 70.2]
    p = float(stats.ttest_1samp(values, printed).pvalue)  # type: ignore[attr-defined]
    expected = "reproduced" if p > 0.05 else "above" if np.mean(values) > printed else "below"
    assert verdict(Interval.of(values, random=True), printed, unit=1e-9) == expected


def test_the_papers_rounding_is_allowed_for() -> None:
    exact = Interval(52.04, 0.0)
    assert verdict(exact, 52.0, unit=0.1) == "reproduced"
    assert verdict(exact, 52.0, unit=0.01) == "above"
    assert verdict(Interval(68.15, 0.0), 68.1, unit=0.1) == "reproduced"  # though 68.15 - 68.1 > 0.05
    assert verdict(Interval(0.7049, math.nan), 0.7, unit=0.1) == "not comparable: one seed"


def test_the_randomisation_test_agrees_with_scipys() -> None:
    rng = np.random.default_rng(5)
    ours, theirs = rng.random(60), rng.random(60) - 0.12
    reference = stats.permutation_test(
        (ours, theirs), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=9_999, rng=np.random.default_rng(1)
    )
    p = paired_randomisation(ours - theirs)
    assert p == pytest.approx(reference.pvalue, abs=0.01)
    assert 0.0001 < p < 0.2


@pytest.mark.parametrize("parts", [1, 5, 15, 60, None])
def test_the_randomisation_test_agrees_with_all_signs_tried(parts: int | None) -> None:
    rng = np.random.default_rng(parts or 0)
    for _ in range(5):
        differences = rng.integers(-parts, parts + 1, 14) / parts if parts else rng.normal(size=14)
        sums = np.array(list(product([1, -1], repeat=14))) @ differences
        counted = float(np.mean(np.abs(sums) >= abs(differences.sum()) - 1e-9))
        assert paired_randomisation(differences) == pytest.approx(counted, rel=1e-6)


def test_sums_that_are_equal_but_for_six_decimals_tie() -> None:
    sizes = np.array([1, 2, 3, 62, 63, 64, 66, 67, 126, 126])  # of 67ths, which no common number of parts up to 60 makes whole
    signed = np.where(np.arange(10) % 3 == 0, -sizes, sizes)
    sums = np.array(list(product([1, -1], repeat=10))) @ sizes
    expected = float(np.mean(np.abs(sums) >= abs(signed.sum())))
    assert paired_randomisation(np.round(signed / 67, 6)) == pytest.approx(expected)
    assert np.mean(np.abs(sums) == abs(signed.sum())) > 2 / 1024, "there are ties"


@pytest.mark.parametrize("shift", [0.0, 0.05, 0.1, 0.15])
def test_p_of_many_questions_is_nearly_that_of_all_signs(shift: float) -> None:
    """Differences of reciprocal ranks over three seeds, 22 questions: four million sums."""
    rng = np.random.default_rng(3)
    differences = np.mean(1 / rng.integers(1, 11, (3, 22)) - 1 / rng.integers(1, 11, (3, 22)), axis=0) + shift
    sums = np.zeros(1)
    for each in differences:
        sums = np.concatenate([sums + each, sums - each])
    counted = float(np.mean(np.abs(sums) >= abs(differences.sum())))
    assert counted > 1e-6
    assert paired_randomisation(differences) == pytest.approx(counted, rel=0.05 if counted > 1e-4 else 0.1)


@pytest.mark.parametrize("num_large", [4, 5, 6])
def test_p_is_nearly_that_of_all_signs_if_few_questions_have_most_of_the_difference(num_large: int) -> None:
    rng = np.random.default_rng(num_large)
    differences = np.concatenate([rng.uniform(0.2, 0.6, num_large), rng.normal(0, 1e-3, 22 - num_large)])
    sums = np.zeros(1)
    for each in differences:
        sums = np.concatenate([sums + each, sums - each])
    assert paired_randomisation(differences) == pytest.approx(float(np.mean(np.abs(sums) >= abs(differences.sum()))), rel=0.15)


@pytest.mark.parametrize("num_questions", [300, 3_000, 30_000])
@pytest.mark.parametrize("z", [0.5, 2.0, 4.0])
def test_p_of_very_many_questions_is_that_of_a_normal_sum(num_questions: int, z: float) -> None:
    rng = np.random.default_rng(7)
    sizes = 0.1 + 0.01 * rng.random(num_questions)  # nearly of one size, and of no common part
    differences = sizes * rng.choice([-1.0, 1.0], num_questions)
    differences += (z * np.sqrt(sizes @ sizes) - differences.sum()) / num_questions
    z_of_these = differences.sum() / np.sqrt(differences @ differences)
    assert paired_randomisation(differences) == pytest.approx(2 * stats.norm.sf(z_of_these), rel=0.1)


@pytest.mark.parametrize("num_questions", [10, 20, 21, 35])
def test_if_all_differences_have_one_sign_two_choices_of_signs_reach_their_sum(num_questions: int) -> None:
    differences = np.random.default_rng(num_questions).random(num_questions) + 0.01
    assert paired_randomisation(differences) == pytest.approx(2 * 0.5**num_questions)


def test_small_differences_count_and_rounding_errors_do_not() -> None:
    assert paired_randomisation(np.full(12, 3e-5)) == pytest.approx(2 * 0.5**12)
    assert paired_randomisation(np.array([0.31] * 30 + [-2e-7])) == pytest.approx(2 * 0.5**30)


def test_the_randomisation_test_gives_smaller_p_than_sampling_can() -> None:
    """Of 200 questions 135 go one way: 2 · P(binomial ≥ 135), six in ten million."""
    differences = np.where(np.arange(200) < 135, 1.0, -1.0)
    assert paired_randomisation(differences) == pytest.approx(2 * stats.binom.sf(134, 200, 0.5), rel=1e-6)


def test_equal_systems_have_p_one() -> None:
    assert paired_randomisation(np.zeros(30)) == 1.0
    assert paired_randomisation(np.array([1.0, -1.0])) == 1.0


def test_welchs_p_is_scipys() -> None:
    ours, theirs = [0.39, 0.41, 0.40, 0.43], [0.35, 0.38, 0.36]
    assert welch(ours, theirs, (True, True)) == pytest.approx(stats.ttest_ind(ours, theirs, equal_var=False).pvalue)
    assert welch(ours, [0.38], (True, False)) == pytest.approx(stats.ttest_1samp(ours, 0.38).pvalue)


def test_welch_needs_two_seeds_unless_a_side_is_deterministic() -> None:
    assert welch([0.39, 0.41], [0.35], (True, True)) is None
    assert welch([0.39], [0.35], (False, False)) == 0.0
    assert welch([0.39], [0.39], (False, False)) == 1.0
    assert welch([0.4, 0.4], [0.3, 0.31], (True, True)) == pytest.approx(stats.ttest_1samp([0.3, 0.31], 0.4).pvalue)
    assert welch([0.4, 0.4], [0.3, 0.3], (True, True)) is None, "agreeing seeds do not say how much another would change"


@pytest.mark.parametrize(("num_ours", "num_theirs"), [(5, 5), (20, 5)])
def test_a_detectable_difference_is_found_four_times_in_five(num_ours: int, num_theirs: int) -> None:
    """Of samples with known deviations, 1 and 2."""
    ours, theirs = ([-1.0, 1.0] * (num // 2) + [0.0] * (num % 2) for num in (num_ours, num_theirs))
    ours, theirs = [value / np.std(ours, ddof=1) for value in ours], [2 * value / np.std(theirs, ddof=1) for value in theirs]
    error, freedom = welch_error(ours, theirs, (True, True))
    assert error == pytest.approx((1 / num_ours + 4 / num_theirs) ** 0.5)
    rng = np.random.default_rng(0)
    samples = rng.normal(detectable(error, freedom), 1.0, (20_000, num_ours)), rng.normal(0.0, 2.0, (20_000, num_theirs))
    found = stats.ttest_ind(*samples, axis=1, equal_var=False).pvalue < 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("level", [0.01, 0.05, 0.2])
def test_holm_rejects_what_stepping_down_rejects(level: float) -> None:
    ps = (0.1 * np.random.default_rng(4).random(12) ** 3).tolist()
    rejected = set[int]()
    for steps, i in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):  # the least p first, held against level / what is left
        if ps[i] > level / (len(ps) - steps):
            break
        rejected.add(i)
    assert {i for i, p in enumerate(holm(ps)) if p <= level} == rejected
    assert 0 < len(rejected) <= 12


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
