"""The ledger: a small JSON file, committed, for each run that a table shows, with the metrics of each question."""

import hashlib
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from qaexp.config import join_options, split_options
from qaexp.errors import QaexpError, plural
from qaexp.evaluation.measures import metric_key
from qaexp.explain.names import run_in_words
from qaexp.files import RESULTS_REMEDY, atomic_write_text, read_small_text
from qaexp.runs.identity import config_key, key_without_max_epochs, measured_config
from qaexp.runs.other_runs import OTHER_RUNS, other_runs, with_other_runs
from qaexp.runs.record import RunRecord
from qaexp.runs.sources import Sources
from qaexp.runs.table import row_name

PRECISION = 6
"""Decimals of a question's metrics in the ledger."""
PARAMETERS = "parameters"
"""The metric of a column that counts parameters."""
SECONDS = "seconds per"
"""The beginning of the metrics of time: `seconds per batch`, `seconds per epoch`."""


class Key(NamedTuple):
    """The key by which a table's cell finds its run."""

    whole: str
    without_max_epochs: str
    """The same without the limit of epochs."""
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
    """One finished run. Metrics are in [0, 1], times in seconds. It contains no paths."""

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
    """Split to `of` and each metric's values. Older entries lack dev."""
    continued: Sequence[Mapping[str, Any]] = field(default_factory=list)
    """As in its record. Older entries lack it."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Of Python and the libraries. Older entries lack them."""
    matmul: str = ""
    """The float32 matmul backend of the CPU, as in its record. Older entries lack it."""

    @property
    def title(self) -> str:
        """What was run, in words."""
        choices = {name: chosen for name in ("model", "dataset") if (chosen := self.choice(name))}
        return run_in_words({"run_name": self.name, "choices": choices, "seed": self.seed})

    def choice(self, group: str) -> str:
        """The choice of a group; empty if there is none."""
        return dict(option.split("=", 1) for option in self.options if "=" in option).get(group, "")

    @property
    def options(self) -> list[str]:
        """The options of its own command, without its seed and without other runs, which stand in brackets at the end."""
        own, *_ = re.split(rf" (?:{'|'.join(OTHER_RUNS)})=\(", self.command)
        return split_options(own)

    @property
    def command_line(self) -> str:
        """The command to type. FOLDER stands for the folder of another run."""
        return join_options(["qaexp", *self.options, f"seed={self.seed}", *(f"{option}=FOLDER" for option in other_runs(self.config))])

    @property
    def fingerprint(self) -> str:
        return self.data["fingerprint"]

    @property
    def file_key(self) -> str:
        """The end of its file's name, which says which run on which data it is."""
        return f"{self.key}_{self.fingerprint[:8]}"

    def has_read_the_same(self, other: "Entry") -> bool:
        """Whether both runs read the same texts. Word vectors, spellings and pretrained weights are compared where both runs name them."""
        written, weights = self.data.get("written"), self.data.get("weights", {})
        spelled = (lambda: str(written)) if written else None
        ours = Sources(self.fingerprint, self.data.get("vectors", {}).get("files"), spelled, lambda name: str(weights.get(name, "")))
        return ours.match(other.data, {})

    @property
    def machine(self) -> str:
        """Its machine, such as `AMD EPYC, 1 thread`."""
        had = self.hardware
        return had["gpu"] or f"{had['processor']}, {plural(had['threads'], 'thread')}"

    @property
    def commits(self) -> list[str]:
        """The commits of its code: several if it was resumed under another commit."""
        return [self.commit, *(process["commit"] for process in self.continued)]

    @property
    def trained(self) -> bool:
        return self.parameters["trainable"] > 0

    @property
    def random(self) -> bool:
        """Whether a seed makes a difference: weights are trained, scores are drawn, or a model is fitted to pairs that are drawn."""
        return self.trained or not {"seed", "num_pairs"}.isdisjoint(self.config.get("model", {}))

    @property
    def cut_short(self) -> bool:
        """Whether its training ended at the limit of epochs and not by `patience` on dev, so that more epochs might have helped."""
        return bool(self.best_epoch) and len(self.history) - self.best_epoch < self._patience

    @property
    def may_stop(self) -> bool:
        """Whether `patience` could have ended its training before its last epoch."""
        return self._patience < len(self.history)

    @property
    def _patience(self) -> int | float:
        """After how many epochs without a better dev metric its training stops; ∞ if never."""
        if not (callbacks := self.config.get("callbacks")):  # the oldest entries, which have the usual ones
            return self.config.get("patience", 0)
        return min((each["patience"] for each in callbacks.values() if each and "patience" in each), default=math.inf)

    @property
    def key_without_max_epochs(self) -> str:
        return key_without_max_epochs(_with_keys_alone(self.config))

    @property
    def learned(self) -> bool:
        """Whether some epoch's training loss is at least 5% below the first one's."""
        return len(self.losses) < 2 or min(self.losses) < 0.95 * self.losses[0]

    @property
    def losses(self) -> list[float]:
        """Training losses by epoch."""
        return [epoch["train/loss"] for epoch in self.history]

    @property
    def best_on_dev(self) -> float | None:
        """The metric that chose the epoch, at that epoch; None if nothing was trained."""
        chosen = metric_key(self.config.get("dataset", {}).get("selection_metric") or "")
        return max((epoch[chosen] for epoch in self.history), default=None) if chosen else None

    def value(self, metric: str) -> float | None:
        """A column's number: `split/metric`, `parameters`, `seconds per batch` or `seconds per epoch`; None if the run lacks it."""
        if metric == PARAMETERS:
            return float(self.parameters["trainable without word embeddings"])
        if metric == f"{SECONDS} batch":
            return self._stepping / self.steps if self._stepping else None
        if metric == f"{SECONDS} epoch":
            return self._stepping / len(self.history) if self._stepping else None
        split, _, name = metric_key(metric).partition("/")
        return self.metrics.get(split, {}).get(name)

    @property
    def _stepping(self) -> float:
        """Seconds of all training batches; 0 if unknown, as for a run that was slowed down by other processes."""
        return self.seconds.get("steps", 0.0)

    def per_question(self, metric: str) -> PerQuestion | None:
        split, _, name = metric_key(metric).partition("/")
        kept = self.questions.get(split, {})
        return PerQuestion(kept["of"], kept[name]) if name in kept else None


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
        return sorted((_read(path, path.stat().st_mtime_ns) for path in self.folder.glob("*.json")), key=lambda entry: entry.started)

    @cached_property
    def by_key(self) -> Mapping[str, Sequence[Entry]]:
        return _grouped(self.entries, lambda entry: entry.key)

    @cached_property
    def by_key_without_max_epochs(self) -> Mapping[str, Sequence[Entry]]:
        return _grouped(self.entries, lambda entry: entry.key_without_max_epochs)

    @cached_property
    def datasets(self) -> set[str]:
        """The choices of data set that have entries."""
        return {dataset for dataset, _ in self.data}

    @cached_property
    def data(self) -> set[tuple[str, str]]:
        """The choices of data set and word vectors that have entries."""
        return {(entry.choice("dataset"), entry.choice("dataset/vectors")) for entry in self.entries}

    def find(self, key: Key, matches: Callable[[Entry], bool] = _anything) -> Entry | None:
        """The newest entry of a run on data that `matches` accepts.

        Else the newest entry of the same run with another limit of epochs, if `patience` ended it before both limits or nothing is trained.
        """
        return next(filter(matches, self._alike(key)), None)

    def beginning_of(self, key: Key, matches: Callable[[Entry], bool] = _anything) -> Entry | None:
        """The longest entry of the same run that was cut short by a lower limit of epochs."""
        alike = filter(matches, self.by_key_without_max_epochs.get(key.without_max_epochs, ()))
        shorter = [e for e in alike if e.cut_short and len(e.history) < key.max_epochs]
        return max(shorter, key=lambda entry: len(entry.history), default=None)

    def _alike(self, key: Key) -> Iterator[Entry]:
        yield from reversed(self.by_key.get(key.whole, ()))
        others = reversed(self.by_key_without_max_epochs.get(key.without_max_epochs, ()))
        yield from (e for e in others if not e.cut_short and len(e.history) <= key.max_epochs)

    def enter(self, run: Path) -> Entry:
        """Write the entry of a finished run, atomically. Writing it again changes nothing.

        Raises:
            OutputError: the folder cannot be written.
            RecordError: the run's folder has no record that can be read.
        """
        entry = _entry(RunRecord.load(run), run)
        path = self.folder / f"{entry.name.replace('/', '-')[:100]}_{entry.file_key}.json"
        atomic_write_text(path, json.dumps(asdict(entry), separators=(",", ":"), sort_keys=True) + "\n", RESULTS_REMEDY)
        self.reload()
        return entry

    def remove(self, keys: Collection[str]) -> None:
        """Delete the entries with these keys."""
        for path in self.folder.glob("*.json"):
            if _read(path, path.stat().st_mtime_ns).key in keys:
                path.unlink()
        self.reload()

    def reload(self) -> None:
        """Forget the entries read so far: other processes may have written more."""
        for name in vars(self).keys() - {"folder"}:
            del self.__dict__[name]


def _grouped(entries: Iterable[Entry], name: Callable[[Entry], str]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(name(entry), []).append(entry)
    return found


@cache
def _read(path: Path, changed: int) -> Entry:
    """The entry. Parsed once for as long as the file has not changed."""
    try:
        return Entry(**json.loads(read_small_text(path)))
    except (ValueError, TypeError, RecursionError) as error:
        raise QaexpError(
            f"{path}: not an entry of the ledger ({error}); delete it, and the next `make reproduce-...` writes it again"
        ) from error


def key_in_tables(record: RunRecord) -> str:
    """The key by which a table's cell finds a run. A teacher or a pre-training counts by its key, not by the step at which it ended."""
    return config_key(_with_keys_alone(record.config)) if other_runs(record.config) else record.key


def _with_keys_alone(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with only the keys of other runs, without the steps at which they ended."""
    return with_other_runs(config, {option: {"key": run["key"]} for option, run in other_runs(config).items()})


def _entry(record: RunRecord, run: Path) -> Entry:
    config = measured_config(record.config)
    return Entry(
        key=key_in_tables(record),
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
        versions=record.versions,
        matmul=record.matmul,
    )


def _questions(run: Path, split: str) -> dict[str, Any]:
    """The metrics of a split's questions, or whether each pair got its right class."""
    if (path := run / f"{split}.questions.csv").is_file():
        table = pd.read_csv(path, dtype={"question": str}, keep_default_na=False)
        measured = [name for name in table if name not in ("question", "candidates", "answers")]
        return {"of": digest(table["question"].tolist()), **{name: table[name].round(PRECISION).tolist() for name in measured}}
    if (path := run / f"{split}.pairs.csv").is_file():
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        right = (table["class"] == table["predicted"]).astype(int).tolist()
        return {"of": digest(table["pair"].tolist()), "accuracy": right}
    return {}


def digest(names: Sequence[str]) -> str:
    """Digest of the names of questions, in order: equal if metrics are of the same questions."""
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]
