"""The ledger: what is committed of every run that a table shows, one small JSON file a run, with the metrics of each question."""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from qaexp.config import split_options
from qaexp.errors import QaexpError
from qaexp.evaluation.conventions import METRICS
from qaexp.files import RESULTS_REMEDY, atomic_write_text
from qaexp.runs.record import RunRecord, config_key, is_over, key_without_max_epochs, measured_config
from qaexp.runs.table import row_name

PRECISION = 6
"""Decimals that are kept of a question's metrics."""
PARAMETERS = "parameters"
"""What a column of their number is called in a table's file."""
SECONDS = "seconds per"
"""What such a column's name begins with, where it is of times: `seconds per batch`, `seconds per epoch`."""


class Key(NamedTuple):
    """What a cell of a table knows a run by."""

    whole: str
    endless: str
    """But for the limit of epochs."""
    max_epochs: int

    @classmethod
    def of(cls, config: dict[str, Any]) -> "Key":
        return cls(config_key(config), key_without_max_epochs(measured_config(config)), config["trainer"]["max_epochs"])


@dataclass(frozen=True)
class PerQuestion:
    """A metric of each question of a split, in the order of the split; `of` is the digest of the questions' names."""

    of: str
    values: Sequence[float]


@dataclass(frozen=True)
class Entry:
    """One finished run. Metrics are in [0, 1], times in seconds; nothing in it names a place on a disk."""

    key: str
    name: str
    seed: int
    command: str
    started: str
    commit: str
    hardware: Mapping[str, Any]
    data: Mapping[str, Any]
    convention: str
    parameters: Mapping[str, int]
    history: Sequence[Mapping[str, Any]]
    best_epoch: int | None
    seconds: Mapping[str, float]
    steps: int
    metrics: Mapping[str, Mapping[str, float]]
    config: Mapping[str, Any]
    questions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Split to `of` and each metric's values; older entries have none of dev."""
    continued: Sequence[Mapping[str, Any]] = field(default_factory=list)
    """As in its record; older entries have none."""

    @property
    def fingerprint(self) -> str:
        return self.data["fingerprint"]

    def over_the_same(self, other: "Entry") -> bool:
        """Whether it is over the texts of another run and, as far as is known of both, over word vectors of the same files."""
        return is_over(other.data, self.fingerprint, self.data.get("vectors", {}).get("files"))

    @property
    def machine(self) -> str:
        """What it ran on, such as `AMD EPYC, 1 thread`."""
        had = self.hardware
        return had["gpu"] or f"{had['processor']}, {had['threads']} thread{'s' if had['threads'] > 1 else ''}"

    @property
    def commits(self) -> list[str]:
        """Those of its code: several where it was resumed under another."""
        return [self.commit, *(process["commit"] for process in self.continued)]

    @property
    def trained(self) -> bool:
        return self.parameters["trainable"] > 0

    @property
    def random(self) -> bool:
        """Whether a seed makes a difference."""
        return self.trained or "seed" in self.config.get("model", {})

    @property
    def cut_short(self) -> bool:
        """Whether the limit of epochs has ended its training, and not `patience` on dev: with more epochs it might have become better."""
        return bool(self.best_epoch) and len(self.history) - self.best_epoch < self.config.get("patience", 0)

    @property
    def endless(self) -> str:
        """Its key but for the limit of epochs."""
        return key_without_max_epochs(_begun_anywhere(self.config))

    @property
    def learned(self) -> bool:
        """False where no epoch's training loss was a twentieth below the first one's: such a run stands where it began."""
        return len(self.losses) < 2 or min(self.losses) < 0.95 * self.losses[0]

    @property
    def losses(self) -> list[float]:
        """Of training, by epoch."""
        return [epoch["train/loss"] for epoch in self.history]

    @property
    def best_on_dev(self) -> float | None:
        """The metric that chose the epoch, at that epoch; None where nothing was trained."""
        chosen = self.config.get("dataset", {}).get("selection_metric")
        return max((epoch[chosen] for epoch in self.history), default=None) if chosen else None

    def value(self, metric: str) -> float | None:
        """A column's number: `split/metric`, `parameters`, `seconds per batch` or `seconds per epoch`; None where the run has none."""
        if metric == PARAMETERS:
            return float(self.parameters["trainable without word embeddings"])
        if metric == f"{SECONDS} batch":
            return self._stepping / self.steps if self._stepping else None
        if metric == f"{SECONDS} epoch":
            return self._stepping / len(self.history) if self._stepping else None
        split, _, name = metric.partition("/")
        return self.metrics.get(split, {}).get(name)

    @property
    def _stepping(self) -> float:
        """Seconds of all training batches; 0 where they are not known, as of a run whose process was held up by others."""
        return self.seconds.get("steps", 0.0)

    def per_question(self, metric: str) -> PerQuestion | None:
        split, _, name = metric.partition("/")
        kept = self.questions.get(split, {})
        return PerQuestion(kept["of"], kept[name]) if name in kept else None


Over = Callable[[Entry], bool]
"""Whether a run is over the data that are meant."""


def _anything(entry: Entry) -> bool:
    return True


@dataclass(frozen=True)
class Ledger:
    """The entries below a folder."""

    folder: Path

    @cached_property
    def entries(self) -> Sequence[Entry]:
        """All entries, oldest first.

        Raises:
            QaexpError: a file is damaged.
        """
        return sorted((_read(path) for path in self.folder.glob("*.json")), key=lambda entry: entry.started)

    @cached_property
    def by_key(self) -> Mapping[str, Sequence[Entry]]:
        return _grouped(self.entries, lambda entry: entry.key)

    @cached_property
    def by_endless_key(self) -> Mapping[str, Sequence[Entry]]:
        return _grouped(self.entries, lambda entry: entry.endless)

    @cached_property
    def datasets(self) -> set[str]:
        """The choices of data set that there are entries of."""
        return {dataset for dataset, _ in self.data}

    @cached_property
    def data(self) -> set[tuple[str, str]]:
        """The choices of data set and word vectors that there are entries of."""
        return {dataset_and_vectors(split_options(entry.command)) for entry in self.entries}

    def find(self, key: Key, over: Over = _anything) -> Entry | None:
        """The newest entry of a run that is `over` the data meant; else of the same run under another limit of epochs, where patience
        ended it before either or nothing is trained.
        """
        return next(filter(over, self._alike(key)), None)

    def beginning_of(self, key: Key, over: Over = _anything) -> Entry | None:
        """The longest entry of the same run that a lower limit of epochs has cut short."""
        alike = filter(over, self.by_endless_key.get(key.endless, ()))
        shorter = [e for e in alike if e.cut_short and len(e.history) < key.max_epochs]
        return max(shorter, key=lambda entry: len(entry.history), default=None)

    def _alike(self, key: Key) -> Iterator[Entry]:
        yield from reversed(self.by_key.get(key.whole, ()))
        others = reversed(self.by_endless_key.get(key.endless, ()))
        yield from (e for e in others if not e.cut_short and len(e.history) <= key.max_epochs)

    def enter(self, run: Path) -> Entry:
        """Write the entry of a finished run, whole or not at all. Writing it again changes nothing.

        Raises:
            OutputError: the folder cannot be written.
        """
        entry = _entry(RunRecord.load(run), run)
        path = self.folder / f"{entry.name}_{entry.key}_{entry.fingerprint[:8]}.json"
        atomic_write_text(path, json.dumps(asdict(entry), separators=(",", ":"), sort_keys=True) + "\n", RESULTS_REMEDY)
        self.read_anew()
        return entry

    def remove(self, keys: Collection[str]) -> None:
        """Delete the entries with these keys."""
        for path in self.folder.glob("*.json"):
            if _read(path).key in keys:
                path.unlink()
        self.read_anew()

    def read_anew(self) -> None:
        """Forget what was read: other processes may have entered runs since."""
        for kept in ("entries", "by_key", "by_endless_key", "datasets", "data"):
            self.__dict__.pop(kept, None)


def _grouped(entries: Iterable[Entry], name: Callable[[Entry], str]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(name(entry), []).append(entry)
    return found


def dataset_and_vectors(overrides: Sequence[str]) -> tuple[str, str]:
    """
    >>> dataset_and_vectors(["dataset=wikiqa", "model=ctrn"]), dataset_and_vectors(["dataset/vectors=glove300", "dataset=wikiqa"])
    (('wikiqa', ''), ('wikiqa', 'glove300'))
    """
    return _chosen(overrides, "dataset"), _chosen(overrides, "dataset/vectors")


def _chosen(overrides: Sequence[str], group: str) -> str:
    return {name: value for name, _, value in (override.partition("=") for override in overrides)}.get(group, "")


def _read(path: Path) -> Entry:
    try:
        return Entry(**json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise QaexpError(
            f"{path}: not an entry of the ledger ({error}); delete it, and the next `make reproduce-...` writes it again"
        ) from error


def _key(record: RunRecord) -> str:
    """The key that a table's cell knows a run by."""
    return config_key(_begun_anywhere(record.config)) if record.config.get("init_from") else record.key


def _begun_anywhere(config: Mapping[str, Any]) -> dict[str, Any]:
    """Of the run that it began with, which run that is, and not at which step it ended."""
    begun = config.get("init_from")
    return {**config, "init_from": {"key": begun["key"]}} if begun else dict(config)


def _entry(record: RunRecord, run: Path) -> Entry:
    config = measured_config(record.config)
    return Entry(
        key=_key(record),
        name=record.config["run_name"],
        seed=record.seed,
        command=row_name(record),
        started=record.started,
        commit=record.commit,
        hardware=record.hardware,
        data={**record.data, "vectors": {**record.data["vectors"], "source": record.vectors}},
        convention=record.convention,
        parameters=record.parameters,
        history=record.history,
        best_epoch=record.best_epoch,
        seconds=record.seconds,
        steps=record.steps,
        metrics=record.metrics,
        config=config,
        questions={split: found for split in record.metrics if (found := _questions(run, split))},
        continued=record.continued,
    )


def _questions(run: Path, split: str) -> dict[str, Any]:
    """The metrics of a split's questions, or, of a split of classes, whether each pair was classed right."""
    if (path := run / f"{split}.questions.csv").is_file():
        table = pd.read_csv(path, dtype={"question": str}, keep_default_na=False)
        return {"of": digest(table["question"].tolist()), **{name: table[name].round(PRECISION).tolist() for name in METRICS}}
    if (path := run / f"{split}.pairs.csv").is_file():
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        right = (table["class"] == table["predicted"]).astype(int).tolist()
        return {"of": digest(table["pair"].tolist()), "accuracy": right}
    return {}


def digest(names: Sequence[str]) -> str:
    """Of the names of questions, in order: equal where metrics are of the same ones."""
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]
