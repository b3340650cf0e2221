"""The record of one run: everything needed to trust its numbers and to repeat them, in one JSON file."""

import json
import logging
import re
import reprlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from qaexp.config import program_of
from qaexp.ddp import is_rank_zero
from qaexp.errors import ConfigError, OutputError, PrunedError, QaexpError, RecordError
from qaexp.evaluation.measures import metric_key
from qaexp.files import atomic_write_text, nested_values, read_small_text
from qaexp.runs.folder import RECORD, example_below
from qaexp.runs.identity import config_key, is_same, quick_look
from qaexp.runs.places import places_of, with_places
from qaexp.runs.provenance import git_commit, hardware, versions
from qaexp.runs.renamed import with_current_targets
from qaexp.runs.sources import Sources, is_same_revision

log = logging.getLogger(__name__)

SCHEMA = 1
NAME = r"[^/\\\0]{0,100}"
"""The form of keys, fingerprints and names of splits (such as `held out`). Files are named by them, so they have no path separator."""


@dataclass
class RunRecord:
    """One run. `status` is running, finished, failed, interrupted or pruned; metrics are in [0, 1], times in seconds."""

    key: str
    config: dict[str, Any]
    seed: int
    command: str
    status: str = "running"
    error: str | None = None
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    commit: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    hardware: dict[str, Any] = field(default_factory=dict)
    matmul: str = ""
    """The float32 backend of the CPU in the last process of the run: mkl or onednn. Empty in records made before it was noted."""
    processes: int = 1
    """How many processes trained the run (`trainer=ddp`). With dropout, another number changes the result as another seed does."""
    continued: list[dict[str, Any]] = field(default_factory=list)
    """Commit, versions, hardware and first epoch of each process that resumed the run, if they differ from the process before."""
    data: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, int] = field(default_factory=dict)
    convention: str = ""
    history: list[dict[str, int | float]] = field(default_factory=list)
    """Steps taken, loss and dev metrics at the end of each epoch."""
    best_epoch: int | None = None
    steps: int = 0
    """Training batches of whole epochs. `seconds["steps"]` is the time spent in them, without loading, dev metrics and checkpoints."""
    seconds: dict[str, float] = field(default_factory=dict)
    metrics: dict[str, dict[str, int | float]] = field(default_factory=dict)
    """Split to metric to value, with the number of questions and pairs and the share of questions tied at the first answer."""
    debug: str = ""
    """Why the run is a quick look, such as `debug=fdr`, which no table takes; empty for others."""
    schema: int = SCHEMA
    _watches: dict[str, Callable[[], float]] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Functions that give the seconds so far of the stages in progress."""

    @property
    def selection_metric(self) -> str:
        """The dev metric that chooses the epoch, such as `dev/map`; empty if the data set names none."""
        return metric_key(self.config["dataset"].get("selection_metric") or "")

    @property
    def best_on_dev(self) -> float | None:
        """The highest `selection_metric` over the epochs, or that of dev if nothing is trained in epochs; None before it is measured."""
        if self.history:
            return float(max(epoch[self.selection_metric] for epoch in self.history))
        return float(self.metrics["dev"][self.selection_metric.partition("/")[2]]) if "dev" in self.metrics else None

    @classmethod
    def begin(cls, config: dict[str, Any], command: str) -> "RunRecord":
        key, debug = config_key(config), quick_look(config)
        return cls(key=key, config=config, seed=config["seed"], command=command, debug=debug, **_this_process())

    @classmethod
    def resumed(cls, folder: Path) -> "RunRecord":
        """The record of a run that this process continues. Warns if the code or the libraries have changed since.

        Raises:
            RecordError: as `load`.
        """
        record, now = cls.load(folder), _this_process()
        before = record.continued[-1] if record.continued else record.__dict__
        if any(before[name] != value for name, value in now.items()):
            record.continued.append({"from_epoch": len(record.history) + 1, **now})
        was, is_now = ({"commit": process["commit"], **process["versions"]} for process in (before, now))
        if told := [f"{name} {was.get(name, '')} before, {value} now" for name, value in is_now.items() if was.get(name, "") != value]:
            log.warning("%s continues with other code than before: %s (`continued` in its %s)", folder, "; ".join(told), RECORD)
        return record

    @classmethod
    def load(cls, folder: Path) -> "RunRecord":
        """Raises: RecordError, if the file does not exist or is not a record."""
        path = folder / RECORD
        try:
            content = json.loads(read_small_text(path))
            deque(nested_values(content), maxlen=0)  # for its limits
            _require_kinds(content)
            return cls(**{**content, "config": with_current_targets(content.get("config"))})
        except (FileNotFoundError, NotADirectoryError) as error:
            raise RecordError(f"{folder} has no {RECORD}, so it is not a run's folder; name one{example_below(folder, RECORD)}") from error
        except OSError as error:
            raise RecordError(f"{path}: {error.strerror}") from error
        except (ValueError, TypeError, RecursionError) as error:  # ValueError: not UTF-8, or not JSON
            raise RecordError(f"{path} is not a run's record ({error}); delete its folder, then repeat the command that made it") from error

    @classmethod
    def of(cls, folder: Path) -> "RunRecord | None":
        """The folder's record; None without one that can be read."""
        try:
            return cls.load(folder)
        except RecordError:
            return None

    @classmethod
    def with_status(cls, folder: Path, *statuses: str) -> "RunRecord | None":
        """The folder's record if it has one of these statuses; None otherwise, also without a record."""
        record = cls.of(folder)
        return record if record and record.status in statuses else None

    @property
    def vectors(self) -> str:
        """The source of the word vectors, with `data_dir` and `cache_dir` in place of folders."""
        places = places_of(self.config)
        return re.sub(
            r"""(['"])(.*?)\1""",
            lambda quoted: quoted[1] + with_places(quoted[2], places) + quoted[1],
            self.data["vectors"].get("source", ""),
        )

    @property
    def command_line(self) -> str:
        """The command line that repeats the run, with its program, such as `qaexp pretrain model=gru`."""
        return f"{program_of(self.config).command} {self.command}"

    def is_of(self, config: Any) -> bool:
        """Whether this is the run's configuration. Folders, labels and references to other runs are ignored."""
        return is_same(self.config, config)

    def note_data(self, described: dict[str, Any], convention: str) -> None:
        """Note the data and the scoring convention of the run.

        Raises:
            ConfigError: the run started on other data, or with other word vectors.
        """
        if self.data and self.data["fingerprint"] != described["fingerprint"]:
            raise ConfigError(
                f"the data of {self.config['dataset']['name']} have changed since this run started ({self.data['fingerprint'][:8]} then, "
                f"{described['fingerprint'][:8]} now); put the old files back, or delete its folder and start again"
            )
        if self.data and not self.has_read(Sources(described["fingerprint"], described["vectors"].get("files"))):
            raise ConfigError(
                f"the word vectors of {described['vectors']['source']} have changed since this run started; put the old file back, or "
                "delete its folder and start again"
            )
        as_before = {name: self.data[name] for name in ("written", "weights") if name in self.data}
        self.data, self.convention = {**described, **as_before}, convention

    def note_written_texts(self, fingerprint: str) -> None:
        """Note the fingerprint of the texts as they are written, for a model that reads them in place of the words.

        Raises:
            ConfigError: the run started on other texts.
        """
        if self.data.setdefault("written", fingerprint) != fingerprint:
            raise ConfigError(
                f"the texts of {self.config['dataset']['name']} are written differently than when this run started, and it reads them as "
                "they are written; put the old files back, or delete its folder and start again"
            )

    def note_weights(self, revisions: Mapping[str, str]) -> None:
        """Note the digests of the pretrained weights by name.

        Raises:
            ConfigError: the run started from other weights.
        """
        before = self.data.get("weights", {})
        if changed := [name for name, digest in revisions.items() if not is_same_revision(digest, before.get(name, ""))]:
            raise ConfigError(
                f"the pretrained weights {changed[0]} have changed since this run started; put the old ones back, or delete its folder and "
                "start again"
            )
        self.data["weights"] = dict(revisions)

    @property
    def pairs_of_dev(self) -> int | None:
        """How many pairs of dev are scored, which options of the data set and of the trainer may limit. None if there is no dev."""
        return self.data.get("splits", {}).get("dev", {}).get("pairs")

    @property
    def dataset_title(self) -> str:
        """Its data set's name, and whether the data are a part of it."""
        return self.data["name"] + (" (partial data)" if self.data.get("partial") else "")

    def has_read(self, sources: Sources) -> bool:
        """Whether the run read these texts, word vectors, pretrained weights and other runs."""
        return sources.match(self.data, self.config)

    @contextmanager
    def kept_in(self, folder: Path) -> Iterator[None]:
        """Save the record now and when the block ends, with a status that says how it ended."""
        self.status, self.error = "running", None
        self.save(folder)
        try:
            yield
            self.status = "finished"
        except BaseException as error:
            self.status = "failed" if isinstance(error, Exception) else "interrupted"
            self.status = "pruned" if isinstance(error, PrunedError) else self.status
            if self.status != "interrupted":
                self.error = str(error) if isinstance(error, QaexpError) else repr(error)
            with suppress(OutputError):  # the user should see the first error
                self.save(folder)
            raise
        self.save(folder)

    @contextmanager
    def timing(self, stage: str) -> Iterator[None]:
        """Add the block's time to the seconds of a stage. A record that is saved in between has the time so far."""
        before, start = self.seconds.get(stage, 0.0), time.perf_counter()
        self._watches[stage] = lambda: round(before + time.perf_counter() - start, 3)
        try:
            yield
        finally:
            self.seconds[stage] = self._watches.pop(stage)()

    def add_epoch(self, epoch: int, values: Mapping[str, int | float]) -> None:
        """Add an epoch, numbered from 1, to the history. An epoch repeated after an interruption replaces its first attempt.

        The best epoch is the one with the highest `selection_metric`. The steps and seconds of a first attempt are subtracted: an
        equal share of all, since all epochs have the same length.
        """
        before = [entry for entry in self.history if entry["epoch"] < epoch]
        if len(before) < len(self.history):
            kept = len(before) / len(self.history)
            self.steps = round(kept * self.steps)
            self.seconds["steps"] = kept * self.seconds.get("steps", 0.0)
        self.history = [*before, {"epoch": epoch, **values}]
        if self.continued:
            self.continued[-1]["from_epoch"] = min(self.continued[-1]["from_epoch"], epoch)
        self.best_epoch = int(max(self.history, key=lambda entry: entry[self.selection_metric])["epoch"])

    def save(self, folder: Path) -> None:
        """Write `record.json` atomically, on rank zero alone.

        Raises:
            OutputError: the folder is full or read-only.
        """
        self.seconds |= {stage: read() for stage, read in self._watches.items()}
        if is_rank_zero():
            kept = {name: value for name, value in self.__dict__.items() if not name.startswith("_")}
            atomic_write_text(folder / RECORD, json.dumps(kept, indent=1) + "\n")


def records_below(folder: Path) -> Iterator[tuple[Path, RunRecord]]:
    """The runs anywhere below a folder, by path. A record that cannot be read is left out, with a warning that names it."""
    for path in sorted(folder.rglob(RECORD)):
        try:
            yield path.parent, RunRecord.load(path.parent)
        except RecordError as error:
            log.warning("left out: %s", error)


def vector_files_of(run: Path) -> list[str]:
    """The digests of a run's files of word vectors; empty if it reads none, or has no record."""
    try:
        return list(RunRecord.load(run).data["vectors"]["files"])
    except (RecordError, KeyError):
        return []


PARTS: Mapping[tuple[str, ...], Mapping[str, Any]] = {
    ("config",): {"choices": dict[str, Any], "dataset": dict[str, Any], "model": dict[str, Any] | None, "trainer": dict[str, Any] | None},
    ("data",): {
        "name": str,
        "partial": bool,
        "splits": dict[str, dict[str, int | float]],
        "notes": dict[str, int],
        "vectors": dict[str, Any],
        "written": str,
        "weights": dict[str, str],
    },
    ("data", "vectors"): {"source": str},
}
"""The types of nested values that are read again."""


def _require_kinds(content: Any) -> None:
    """Raises TypeError if a value is of another type than its field, and ValueError if a name does not have the form `NAME`."""
    if not isinstance(content, dict):
        raise TypeError(f"it holds a {type(content).__name__}")
    for place, kinds in {(): get_type_hints(RunRecord), **PARTS}.items():
        part: dict[str, Any] = reduce(lambda node, name: node.get(name) or {}, place, content)
        if odd := [name for name, value in part.items() if name in kinds and not _is_of(value, kinds[name])]:
            raise TypeError(f"{odd[0]} is of another type")
    names = [content.get("key", ""), content.get("data", {}).get("fingerprint", ""), *content.get("metrics", {})]
    if odd := [name for name in names if not (isinstance(name, str) and re.fullmatch(NAME, name))]:
        raise ValueError(f"{reprlib.repr(odd[0])} is not the name of a run, data set or split")


def _is_of(value: Any, kind: Any) -> bool:
    """Whether a value from JSON is of a type, with all that it holds.

    >>> _is_of({"dev": {"map": 1}}, dict[str, dict[str, int | float]]), _is_of([{"epoch": "1"}], list[dict[str, int | float]])
    (True, False)
    """
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin is UnionType:
        return any(_is_of(value, part) for part in parts)
    if origin is dict:
        return isinstance(value, dict) and all(_is_of(each, parts[1]) for each in value.values())
    if origin is list:
        return isinstance(value, list) and all(_is_of(each, parts[0]) for each in value)
    if kind in (int, float):
        return isinstance(value, (int, kind)) and not isinstance(value, bool)
    return isinstance(value, NoneType if kind is None else kind)


def _this_process() -> dict[str, Any]:
    return {"commit": git_commit(), "versions": dict(versions()), "hardware": dict(hardware())}
