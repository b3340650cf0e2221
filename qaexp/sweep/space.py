"""What a sweep ranges over: the options that stay, and the axes along which the others go."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from qaexp.errors import ConfigError

Cell = Mapping[str, str | int | float]
"""A value on each axis."""


@dataclass(frozen=True)
class Space:
    """Each option with its value as it is written or with the values that it may take, in the order in which the last word counts: those
    of an experiment, then those of the command line, which may lie within a value of the experiment's.
    """

    options: Mapping[str, str | BaseDistribution]

    @classmethod
    def parse(cls, params: Mapping[str, str], arguments: Sequence[str]) -> "Space":
        """The `params` of an experiment, of which the arguments of the command line replace those that they name.

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
        """The number of cells; None where an axis is continuous."""
        finite = [axis for axis in self.axes.values() if isinstance(axis, CategoricalDistribution)]
        return prod(len(axis.choices) for axis in finite) if len(finite) == len(self.axes) else None

    def cells(self) -> Iterator[Cell]:
        """Every combination, the last axis fastest.

        Raises:
            ConfigError: an axis is an interval.
        """
        for name, axis in self.axes.items():
            if not isinstance(axis, CategoricalDistribution):
                raise ConfigError(f"{name} is an interval, which has no list of values; write some, or choose hydra/sweeper=random or tpe")
        values = [axis.choices for axis in self.axes.values() if isinstance(axis, CategoricalDistribution)]
        for chosen in itertools.product(*values):
            yield dict(zip(self.axes, map(str, chosen), strict=True))

    def overrides(self, cell: Cell) -> list[str]:
        """The command line of a cell."""
        return [f"{key}={cell.get(key, value)}" for key, value in self.options.items()]


def _axis(override: Override) -> BaseDistribution:
    """Raises: ConfigError, when there is nothing to sweep over."""
    try:
        return _distribution(override)
    except ValueError as error:
        raise ConfigError(f"{override.input_line}: {error}") from error


def _distribution(override: Override) -> BaseDistribution:
    """
    Reading: values of a list are unordered to Optuna, since a list may hold names as well as numbers.
    """
    if override.is_discrete_sweep():
        values = tuple(dict.fromkeys(override.sweep_string_iterator()))
        if not values:
            raise ConfigError(f"{override.input_line}: there is no value in it")
        return CategoricalDistribution(values)
    interval, name = override.value(), override.get_key_element()
    start, end, log = getattr(interval, "start", None), getattr(interval, "end", None), "log" in getattr(interval, "tags", ())
    if start is None or end is None:
        raise ConfigError(f"{name}: a sweep is a list a,b,c, a range(START,END) or an interval(START,END)")
    if isinstance(start, int) and isinstance(end, int):
        return IntDistribution(start, end, log=log)
    return FloatDistribution(float(start), float(end), log=log)
