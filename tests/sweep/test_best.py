"""What a sweep chooses: the options that are best over the seeds they were run with."""

from collections.abc import Sequence

import pytest

from qaexp.sweep.best import best_of
from qaexp.sweep.job import JobResult


def jobs(*of: tuple[str, float | None]) -> list[JobResult]:
    return [JobResult(cell, "ran", options.split(), score=score) for cell, (options, score) in enumerate(of)]


def test_the_best_run_is_chosen_with_its_seed_where_there_is_one_seed() -> None:
    best = best_of(jobs(("seed=7 lr=1", 0.5), ("seed=7 lr=2", 0.6), ("seed=7 lr=3", 0.6), ("seed=7 lr=4", None)))
    assert best is not None
    assert (best.options, best.score, [run.cell for run in best.runs]) == (("seed=7", "lr=2"), 0.6, [1])


def test_a_seed_is_no_option_and_the_best_mean_over_seeds_is_chosen() -> None:
    """One lucky seed of the other options has the highest score of all."""
    best = best_of(jobs(("lr=1 seed=1", 0.9), ("lr=1 seed=2", 0.1), ("lr=2 seed=1", 0.6), ("lr=2 seed=2", 0.7)))
    assert best is not None
    assert best.options == ("lr=2",)
    assert best.score == pytest.approx(0.65)
    assert len(best.runs) == 2


@pytest.mark.parametrize("results", [[], jobs(("lr=1", None))])
def test_without_a_score_there_is_no_best(results: Sequence[JobResult]) -> None:
    assert best_of(results) is None
