"""A cell: a row of a table under a setting, with data and word vectors. Its command line, what it needs on disk, and its runs' keys."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from qaexp.config import PRETRAIN, RANK, Program, compose, conf_digest, join_options
from qaexp.data.audit.card import as_expected
from qaexp.data.corpus import RankingCorpus
from qaexp.data.missing_files import missing
from qaexp.data.prepare import prepared
from qaexp.data.vectors.sources import digests
from qaexp.errors import ConfigError, OutputError
from qaexp.files import atomic_write_text
from qaexp.mistakes import explain
from qaexp.reproduction.ledger import Key
from qaexp.reproduction.spec import Row, Setting, Table
from qaexp.runs import identity, other_runs, places, renamed
from qaexp.runs.identity import config_key
from qaexp.runs.other_runs import with_other_runs

DROPS = "dataset.drop_unknown="
"""With this option, words without a vector are left out, so that a cell's texts depend on its word vectors."""

READING = ("dataset=", "dataset.reader.", "dataset.tokenise", "dataset.expected=", DROPS)
"""Beginnings of the overrides that choose a cell's texts."""

VECTORS = ("dataset/vectors=", "dataset.vectors.")
"""Beginnings of those that choose its word vectors."""


@dataclass(frozen=True)
class Cell:
    """A row under a setting: a command line without its seed."""

    table: Table
    row: Row
    setting: str
    dataset: str
    vectors: str
    """The choice of `dataset/vectors=`; empty: the data set's own."""
    quick: bool = False

    @property
    def title(self) -> str:
        """Its place, such as `ctrn, Table 6: QRNN (TRAIN)`."""
        return f"{self.table.title}: {self.table.named(self.row.label, self.setting)}"

    @property
    def overrides(self) -> list[str]:
        """To be pasted after `qaexp`."""
        assert self.row.overrides is not None
        vectors = [f"dataset/vectors={self.vectors}"] if self.vectors else []
        setting = self.table.settings[self.setting].overrides
        special = self.row.in_setting.get(self.setting, ())
        quick = self.table.quick if self.quick else ()
        data = [f"dataset={self.dataset}", *vectors]
        return _last_of_each([*data, *self.table.common, *setting, *self.row.overrides, *special, *quick])

    def beginning(self, *ways: str) -> list[str]:
        """Its overrides with one of these beginnings."""
        return [override for override in self.overrides if override.lstrip("+").startswith(ways)]

    @property
    def reading(self) -> list[str]:
        """Its overrides that change which texts are read."""
        vectors = self.beginning(*VECTORS) if self.beginning(DROPS) else ["dataset/vectors=random"]
        return [*self.beginning(*READING), *vectors]

    def seeded(self, seed: int) -> list[str]:
        return [*self.overrides, f"seed={seed}"]

    def pretraining(self, seed: int) -> list[str]:
        """The run whose encoder it starts from, to be pasted after `qaexp pretrain`; empty if there is none."""
        if self.row.pretrain is None:
            return []
        data = self.beginning(*READING, *VECTORS)
        quick = [o for o in self.table.quick if o.startswith("trainer")] if self.quick else []
        return [*_last_of_each([*data, *self.row.pretrain, *quick]), f"seed={seed}"]

    @property
    def teacher(self) -> "Cell | None":
        """The teacher's cell: on the same data, and with the same word vectors if its row offers them."""
        if self.row.teacher is None:
            return None
        row = next(row for row in self.table.rows if row.label == self.row.teacher)
        cells = [cell for cell in alternatives(self.table, row, self.setting, self.quick) if cell.dataset == self.dataset]
        return next((cell for cell in cells if cell.vectors == self.vectors), cells[0])

    @property
    def commands(self) -> list[str]:
        """The commands to type for it, without a seed."""
        begun = [f"qaexp pretrain {join_options(before[:-1])}"] if (before := self.pretraining(1)) else []
        taught = self.teacher.commands if self.teacher else []
        other_runs = [*(["init_from=FOLDER"] if begun else []), *(["loss.teacher=FOLDER"] if taught else [])]
        return [*begun, *taught, join_options(["qaexp", *self.overrides, *other_runs])]

    @property
    def command(self) -> str:
        """The same as one line of a shell."""
        return " && ".join(self.commands)

    @property
    def differs(self) -> str:
        """How its data or word vectors differ from the paper's; empty if they do not."""
        setting = self.table.settings[self.setting]
        whole = (self.row.datasets or setting.datasets)[0]
        found = [f"data: {self.dataset}, not {whole}"] if self.dataset != whole else []
        if self.row.reads_vectors and setting.paper_vectors and self.vectors != setting.paper_vectors:
            found.append(f"word vectors: {self.vectors or 'those of its YAML'}, not {setting.paper_vectors}")
        return "; ".join(found)


def alternatives(table: Table, row: Row, setting: str, quick: bool = False) -> Iterator[Cell]:
    """The row with each choice of data and word vectors, the paper's own first."""
    chosen: Setting = table.settings[setting]
    for dataset in row.datasets or chosen.datasets:
        for vectors in row.vectors or chosen.vectors or [""]:
            yield Cell(table, row, setting, dataset, vectors, quick)


def cells_of(table: Table) -> Iterator[Cell]:
    """All alternatives of all rows under all their settings."""
    for row in table.rows:
        for setting in table.settings_of(row):
            yield from alternatives(table, row, setting)


def at_hand(cells: Sequence[Cell]) -> Cell:
    """The first alternative with all its files on disk, even those it does not read; else the first that can run; else the first."""
    whole = (cell for cell in cells if not _lacking(*cell.beginning(*READING), *cell.beginning(*VECTORS)))
    enough = (cell for cell in cells if not lacking(cell))
    return next(chain(whole, enough), cells[0])


def lacking(cell: Cell) -> str:
    """The files that a cell reads and that are not on disk, in one line; empty if all are there."""
    vectors = cell.beginning(*VECTORS) if cell.row.reads_vectors else ["dataset/vectors=random"]
    return _lacking(*cell.beginning(*READING), *vectors)


@cache
def _lacking(*overrides: str) -> str:
    dataset = _composed(overrides, RANK).dataset
    files = [path.name for error in (*missing(dataset.reader), *missing(dataset.vectors)) for path in error.files]
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return f"{overrides[0].removeprefix('dataset=')}: {files[0]}{more} missing" if files else ""


def fingerprint(cell: Cell) -> str:
    """The fingerprint of a cell's data on disk. Numbers measured on other data do not belong to the cell.

    Raises:
        QaexpError: the files are damaged, or not what the data set's YAML expects.
    """
    return _fingerprint(*cell.reading)


@cache
def _fingerprint(*overrides: str) -> str:
    return _corpus(*overrides).fingerprint


def written_fingerprint(cell: Cell) -> str:
    """The fingerprint of the texts that a cell reads, as they are written: case and punctuation count.

    Raises:
        QaexpError: as `fingerprint`.
    """
    return _written_fingerprint(*cell.reading)


@cache
def _written_fingerprint(*overrides: str) -> str:
    return _corpus(*overrides).written_fingerprint()


def _corpus(*overrides: str) -> RankingCorpus:
    cfg = compose(overrides)
    dataset, cache_dir = cfg.dataset, Path(cfg.cache_dir).expanduser()
    corpus = prepared(instantiate(dataset.reader, _convert_="all"), cache_dir)
    corpus = as_expected(corpus, dataset.expected, dataset.name, dataset.get("classes", ()))
    if dataset.get("drop_unknown"):
        corpus = corpus.of_words(instantiate(dataset.vectors, _convert_="all").build(corpus, cache_dir, cfg.seed).known)
    return corpus


def vector_files(cell: Cell) -> Sequence[str] | None:
    """Digests of the files of a cell's word vectors on disk; None if it reads none.

    Raises:
        BadDataError: a file cannot be read.
    """
    return _vector_files(*cell.beginning(*READING), *cell.beginning(*VECTORS)) if cell.row.reads_vectors else None


@cache
def _vector_files(*overrides: str) -> Sequence[str]:
    dataset = compose(overrides).dataset
    return digests(instantiate(dataset.vectors, _convert_="all"), Path(dataset.cache_dir).expanduser())


class Keys:
    """The keys of cells' runs. Composing a cell takes a twentieth of a second, so keys are stored until conf/ changes."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / f"keys_{_keys_digest()}.json"
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            self._known = {name: Key(*parts) for name, parts in kept.items()}
        except (OSError, ValueError):
            self._known = dict[str, Key]()
        self._new = False

    def of(self, cell: Cell, seeds: Sequence[int]) -> list[Key]:
        """The key of each seed's run.

        Raises:
            ConfigError: the cell cannot be composed; names table, row and fault.
        """
        taught = [key.whole for key in self.of(cell.teacher, seeds)] if cell.teacher else [""] * len(seeds)
        names = [
            " ".join([*cell.seeded(seed), "after:", *cell.pretraining(seed), *([f"taught by {key}"] if key else [])])
            for seed, key in zip(seeds, taught, strict=True)
        ]
        if not all(name in self._known for name in names):
            place = f"{cell.table.title}, row {cell.row.label!r}: "
            fine = _composed(cell.seeded(seeds[0]), RANK, place)
            if cell.teacher and "teacher" not in fine.loss:
                raise ConfigError(
                    f"{place}its loss learns from no teacher; take one that does, such as loss=margin_mse, or leave teacher: out"
                )
            before = _composed(pretraining, PRETRAIN, place) if (pretraining := cell.pretraining(seeds[0])) else None
            for seed, name, teacher in zip(seeds, names, taught, strict=True):
                begun = {"init_from": {"key": config_key(_resolved(before, seed))}} if before else {}
                learnt = {"loss.teacher": {"key": teacher}} if teacher else {}
                self._known[name] = Key.of(with_other_runs(_resolved(fine, seed), {**begun, **learnt}))
            self._new = True
        return [self._known[name] for name in names]

    def save(self) -> None:
        """Store new keys for the next time. If the folder cannot be written, they are composed again then."""
        if self._new:
            with suppress(OutputError):
                atomic_write_text(self._path, json.dumps(self._known))
                self._new = False


def _composed(overrides: Sequence[str], program: Program, place: str = "") -> DictConfig:
    try:
        return compose(overrides, program)
    except Exception as error:
        raise ConfigError(place + (explain(error, overrides, program) or repr(error))) from error


def _resolved(cfg: DictConfig, seed: int) -> dict[str, Any]:
    cfg.seed = seed
    resolved: Any = OmegaConf.to_container(cfg, resolve=True)
    return resolved


def _keys_digest() -> str:
    """A digest of the configuration files and of the code that makes keys. Stored keys count while it stays the same."""
    code = b"".join(Path(str(module.__file__)).read_bytes() for module in (identity, other_runs, places, renamed))
    return hashlib.sha256(conf_digest().encode() + code).hexdigest()[:16]


def _last_of_each(overrides: Sequence[str]) -> list[str]:
    """One override for each option: the last one given, in the place of the first.

    >>> _last_of_each(["dataset=wikiqa", "trainer.max_epochs=25", "model=ctrn", "trainer.max_epochs=1"])
    ['dataset=wikiqa', 'trainer.max_epochs=1', 'model=ctrn']
    """
    return [f"{key}={value}" for key, value in dict(override.split("=", 1) for override in overrides).items()]
