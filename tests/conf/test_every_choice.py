"""Every YAML of conf/ composes and builds, and every named model trains, ranks and leaves a whole run."""

import inspect
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf, open_dict
from pytorch_lightning import Callback, Trainer
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

import qaexp
from qaexp.config import CONF, PRETRAIN, RANK, Program, choices, compose
from qaexp.data.module import RankingDataModule
from qaexp.data.negatives import NegativeSampling
from qaexp.data.vectors.sources import VectorSource
from qaexp.models.decoder import WordOutput
from qaexp.models.scorer import AnswerScorer
from qaexp.runs.record import RunRecord
from qaexp.train import train
from qaexp.training.losses import Loss
from qaexp.training.trainer import open_trainer

MODELS = choices("model")
GROUPS = sorted({*RANK.groups(), *PRETRAIN.groups()})
OVERRIDES = [f"{group}={name}" for group in GROUPS if not group.startswith(("hydra/", "experiment")) for name in choices(group)]
TINY = ["logger=none", "dataset.reader.num_train=80", "dataset.reader.num_dev=10", "dataset.reader.num_test=10", "dataset.vectors.dim=24"]


def program_of(override: str) -> Program:
    """The one that ranks, where it has the group."""
    return next(program for program in (RANK, PRETRAIN) if override.partition("=")[0] in program.groups())


def composed(override: str) -> DictConfig:
    """A slot's choice composes within the first named model that has the slot."""
    if not override.startswith("model/"):
        return compose([override], program_of(override))
    refusals = []
    for name in MODELS:
        try:
            return compose([f"model={name}", override])
        except Exception as error:
            refusals.append(f"{name}: {error}")
    raise AssertionError(f"no named model has the slot of {override}:\n" + "\n".join(refusals))


@pytest.mark.parametrize("override", OVERRIDES)
def test_every_choice_composes_to_whole_values(override: str) -> None:
    cfg = composed(override)
    container = OmegaConf.to_container(cfg, resolve=True, throw_on_missing=True)
    assert isinstance(container, dict)
    assert "hydra" not in container
    group, _, name = override.partition("=")
    path = CONF / group / f"{name}.yaml"
    of_all = "# @package _global_" in path.read_text(encoding="utf-8")
    node = cfg if of_all else OmegaConf.select(cfg, group.replace("/", "."))
    assert set(OmegaConf.load(path)) - {"defaults"} <= set(node)


BUILT: dict[str, tuple[dict[str, Any], type]] = {
    "model": ({"vectors": torch.zeros(3, 24)}, AnswerScorer),
    "dataset": ({}, RankingDataModule),
    "dataset/vectors": ({}, VectorSource),
    "dataset/negatives": ({}, NegativeSampling),
    "loss": ({}, Loss),
    "optimizer": ({"params": [torch.nn.Parameter(torch.zeros(1))]}, Optimizer),
    "schedule": ({"optimizer": torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)}, LRScheduler),
    "output": ({"input_dim": 8, "uses": torch.arange(3000)}, WordOutput),
    "trainer": ({"logger": False, "enable_checkpointing": False}, Trainer),
}
"""What a group's choice becomes, and what it is called with. Choices of a model's slot are built by tests/laws."""
TESTED_ELSEWHERE = ("model/", "logger=", "debug=", "callbacks=")


@pytest.mark.parametrize("override", [override for override in OVERRIDES if not override.startswith(TESTED_ELSEWHERE)])
def test_every_choice_builds_what_its_group_promises(override: str) -> None:
    group = override.partition("=")[0]
    arguments, promised = BUILT[group]
    node = OmegaConf.select(compose([override], program_of(override)), group.replace("/", "."))
    if group == "trainer":
        assert isinstance(open_trainer(node, Path(), callbacks=[], plugins=[], enable_progress_bar=False), promised)
        return
    built = instantiate(node, **arguments) if group == "model" else instantiate(node)
    if group == "schedule" and "num_steps" in inspect.signature(built).parameters:
        arguments = {**arguments, "num_steps": 10}
    if node.get("_partial_"):
        built = built(**arguments)
    assert isinstance(built, promised)


@pytest.mark.parametrize("name", choices("callbacks"))
def test_every_choice_of_callbacks_builds_callbacks_of_lightning(name: str) -> None:
    found = [instantiate(node) for node in compose([f"callbacks={name}"]).callbacks.values()]
    assert found
    assert all(issubclass(each.func, Callback) if isinstance(each, partial) else isinstance(each, Callback) for each in found)


@pytest.mark.parametrize(
    ("program", "overrides"),
    [(RANK, []), (RANK, ["model=iggsa", "dataset=wikiqa", "seed=3", "model.encoder.offset=0"]), (PRETRAIN, ["model=gru", "output=full"])],
)
def test_composing_gives_what_the_command_line_gives(program: Program, overrides: list[str]) -> None:
    command = [sys.executable, "-m", program.module, "--cfg", "job", "--resolve", *overrides]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=CONF.parent).stdout
    ours = OmegaConf.to_yaml(compose(overrides, program), resolve=True)
    assert yaml.safe_load(ours) == yaml.safe_load(printed)


def test_a_run_is_named_by_its_choices() -> None:
    assert compose(["model=iggsa", "dataset=wikiqa", "seed=3"]).run_name == "iggsa_wikiqa_seed3"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("name", [name for name in MODELS if name != "bm25_scores"])  # of which toy's files have none
def test_every_named_model_trains_ranks_and_leaves_a_whole_run(name: str, cache: Path, tmp_path: Path) -> None:
    cfg = compose([f"model={name}", *TINY, f"cache_dir={cache}", "trainer.max_epochs=1"])
    with open_dict(cfg):
        cfg.trainer.limit_train_batches = 2
    record = train(cfg, tmp_path)
    assert record.status == RunRecord.load(tmp_path).status == "finished"
    assert record.metrics.keys() == {"dev", "test"}
    for metrics in record.metrics.values():
        assert (metrics["questions"], metrics["pairs"]) == (10, 100)
        assert all(0 <= metrics[measure] <= 1 for measure in ("p@1", "p@5", "mrr", "map"))
        assert metrics["p@1"] <= metrics["mrr"]
    left = {path.name for path in tmp_path.iterdir()}
    trained = record.parameters["trainable"] > 0
    assert [entry["epoch"] for entry in record.history] == ([1] if trained else [])
    assert {"record.json", "test.run", "test.qrels", "test.questions.csv"} <= left
    assert "best.ckpt" in left
    assert ("last.ckpt" in left) == trained
    _a_loaded_checkpoint_scores_as_the_run_did(cfg, tmp_path)


def _a_loaded_checkpoint_scores_as_the_run_did(cfg: DictConfig, folder: Path) -> None:
    data = instantiate(cfg.dataset)
    split, text = data.splits["test"], data.corpus.written

    lines = [line.split() for line in (folder / "test.run").read_text(encoding="utf-8").splitlines()]
    written = {(question, candidate): float(score) for question, _, candidate, _, score, _ in lines}
    ranker = qaexp.load(folder)
    for q in range(split.num_questions):
        pool = range(split.offsets[q], split.offsets[q + 1])
        question, names = split.question_ids[q].decode(), [split.candidate_ids[pair].decode() for pair in pool]
        ranked = ranker.rank(text(int(split.questions[q])), [text(int(split.candidates[pair])) for pair in pool])
        assert {names[answer.position]: answer.score for answer in ranked} == {
            candidate: pytest.approx(written[question, candidate], abs=1e-5) for candidate in names
        }


def test_a_configuration_keeps_its_choices_when_another_is_composed() -> None:
    first = compose(["model=qa_cnn", "dataset=toy"])
    compose(["model=ggsa", "dataset=wikiqa"])
    assert first.choices == {"model": "qa_cnn", "dataset": "toy", "debug": None}
    assert first.run_name == "qa_cnn_toy_seed1"
