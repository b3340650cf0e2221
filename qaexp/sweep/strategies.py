"""Which cells of a space are run, and in what order: all of them, random ones, or those that TPE asks for.

Each strategy is a generator that yields batches of cells and is sent their dev scores. It starts afresh from its seed at every
invocation: with the scores of runs that are kept it asks for the same cells again, and so goes on where it was stopped.
"""

import random
from collections.abc import Generator, Sequence
from typing import Protocol, runtime_checkable

import optuna
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.trial import Trial, TrialState

from qaexp.limits import NonNegativeInt, PositiveInt, Seed
from qaexp.sweep.space import Cell, Space

Batches = Generator[Sequence[Cell], Sequence[float | None], None]
"""Yields cells; is sent the dev score of each, None where there is none."""

PATIENCE = 100
"""So many repeated cells, and a search over lists takes cells at random that were not run yet; another one ends."""


@runtime_checkable
class Strategy(Protocol):
    """Chosen in YAML (`hydra/sweeper=...`)."""

    def count(self, space: Space) -> int: ...

    def batches(self, space: Space) -> Batches: ...


class Grid:
    """Every cell."""

    def count(self, space: Space) -> int:
        return sum(1 for _ in space.cells())

    def batches(self, space: Space) -> Batches:
        yield list(space.cells())


class _Search:
    """Distinct cells that an Optuna sampler asks for, `batch` at a time."""

    def __init__(self, trials: PositiveInt, batch: PositiveInt, seed: Seed) -> None:
        self.trials, self.batch, self.seed = trials, batch, seed

    def sampler(self) -> BaseSampler:
        raise NotImplementedError

    def count(self, space: Space) -> int:
        return min(self.trials, space.size or self.trials)

    def batches(self, space: Space) -> Batches:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(direction="maximize", sampler=self.sampler())
        seen: dict[tuple, float | None] = {}
        wanted = self.count(space)
        while len(seen) < wanted:
            batch = _ask(study, space, seen, min(self.batch, wanted - len(seen)), self.seed)
            if not batch:
                return
            scores = yield [trial.params for trial in batch]
            for trial, score in zip(batch, scores, strict=True):
                seen[_name(trial.params)] = score
                _tell(study, trial, score)


class RandomSearch(_Search):
    """Cells drawn at random (Bergstra & Bengio 2012), all at once, none of them twice."""

    def sampler(self) -> BaseSampler:
        return RandomSampler(seed=self.seed)


class TPESearch(_Search):
    """Tree-structured Parzen estimator (Bergstra et al. 2011): after `startup` random cells, those like the best so far.

    Cells of one batch do not know of each other's scores; Optuna takes them for bad ones while they run, so that they differ.
    """

    def __init__(self, trials: PositiveInt, batch: PositiveInt, seed: Seed, startup: NonNegativeInt) -> None:
        super().__init__(trials, batch, seed)
        self.startup = startup

    def sampler(self) -> BaseSampler:
        return TPESampler(seed=self.seed, n_startup_trials=self.startup, constant_liar=True, multivariate=False)


def _ask(study: optuna.Study, space: Space, seen: dict[tuple, float | None], number: int, seed: int) -> list[Trial]:
    """Cells that were not run yet. One that was is told its score again, and another is asked for.

    Axes are asked for by name, so that a command draws the same cells in whatever order it gives its options.
    """
    axes = dict(sorted(space.axes.items()))
    batch, names = list[Trial](), set[tuple]()
    for _ in range(number + PATIENCE):
        if len(batch) == number:
            return batch
        trial = study.ask(axes)
        name = _name(trial.params)
        if name in seen or name in names:
            _tell(study, trial, seen.get(name))
        else:
            names.add(name)
            batch.append(trial)
    if space.size is None:
        return batch
    left = [cell for cell in space.cells() if (name := _name(cell)) not in seen and name not in names]
    for cell in random.Random(f"{seed} {len(seen)}").sample(sorted(left, key=_name), min(len(left), number - len(batch))):
        study.enqueue_trial(dict(cell))
        batch.append(study.ask(axes))
    return batch


def _tell(study: optuna.Study, trial: Trial, score: float | None) -> None:
    study.tell(trial, score, state=TrialState.FAIL if score is None else TrialState.COMPLETE)


def _name(cell: Cell) -> tuple:
    return tuple(sorted(cell.items()))
