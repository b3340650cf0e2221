"""Runs made before classes moved: their checkpoints load, their records keep their keys, and every old name leads somewhere."""

import json
from pathlib import Path

import pytest
import pytorch_lightning.callbacks
import torch
import yaml
from hydra.utils import get_object

import qaexp
from qaexp.config import CONF, compose
from qaexp.reproduction.content import EXPERIMENTS
from qaexp.runs.identity import config_key
from qaexp.runs.record import RunRecord
from qaexp.runs.renamed import ALSO_OURS, RENAMED, with_current_targets

OLD_RUN = Path(__file__).with_name("before_the_move")
LEDGER = EXPERIMENTS.parent / "results" / "ledger"


def targets_in(node: object) -> set[str]:
    if isinstance(node, dict):
        own = {node["_target_"]} if isinstance(node.get("_target_"), str) else set()
        return own.union(*(targets_in(value) for value in node.values()))
    return set().union(*(targets_in(value) for value in node)) if isinstance(node, list) else set()


def test_an_old_checkpoint_gives_the_scores_that_it_gave() -> None:
    """lc_lstm of one epoch on toy; the scores are those of the code that wrote it."""
    answers = ["Water them daily in the morning.", "Call the bank.", "the bakery sells bread", "roses need water and sun every day"]
    ranked = qaexp.load(OLD_RUN).rank("How do I keep my roses alive?", answers)
    assert [answer.position for answer in ranked] == [1, 2, 3, 0]
    assert [answer.score for answer in ranked] == pytest.approx([-0.0154128876, -0.0174418893, -0.0226670671, -0.0242207292], abs=1e-6)


def test_an_old_record_names_classes_where_they_are_now() -> None:
    record = RunRecord.load(OLD_RUN)
    assert "qaexp.models.coupled_lstm.CoupledLSTM" in (OLD_RUN / "config.yaml").read_text(encoding="utf-8")
    for target in targets_in(record.config):
        get_object(target)


def test_every_old_name_leads_to_a_class_of_the_same_name() -> None:
    assert [old for old, new in RENAMED.items() if get_object(new).__name__ != old.rpartition(".")[2]] == []


def test_every_class_of_the_ledger_is_found() -> None:
    targets = set().union(*(targets_in(json.loads(path.read_text(encoding="utf-8"))["config"]) for path in LEDGER.glob("*.json")))
    assert len(targets) > 40
    for target in targets:
        get_object(with_current_targets({"_target_": target})["_target_"])


def test_a_key_depends_on_the_name_of_our_class_and_on_the_whole_path_of_yours() -> None:
    config = dict(compose(["model=qa_lstm", "optimizer=adamw"]))
    keys = [
        config_key({**config, "loss": {"_target_": f"{place}", "margin": 0.2}})
        for place in ("qaexp.training.losses.PairwiseHinge", "qaexp.losses.PairwiseHinge", "mine.PairwiseHinge", "yours.PairwiseHinge")
    ]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    assert config_key(config) != config_key({**config, "optimizer": {**config["optimizer"], "_target_": "torch.optim.AdamW"}})


def test_no_class_of_torch_or_lightning_is_taken_for_one_of_ours() -> None:
    shipped = set().union(*(targets_in(yaml.safe_load(path.read_text(encoding="utf-8"))) for path in CONF.rglob("*.yaml")))
    ours = {target for target in shipped if target.startswith("qaexp.")}
    names = [target.rpartition(".")[2] for target in ours]
    assert len(names) == len(set(names)) > 80
    places = (torch.optim, torch.optim.lr_scheduler, pytorch_lightning.callbacks)
    same = {f"{place.__name__}.{name}" for place in places for name in names if hasattr(place, name)}
    assert same == set(ALSO_OURS)
