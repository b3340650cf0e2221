"""Limits of constructor parameters, written as annotations, and the check of a configuration against them.

`hidden_dim: PositiveInt` in a class that a `_target_` names is all that is needed: `model.encoder.hidden_dim=0` is then refused before
anything is built. Any class may use these types, or `Annotated` with the constraints of the package `annotated_types`.
"""

import operator
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from inspect import isclass
from pydoc import ErrorDuringImport, locate
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, GroupedMetadata, Gt, Interval, Le, Lt

PositiveInt = Annotated[int, Ge(1)]
NonNegativeInt = Annotated[int, Ge(0)]
PositiveFloat = Annotated[float, Gt(0)]
NonNegativeFloat = Annotated[float, Ge(0)]
Rate = Annotated[float, Ge(0), Lt(1)]
Fraction = Annotated[float, Gt(0), Le(1)]
Share = Annotated[float, Ge(0), Le(1)]
Seed = Annotated[int, Interval(ge=0, le=2**32 - 1)]

OPTIONS: Mapping[str, Any] = {
    "seed": Seed,
    "patience": PositiveInt,
    "trainer.max_epochs": PositiveInt,
    "trainer.accumulate_grad_batches": PositiveInt,
    "trainer.gradient_clip_val": NonNegativeFloat,
    "optimizer.lr": NonNegativeFloat,
    "optimizer.weight_decay": NonNegativeFloat,
    **dict.fromkeys((f"trainer.limit_{split}_batches" for split in ("train", "val", "test")), PositiveInt | Fraction),
    "trainer.overfit_batches": NonNegativeInt | Share,
}
"""Limits of options that no class of ours takes as a parameter, by full name."""

WHOLE_EPOCHS = (
    "the record would have metrics of an earlier epoch, since a run measures dev after each whole epoch; "
    "leave it out, and set trainer.max_epochs, or trainer.limit_train_batches for shorter epochs"
)
TRAINER_VALUES: Mapping[str, tuple[Sequence[Any], str]] = {
    "precision": (("32-true", "bf16-mixed", "16-mixed"), "must be one of 32-true, bf16-mixed, 16-mixed; the weights stay float32"),
    "num_nodes": ((None, 1), "all processes of a run must be on one machine, as they share its folder; leave it out"),
    "num_sanity_val_steps": ((None, 0, -1), "a part of dev gives no metrics; leave it out, or try all parts of a run with debug=fdr"),
    "logger": ((None, False), "loggers are chosen with logger=NAME, such as logger=csv; leave it out"),
    "reload_dataloaders_every_n_epochs": ((0, 1), "must be 1, or 0 for the same batches in every epoch; else a resumed run differs"),
    **dict.fromkeys(("val_check_interval", "check_val_every_n_epoch", "max_steps", "max_time"), ((None,), WHOLE_EPOCHS)),
}
"""Limits of some options of Lightning's trainer, with reasons: other values would put wrong numbers into a record."""

LARGEST_FLOAT32 = 3.4e38

COMPARISONS = {
    "ge": (operator.ge, "at least"),
    "gt": (operator.gt, "more than"),
    "le": (operator.le, "at most"),
    "lt": (operator.lt, "less than"),
}
"""The comparison and its words, for each attribute of annotated_types' constraints."""


def violations(config: Mapping[Any, Any], prefix: str = "") -> Iterator[str]:
    """A sentence for each value of a resolved configuration that is outside its limits.

    >>> list(violations({"patience": 1.5, "seed": -1}))
    ['patience=1.5: must be a whole number', 'seed=-1: must be at least 0 and at most 4294967295']
    >>> list(violations({"strategy": {"_target_": "qaexp.sweep.strategies.RandomSearch", "trials": 0}}))
    ['strategy.trials=0: must be at least 1']
    >>> list(violations({"deviation": float("inf"), "patience": float("inf")}))
    ['deviation=inf: must be a float32 number, at most 3.4e38', 'patience=inf: must be a whole number']
    """
    limits = parameter_types(str(config.get("_target_", "")))
    for key, value in sorted(config.items(), key=lambda item: isinstance(item[1], Mapping)):  # seed before dataset.seed, which copies it
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from violations(value, f"{name}.")
        elif isinstance(value, Sequence) and any(isinstance(each, Mapping) for each in value):
            for place, each in enumerate(value):
                if isinstance(each, Mapping):
                    yield from violations(each, f"{name}.{place}.")
        elif prefix == "trainer." and key in TRAINER_VALUES and value not in TRAINER_VALUES[key][0]:
            yield f"{name}={value}: {TRAINER_VALUES[key][1]}"
        elif fault := _fault(value, OPTIONS.get(name, limits.get(key))):
            yield f"{name}={value}: {fault}"
        elif isinstance(value, (int, float)) and not abs(value) <= LARGEST_FLOAT32:
            yield f"{name}={value}: must be a float32 number, at most 3.4e38"


def located(target: str) -> Any:
    """The class or function that a `_target_` names; None if there is none.

    Raises:
        KeyboardInterrupt: the user pressed Ctrl-C during the import, which pydoc reports as a fault of the module.
    """
    try:
        return locate(target)
    except ErrorDuringImport as error:
        if isinstance(error.value, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        raise


@cache
def parameter_types(target: str) -> Mapping[str, Any]:
    """The annotations of the class that a `_target_` names, by parameter, with those of base classes; empty if they cannot be read."""
    if not target or target.startswith(("torch.", "pytorch_lightning.")):  # they have no limits, and take seconds to import
        return {}
    built: Any = located(target)
    types = dict[str, Any]()
    for function in [base.__dict__.get("__init__") for base in reversed(built.__mro__)] if isclass(built) else [built]:
        try:
            types |= get_type_hints(function, include_extras=True)
        except (TypeError, NameError):  # no annotations at all, or names that exist for type checkers only
            continue
    return types


def _fault(value: Any, annotation: Any) -> str:
    """Says what a value must be, such as `must be at least 1`. Empty if the value is within its limits or has none.

    >>> [_fault(value, PositiveInt | None) for value in (1, None, 0, 2.5)]
    ['', '', 'must be at least 1', 'must be a whole number']
    >>> _fault("abc", PositiveInt | None)
    'must be a number'
    >>> _fault([3, 0], Sequence[PositiveInt])
    'must be at least 1'
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        faults = [_fault(value, each) for each in arguments if each is not NoneType]
        return "" if "" in faults or value is None else faults[0]
    if origin is Annotated and isinstance(value, str) and arguments[0] in (int, float):
        return "must be a number"
    if origin is Annotated and isinstance(value, (int, float)):
        kind, *constraints = arguments
        flat = [each for one in constraints for each in (one if isinstance(one, GroupedMetadata) else [one])]
        limits = [(name, getattr(each, name)) for each in flat for name in COMPARISONS if hasattr(each, name)]
        if not all(COMPARISONS[name][0](value, limit) for name, limit in limits):
            return f"must be {' and '.join(f'{COMPARISONS[name][1]} {limit}' for name, limit in limits)}"
        return "must be a whole number" if kind is int and isinstance(value, float) else ""
    if isclass(origin) and issubclass(origin, Sequence) and isinstance(value, list):
        return next((fault for each in value if (fault := _fault(each, arguments[0]))), "")
    return ""
