"""The space that a sweep searches, and the strategies that choose cells of it: all of them, random ones, or those that TPE proposes."""

import itertools
import random
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Protocol, runtime_checkable

import optuna
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.trial import Trial, TrialState

from qaexp.config import values_of
from qaexp.errors import ConfigError
from qaexp.limits import NonNegativeInt, PositiveInt, Seed

Cell = Mapping[str, str | int | float]
"""A value on each axis."""


@dataclass(frozen=True)
class Space:
    """Maps each option to its one value, as written, or to the values to search.

    Options of an experiment come first. Those of the command line follow, and replace them or set a part of one.
    """

    options: Mapping[str, str | BaseDistribution]

    @classmethod
    def parse(cls, params: Mapping[str, str], arguments: Sequence[str]) -> "Space":
        """The `params` of an experiment, replaced by the command line's arguments of the same name.

        >>> space = Space.parse({"seed": "range(1,4)", "optimizer.lr": "1e-3,1e-4"}, ["optimizer.lr=0.1", "model=ggsa"])
        >>> space.overrides({"seed": 2}), space.axes["seed"].choices
        (['seed=2', 'optimizer.lr=0.1', 'model=ggsa'], ('1', '2', '3'))
        """
        written = [f"{key}={value}" for key, value in params.items()] + list(arguments)
        options = dict[str, str | BaseDistribution]()
        for each in OverridesParser.create().parse_overrides(written):
            options.pop(key := each.get_key_element(), None)
            options[key] = _axis(each) if each.is_sweep_override() else each.get_value_element_as_str()
        return cls(options)

    @property
    def axes(self) -> dict[str, BaseDistribution]:
        return {key: value for key, value in self.options.items() if not isinstance(value, str)}

    @property
    def size(self) -> int | None:
        """The number of cells; None if an axis is an interval."""
        finite = [axis for axis in self.axes.values() if isinstance(axis, CategoricalDistribution)]
        return prod(len(axis.choices) for axis in finite) if len(finite) == len(self.axes) else None

    def cells(self) -> Iterator[Cell]:
        """Every combination; the last axis varies fastest.

        Raises:
            ConfigError: an axis is an interval.
        """
        for name, axis in self.axes.items():
            if not isinstance(axis, CategoricalDistribution):
                raise ConfigError(f"{name} is an interval, and a grid needs a list of values; or choose hydra/sweeper=random or tpe")
        values = [axis.choices for axis in self.axes.values() if isinstance(axis, CategoricalDistribution)]
        for chosen in itertools.product(*values):
            yield dict(zip(self.axes, map(str, chosen), strict=True))

    def overrides(self, cell: Cell) -> list[str]:
        """The overrides of a cell."""
        return [f"{key}={cell.get(key, value)}" for key, value in self.options.items()]


def _axis(override: Override) -> BaseDistribution:
    """Raises: ConfigError, when there are no values."""
    try:
        return _distribution(override)
    except ValueError as error:
        raise ConfigError(f"{override.input_line}: {error}") from error


def _distribution(override: Override) -> BaseDistribution:
    """What Optuna draws an override from. Values of a list are unordered, since a list may hold names as well as numbers."""
    if override.is_discrete_sweep():
        values = tuple(dict.fromkeys(values_of(override)))
        if not values:
            raise ConfigError(f"{override.input_line}: it has no values")
        return CategoricalDistribution(values)
    interval, name = override.value(), override.get_key_element()
    start, end, log = getattr(interval, "start", None), getattr(interval, "end", None), "log" in getattr(interval, "tags", ())
    if start is None or end is None:
        raise ConfigError(f"{name}: a sweep is a list a,b,c, a range(START,END) or an interval(START,END)")
    if isinstance(start, int) and isinstance(end, int):
        return IntDistribution(start, end, log=log)
    return FloatDistribution(float(start), float(end), log=log)


Batches = Generator[Sequence[Cell], Sequence[float | None], None]
"""Yields batches of cells, and is sent their dev scores: None for a cell without one.

A strategy starts afresh from its seed in each sweep. With the scores of finished runs it proposes the same cells again, and so continues
where an interrupted sweep stopped.
"""

MAX_REPEATED_PROPOSALS = 100
"""After this many, a search over lists takes random cells that have not run yet, and a search over intervals ends."""


@runtime_checkable
class Strategy(Protocol):
    """What `hydra/sweeper=...` chooses."""

    def count(self, space: Space) -> int: ...

    def batches(self, space: Space) -> Batches: ...


class Grid:
    """Every cell."""

    def count(self, space: Space) -> int:
        return sum(1 for _ in space.cells())

    def batches(self, space: Space) -> Batches:
        yield list(space.cells())


class _Search:
    """Distinct cells proposed by an Optuna sampler, `batch` at a time."""

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
    """Random cells without repetition (Bergstra & Bengio 2012)."""

    def sampler(self) -> BaseSampler:
        return RandomSampler(seed=self.seed)


class TPESearch(_Search):
    """Tree-structured Parzen estimator (Bergstra et al. 2011): after `startup` random cells, cells like the best so far.

    While the cells of a batch run, Optuna counts them as bad ("constant liar"), so that they differ from each other.
    """

    def __init__(self, trials: PositiveInt, batch: PositiveInt, seed: Seed, startup: NonNegativeInt) -> None:
        super().__init__(trials, batch, seed)
        self.startup = startup

    def sampler(self) -> BaseSampler:
        return TPESampler(seed=self.seed, n_startup_trials=self.startup, constant_liar=True, multivariate=False)


def _ask(study: optuna.Study, space: Space, seen: dict[tuple, float | None], number: int, seed: int) -> list[Trial]:
    """Cells that have not run yet. A repeated proposal is answered with its known score.

    Axes are sorted by name, so that the order of a command's options does not matter.
    """
    axes = dict(sorted(space.axes.items()))
    batch, names = list[Trial](), set[tuple]()
    for _ in range(number + MAX_REPEATED_PROPOSALS):
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
