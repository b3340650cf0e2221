"""What makes two runs the same run: the part of a configuration that says what is measured, and its key."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from qaexp.config import without_keys
from qaexp.runs.other_runs import other_runs, with_other_runs, with_pinned_runs
from qaexp.runs.places import places_of, with_places
from qaexp.runs.renamed import with_short_targets

NOT_IDENTITY = ("data_dir", "cache_dir", "output_dir", "logger", "choices", "labels", "run_name", "print_config")
"""Top-level keys of a configuration that do not change what a run measures."""

OF_SPEED_ALONE = ("matmul", "profiler")
"""Trainer options that change only the speed and the last digits."""

ONLY_WATCH = (
    *("BestCheckpoint", "ModelCheckpoint", "RunBar", "RichProgressBar", "TQDMProgressBar"),
    *("RichModelSummary", "ModelSummary", "LearningRateMonitor", "DeviceStatsMonitor"),
)
"""Callbacks that do not change what a run measures."""

LATER_OPTIONS: Mapping[str, Any] = {"measures": [], "train_fraction": 1.0, "drop_unknown": False}
"""Data set options that older records lack, each with the value that leaves a run as it was before."""

WITHOUT_LIMIT = ("", "ConstantLR", "InverseEpoch")
"""Schedules whose learning rates do not depend on the number of epochs."""

QUICK_LOOKS = ("fast_dev_run", "overfit_batches", "limit_val_batches", "limit_test_batches")
"""Options of the trainer with which a run measures a part of dev or test."""


def measured_options(options: Iterable[str]) -> list[str]:
    """The options that change what a run measures."""
    return without_keys(options, NOT_IDENTITY)


def config_key(config: dict[str, Any]) -> str:
    """The key of a run. Runs with equal keys measure the same; folders, machines and loggers do not count."""
    return _digest(measured_config(config))


def is_same(config: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two configurations measure the same. Folders, labels and references to other runs are ignored."""
    known = [with_other_runs(each, dict.fromkeys(other_runs(each))) for each in (config, other)]
    ours, theirs = ({name: each[name] for name in each if name not in (*NOT_IDENTITY, "init_from")} for each in known)
    return _digest(with_places(ours, places_of(config))) == _digest(with_places(theirs, places_of(other)))


def key_without_max_epochs(placeless: Mapping[str, Any]) -> str:
    """The key of a run without `max_epochs`. Two runs that share it differ only in length.

    `placeless` is a `measured_config`. If its schedule's learning rates depend on the limit from the first step on, the limit stays in the
    key.
    """
    schedule = str((placeless.get("schedule") or {}).get("_target_", "")).rpartition(".")[2]
    if schedule not in WITHOUT_LIMIT:
        return _digest(placeless)
    return _digest({**placeless, "trainer": {**placeless.get("trainer", {}), "max_epochs": None}})


def _digest(identity: Mapping[str, Any]) -> str:
    """Sixteen hexadecimal digits. Classes count by name, not by module, so that moving a class changes no key."""
    named = with_short_targets(identity)
    if isinstance(trainer := named.get("trainer"), dict):
        named["trainer"] = {name: value for name, value in trainer.items() if name not in OF_SPEED_ALONE}
    if counting := _callbacks_that_count(named):
        named["callbacks"] = counting
    else:
        named.pop("callbacks", None)  # as in older records, which lack this option
    if isinstance(dataset := named.get("dataset"), dict):
        named["dataset"] = {name: value for name, value in dataset.items() if name not in LATER_OPTIONS or value != LATER_OPTIONS[name]}
    if not _leaves_word_vectors_out(named):
        named.pop("decay_word_vectors", None)  # older records lack this option; their weight decay is on all parameters
    return hashlib.sha256(json.dumps(named, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _leaves_word_vectors_out(config: Mapping[str, Any]) -> bool:
    """Whether `decay_word_vectors=false` makes a difference: there is weight decay, and word vectors are tuned."""
    decay, tuned = ((config.get(part) or {}) for part in ("optimizer", "model"))
    return bool(config.get("decay_word_vectors") is False and decay.get("weight_decay") and (tuned.get("embedding") or {}).get("tuned"))


def _callbacks_that_count(config: Mapping[str, Any]) -> dict[str, Any]:
    """The callbacks that change the result: all except the default early stopping and those that only watch."""
    given: Mapping[str, Any] | None = config.get("callbacks")
    if not given:
        return {}
    usual = {"_target_": "StopEarly", "monitor": config["dataset"].get("selection_metric"), "mode": "max", "patience": config["patience"]}
    counting = {name: each for name, each in given.items() if each and each.get("_target_") not in ONLY_WATCH and each != usual}
    return counting if usual in given.values() else {**counting, "early_stopping": counting.get("early_stopping")}


def quick_look(config: Mapping[str, Any]) -> str:
    """The options that make a configuration a quick look, which no table takes; empty if there are none.

    >>> quick_look({"choices": {"debug": "fdr"}}), quick_look({"trainer": {"limit_val_batches": 2}}), quick_look({"trainer": {}})
    ('debug=fdr', 'trainer.limit_val_batches=2', '')
    """
    if choice := config.get("choices", {}).get("debug"):
        return f"debug={choice}"
    trainer = config.get("trainer") or {}
    return " ".join(f"trainer.{name}={trainer[name]}" for name in QUICK_LOOKS if trainer.get(name))


def measured_config(config: dict[str, Any]) -> dict[str, Any]:
    """The part of a configuration that says what is measured, with `data_dir` and `cache_dir` in place of folders.

    Other runs are identified by key and step, not by path.
    """
    pinned = other_runs(with_pinned_runs(config))
    named = {option: {name: run[name] for name in ("key", "step") if name in run} for option, run in pinned.items()}
    identity = {name: value for name, value in with_other_runs(config, named).items() if name not in NOT_IDENTITY}
    if "init_from" not in named:
        identity.pop("init_from", None)
    if looked := quick_look(config):
        identity["debug"] = looked
    identity["dataset"] = {name: value for name, value in config["dataset"].items() if name != "expected"}  # a check, no setting
    return with_places(identity, places_of(config))
