"""Every row of every table and figure composes, builds at its own size, and learns from a batch of toy with what it is trained with."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from qaexp.config import PRETRAIN, compose
from qaexp.data.missing_files import reads_vectors
from qaexp.errors import ConfigError
from qaexp.models.scorer import num_parameters
from qaexp.reproduction.cells import Cell, alternatives
from qaexp.reproduction.settings import vector_width
from qaexp.reproduction.spec import Row, Table, result_figures, result_tables, tunings
from qaexp.train import train
from qaexp.training.optimizer import as_optimizer
from qaexp.training.ranking import RankingModule
from qaexp.training.trainer import open_trainer

WIDTH = 60
"""Any number of heads in the tables and figures divides it."""

SMALL = {"hidden_dim": 6, "output_dim": 6, "attention_dim": 6, "num_filters": 6, "project_dim": WIDTH, "num_dimension_filters": 2}
SPLITS = {"num_train": 40, "num_dev": 6, "num_test": 6}


def cells() -> Iterator[Cell]:
    """A cell for each row, setting and data set, with the word vectors that come last; what they are makes no other difference."""
    for table in [*result_figures(), *result_tables(), *tunings()]:
        for row in table.rows:
            for setting in table.settings_of(row):
                yield from {cell.dataset: cell for cell in alternatives(table, row, setting)}.values()


def _model(cell: Cell) -> str:
    return next(o for o in cell.overrides if o.startswith("model=")).removeprefix("model=")


@cache
def _composed(*overrides: str) -> DictConfig:
    return compose(overrides)


def _name(cell: Cell) -> str:
    return f"{cell.table.title}, {cell.row.label}, {cell.setting}, {cell.dataset}"


CELLS = {_name(cell): cell for cell in cells()}
DISTINCT = {tuple(sorted(cell.overrides)): cell for cell in CELLS.values()}
"""A command that stands in several tables is composed once."""


def _by_training() -> dict[str, Cell]:
    """One cell for each way to train: data sets with the same number of classes and the same negatives make no other difference.

    Scores that are published with a data set cannot be had of toy.
    """
    found: dict[tuple[Any, ...], Cell] = {}
    for cell in DISTINCT.values():
        if _model(cell) == "bm25_scores":
            continue
        own = [o for o in cell.overrides if not o.startswith(("dataset=", "dataset/vectors=", "dataset.reader", "dataset.vectors"))]
        found[("snli" in cell.dataset, *sorted(own))] = cell
    return {_name(cell): cell for cell in found.values()}


BY_TRAINING = _by_training()


@pytest.mark.parametrize("cell", DISTINCT.values(), ids=map(_name, DISTINCT.values()))
def test_every_cell_composes_to_whole_values(cell: Cell) -> None:
    cfg = _composed(*cell.overrides)
    assert isinstance(OmegaConf.to_container(cfg, resolve=True, throw_on_missing=True), dict)
    assert (cfg.choices.model, cfg.choices.dataset) == (_model(cell), cell.dataset)


def _quick() -> dict[str, Cell]:
    """A table's quick overrides are the same for all of its rows."""
    return {f"{cell.table.title}, {cell.setting}": replace(cell, quick=True) for cell in DISTINCT.values()}


@pytest.mark.parametrize("cell", _quick().values(), ids=_quick())
def test_quick_versions_are_short_and_measure_whole_splits(cell: Cell) -> None:
    cfg = _composed(*cell.overrides)
    assert cfg.trainer.max_epochs == 1
    assert cfg.trainer.limit_train_batches <= 20
    assert "limit_val_batches" not in cfg.trainer
    assert "limit_test_batches" not in cfg.trainer


@pytest.mark.parametrize("cell", BY_TRAINING.values(), ids=BY_TRAINING)
def test_every_row_builds_at_its_own_size(cell: Cell) -> None:
    cfg = _composed(*cell.overrides)
    scorer = instantiate(cfg.model, vectors=torch.zeros(3, vector_width(cfg)))
    assert reads_vectors(cfg.model) == cell.row.reads_vectors
    for override in cell.overrides:
        path, value = override.split("=", 1)
        if path.startswith("model."):
            assert OmegaConf.select(cfg, path) == yaml.safe_load(value), override
    assert num_parameters(scorer)["trainable"] >= num_parameters(scorer)["trainable without word embeddings"] >= 0


def _shrunk(node: Any, name: str = "") -> Any:
    if isinstance(node, dict):
        return {key: _shrunk(value, key) for key, value in node.items()}
    if isinstance(node, list) and name in SMALL:
        return [SMALL[name]] * len(node)
    return SMALL[name] if name in SMALL and isinstance(node, int) else node


@cache
def _toy(cache_dir: str) -> DictConfig:
    sizes = [f"dataset.reader.{name}={number}" for name, number in SPLITS.items()]
    return compose(["dataset=toy", *sizes, f"dataset.vectors.dim={WIDTH}", "dataset.batch_size=8", f"cache_dir={cache_dir}"])


@pytest.fixture(scope="module")
def toy_cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("cache"))


@cache
def _teacher(cache_dir: str) -> str:
    """A run for rows that learn from another row's."""
    folder = Path(cache_dir) / "teacher"
    train(OmegaConf.merge(_composed("model=word_overlap", "logger=none"), {"dataset": _toy(cache_dir).dataset}), folder)  # type: ignore[arg-type]
    return str(folder)


def _one_step(overrides: Sequence[str], cache_dir: str) -> tuple[RankingModule, dict[str, torch.Tensor]]:
    """The module after a step that learns; its parameters before. Trainer, loss, optimiser, schedule and negatives are the row's own."""
    cfg: dict[str, Any] = OmegaConf.to_container(_composed(*overrides), resolve=True)  # type: ignore[assignment]
    if "teacher" in (cfg["loss"] or {}):
        cfg["loss"]["teacher"] = _teacher(cache_dir)
    toy = OmegaConf.to_container(_toy(cache_dir).dataset, resolve=True)
    assert isinstance(toy, dict)
    rows_own = {"num_classes": cfg["dataset"]["num_classes"], "negatives": {**cfg["dataset"]["negatives"], "_convert_": "all"}}
    data = instantiate({**toy, **rows_own})
    scorer = instantiate(_shrunk(cfg["model"]), vectors=data.word_vectors)
    data = data.read_by(scorer.subwords)
    scorer.fit(data.corpus, data.training_batches)
    before = {name: p.detach().clone() for name, p in scorer.named_parameters() if p.requires_grad}
    loss, optimizer, schedule = (instantiate(cfg[name]) for name in ("loss", "optimizer", "schedule"))
    optimizer = as_optimizer(optimizer, decay_word_vectors=True)
    module = RankingModule(scorer, loss, optimizer, schedule, data, {"vocabulary": data.corpus.vocabulary.words})
    if before:
        silent = {"callbacks": [], "plugins": [], "enable_progress_bar": False}
        batches = 2 if "warmup" in (cfg["schedule"] or {}) else 1  # the first rate of a warm-up is 0
        limits = {"max_epochs": 1, "limit_train_batches": batches, "check_val_every_n_epoch": 2, "enable_checkpointing": False}
        open_trainer(OmegaConf.create({**cfg["trainer"], **limits, "accelerator": "cpu"}), Path(), **silent).fit(module, datamodule=data)
    return module, before


@pytest.mark.filterwarnings("ignore:The 'train_dataloader' does not have many workers")
@pytest.mark.parametrize("cell", BY_TRAINING.values(), ids=BY_TRAINING)
def test_every_row_learns_from_a_batch(cell: Cell, toy_cache: str, caplog: pytest.LogCaptureFixture) -> None:
    torch.manual_seed(1)
    module, before = _one_step(cell.overrides, toy_cache)
    after = dict(module.scorer.named_parameters())
    seconds_alone = cell.table.title == "ctrn, Figure 3"
    assert seconds_alone or "log-odds" not in caplog.text, "the row reads bounded scores as log-odds"
    assert all(torch.isfinite(after[name]).all() for name in before)
    assert not before or any(not torch.equal(after[name], value) for name, value in before.items())


def test_a_row_that_composes_and_cannot_train_is_found(toy_cache: str) -> None:
    with pytest.raises(ConfigError, match=r"ClassCrossEntropy takes classes, and dataset=toy has right and wrong.*pointwise_cross_entropy"):
        _one_step(("dataset=toy", "model=nbow", "loss=class_cross_entropy", "dataset/negatives=pool_pairs"), toy_cache)
    with pytest.raises(ConfigError, match=r"dataset=toy has 3 classes, and PairwiseHinge tells right from wrong.*class_cross_entropy"):
        _one_step(("dataset=toy", "dataset.num_classes=3", "model=qa_cnn", "loss=pairwise_hinge"), toy_cache)
    with pytest.raises(ConfigError, match="no group of this batch has both"):
        _one_step(("dataset=toy", "model=qa_cnn", "loss=pairwise_hinge", "dataset/negatives=pool_pairs"), toy_cache)


def _pretrained() -> list[tuple[Table, Row]]:
    return [(table, row) for table in result_tables() for row in table.rows if row.pretrain is not None]


@pytest.mark.parametrize(("table", "row"), _pretrained(), ids=[f"{table.title}, {row.label}" for table, row in _pretrained()])
def test_pre_training_and_fine_tuning_have_the_same_encoder_rate_and_dropout(table: Table, row: Row) -> None:
    """Lei et al. 2016, note 7; the pooling ranks after both, and has no weights."""
    fine = _composed(*next(alternatives(table, row, table.settings_of(row)[0])).overrides)
    assert row.pretrain is not None
    pre = compose([*row.pretrain, f"dataset={fine.choices.dataset}"], PRETRAIN)
    assert isinstance(OmegaConf.to_container(pre, resolve=True, throw_on_missing=True), dict)
    for path in ("model._target_", "model.encoder", "model.embedding", "optimizer"):
        assert OmegaConf.select(pre, path) == OmegaConf.select(fine, path), path
