"""Intervals, verdicts, the randomisation test and Holm's correction, against scipy's and worked by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from qaexp.tables.significance import Interval, holm, paired_randomisation, verdict


def test_the_interval_is_that_of_scipys_t() -> None:
    values = [70.1, 71.3, 69.8, 70.6, 70.2]
    ours = Interval.of(values, random=True)
    low, high = stats.t.interval(0.95, df=4, loc=np.mean(values), scale=stats.sem(values))
    assert (ours.mean - ours.half, ours.mean + ours.half) == pytest.approx((low, high))


def test_one_seed_has_no_interval_but_what_no_seed_changes_is_exact() -> None:
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
    assert verdict(Interval(0.7049, math.nan), 0.7, unit=0.1) == "not comparable: one seed"


def test_the_randomisation_test_agrees_with_scipys() -> None:
    rng = np.random.default_rng(5)
    ours, theirs = rng.random(60), rng.random(60) - 0.12
    reference = stats.permutation_test(
        (ours, theirs), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=9_999, rng=np.random.default_rng(1)
    )
    [p] = paired_randomisation((ours - theirs)[:, None])
    assert p == pytest.approx(reference.pvalue, abs=0.01)
    assert 0.0001 < p < 0.2


def test_equal_systems_are_never_told_apart() -> None:
    assert paired_randomisation(np.zeros((30, 1))).tolist() == [1.0]


def test_few_questions_are_counted_exactly() -> None:
    """All four differences are positive: 2 of the 16 signs reach the sum, so p is about 1/8."""
    [p] = paired_randomisation(np.full((4, 1), 0.5))
    assert p == pytest.approx(2 / 16, abs=0.01)


def test_holm_by_hand_and_against_step_down_rejection() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
