"""Limits of values: annotations of constructors, the user's own among them, and options that no class takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from annotated_types import Ge, Gt, Interval, Le, Lt

from qaexp.config import compose
from qaexp.errors import ConfigError
from qaexp.limits import NonNegativeInt, PositiveFloat, PositiveInt, Rate, Seed, located, violations
from qaexp.mistakes import check_value


class Base:
    def __init__(self, hidden_dim: PositiveInt, **options: Any) -> None: ...


class Own(Base):
    def __init__(
        self,
        dropout_rate: Rate,
        widths: Sequence[PositiveInt] = (),
        window: Annotated[int, Interval(ge=1, lt=8)] | None = None,
        temperature: Annotated[float, Gt(0), Le(2)] = 1.0,
        name: str = "",
        free: int = 0,
        **options: Any,
    ) -> None: ...


@dataclass
class Reader:
    num_train: NonNegativeInt
    generator_seed: Seed


def build(scale: PositiveFloat, share: Annotated[float, Ge(0), Lt(1)]) -> None: ...


def sentences(target: Any, **options: Any) -> list[str]:
    return list(violations({"part": {"_target_": f"{__name__}.{target.__name__}", **options}}))


@pytest.mark.parametrize(
    ("target", "options", "expected"),
    [
        (Own, {"dropout_rate": 1.0}, ["part.dropout_rate=1.0: must be at least 0 and less than 1"]),
        (Own, {"dropout_rate": 0, "hidden_dim": 0}, ["part.hidden_dim=0: must be at least 1"]),
        (Own, {"hidden_dim": 2.5}, ["part.hidden_dim=2.5: must be a whole number"]),
        (Own, {"widths": [3, 0]}, ["part.widths=[3, 0]: must be at least 1"]),
        (Own, {"window": None, "free": -1, "name": "x", "other": -1}, []),
        (Own, {"window": 8}, ["part.window=8: must be at least 1 and less than 8"]),
        (Own, {"temperature": 3}, ["part.temperature=3: must be more than 0 and at most 2"]),
        (Reader, {"num_train": -1, "generator_seed": 2**32}, [
            "part.num_train=-1: must be at least 0",
            f"part.generator_seed={2**32}: must be at least 0 and at most {2**32 - 1}",
        ]),
        (build, {"scale": 0, "share": 0.5}, ["part.scale=0: must be more than 0"]),
    ],
)  # fmt: skip
def test_a_value_outside_its_annotation_is_named(target: Any, options: dict[str, Any], expected: list[str]) -> None:
    assert sentences(target, **options) == expected


def test_nodes_in_lists_are_checked_too() -> None:
    assert list(violations({"all": [{"_target_": f"{__name__}.Own", "hidden_dim": 0}, 1]})) == ["all.0.hidden_dim=0: must be at least 1"]


def test_a_value_of_a_sweep_is_checked_by_its_class() -> None:
    usual = compose(["model=qa_lstm"])
    check_value("model.encoder.hidden_dim", "8", 8, usual)
    with pytest.raises(ConfigError, match=r"^model\.encoder\.hidden_dim=0: must be at least 1$"):
        check_value("model.encoder.hidden_dim", "0", 0, usual)


@pytest.mark.parametrize("name", ["val_check_interval", "check_val_every_n_epoch", "num_sanity_val_steps", "max_steps"])
def test_a_trainer_that_measures_in_the_middle_of_an_epoch_is_refused(name: str) -> None:
    assert len(list(violations({"trainer": {name: 1}}))) == 1
    assert not list(violations({"trainer": {name: None}}))
    assert not list(violations({"own": {name: 1}}))


def test_ctrl_c_while_a_class_is_imported_stays_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It had been reported as a mistake in the command."""
    (tmp_path / "interrupted_import.py").write_text("raise KeyboardInterrupt\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        located("interrupted_import.Model")
