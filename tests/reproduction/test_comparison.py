"""Rows of a table against one another, by both tests."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from small_table import TABLE, claim_of, over

from qaexp.reproduction.build import Measured
from qaexp.reproduction.comparison import Comparison, comparisons, corrected
from qaexp.reproduction.held import held_against


def test_rows_over_the_same_questions_are_compared(filled: Measured) -> None:
    found = comparisons(filled).set_index("column")
    assert found.loc["MAP", "row"] == "CNN"
    assert found.loc["MAP", "against"] == "CNN, wide"
    assert found.loc["MAP", "difference"] == "-29.5"
    assert found.loc["MAP", "seeds"] == "3; 2"
    assert float(found.loc["MAP", "p (questions)"]) == pytest.approx(2 / 2**8, abs=5e-5)
    of_seeds = stats.ttest_ind([0.51, 0.52, 0.53], [0.81, 0.82], equal_var=False).pvalue
    assert float(found.loc["MAP", "p (seeds)"]) == pytest.approx(of_seeds, abs=5e-5)
    assert float(found.loc["MAP", "p (Holm)"]) == pytest.approx(2 / 2**8, abs=5e-5)  # the larger of the two
    assert found.loc["MAP", "significant"] == "yes"


def test_what_rests_on_one_seed_is_not_decided(filled: Measured) -> None:
    states = {place: replace(state, entries=state.entries[:1]) for place, state in filled.states.items()}
    alone = Measured(TABLE, states)
    line = comparisons(alone).set_index("column").loc["MAP"]
    assert line[["p (questions)", "p (seeds)", "p (Holm)", "significant"]].tolist() == ["0.00781", "", "", "one seed"]
    [claim] = held_against([claim_of("wide is better", "MAP", above="CNN, wide", below="CNN")], [alone]).to_dict("records")
    assert (claim["verdict"], claim["seeds"], claim["p (Holm)"]) == ("undecided", "1; 1", "")


def test_rows_that_share_a_run_make_one_test_with_a_third_that_stands_between_them() -> None:
    """Of a, b and a again: a − b and b − a are one test, and a − a is none."""
    differences = np.array([0.0] + [1.0] * 6)
    of = [Comparison(each, (5, 5), 0.01) for each in (differences, np.zeros(7), -differences)]
    assert corrected(of) == pytest.approx([2 / 2**6, 1.0, 2 / 2**6])


def test_rows_over_other_questions_are_neither_compared_nor_held_against_a_claim(filled: Measured) -> None:
    others = over(filled, "CNN", "others")
    assert comparisons(others).empty
    wide = claim_of("wide is better", "MAP", above="CNN, wide", below="CNN")
    assert held_against([wide], [others])["verdict"].tolist() == ["not measured"]
