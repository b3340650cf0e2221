"""Pairs with classes: what the data module gives, accuracy, and what is refused."""

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from hydra.errors import InstantiationException
from hydra.utils import instantiate

import qaexp
from qaexp.cli.commands import main
from qaexp.config import compose
from qaexp.data.audit.card import counted
from qaexp.data.classification import ClassificationDataModule
from qaexp.errors import ConfigError, UnrankableScoresError
from qaexp.train import train


def line(pair_id: str, label: str) -> str:
    parses = {"sentence1_binary_parse": f"( Two dogs {pair_id} )", "sentence2_binary_parse": "( They race )"}
    return json.dumps({"gold_label": label, "pairID": pair_id, **parses})


TRAIN = [line("1", "neutral"), line("2", "contradiction")]
MORE = [line("3", "-"), line("4", "entailment")]


@pytest.fixture
def options(tmp_path: Path, cache_dir: Path, write: Callable[..., Path]) -> list[str]:
    """Of a small SNLI."""
    for name, content in (("train", TRAIN + MORE), ("dev", TRAIN)):
        write(tmp_path / "snli" / f"{name}.jsonl", content)
    files = "{train: [train.jsonl], dev: [dev.jsonl], test: [dev.jsonl]}"
    places = [f"data_dir={tmp_path}", f"cache_dir={cache_dir}", f"dataset.reader.splits={files}", "dataset.expected=null"]
    return ["dataset=snli", "dataset/vectors=random", *places]


@pytest.fixture
def snli(options: list[str]) -> Callable[..., ClassificationDataModule]:
    return lambda *more: instantiate(compose([*options, *more]).dataset)


def test_a_loaded_checkpoint_and_qaexp_rank_tell_the_classes_of_a_pair_apart(options: list[str], tmp_path: Path) -> None:
    short = ["model=nbow", "trainer.max_epochs=1", "logger=none"]
    train(compose([*options, *short]), tmp_path / "run")
    ranker = qaexp.load(tmp_path / "run")
    told = ranker.classify("Two dogs 1", "They race")
    assert sorted(told) == ["contradiction", "entailment", "neutral"]
    assert list(told.values()) == sorted(told.values(), reverse=True)
    assert sum(told.values()) == pytest.approx(1)
    predicted = pd.read_csv(tmp_path / "run" / "test.pairs.csv", dtype=str).set_index("pair")["predicted"]
    assert next(iter(told)) == predicted["1"]
    with pytest.raises(ValueError, match="call classify"):
        ranker.rank("Two dogs 1", ["They race"])
    with pytest.raises(TypeError, match="the second is of type int: a text is expected"):
        inspect.unwrap(type(ranker).classify)(ranker, "Two dogs 1", 2)  # past the check of types that tests have
    pairs, out = tmp_path / "pairs.tsv", tmp_path / "out.jsonl"
    pairs.write_text("Two dogs 1\tThey race\n")
    assert main(["rank", str(tmp_path / "run"), str(pairs), "--to", str(out)]) == 0
    [entry] = map(json.loads, out.read_text().splitlines())
    assert entry["predicted"] == next(iter(told))
    assert entry["probabilities"] == pytest.approx(told)


def test_the_loss_follows_the_data_set_unless_the_user_says_otherwise() -> None:
    assert compose(["dataset=snli"]).loss._target_ == "qaexp.training.losses.ClassCrossEntropy"
    assert compose(["dataset=snli", "loss=pairwise_hinge"]).loss._target_ == "qaexp.training.losses.PairwiseHinge"
    assert compose(["dataset=wikiqa"]).loss._target_ == "qaexp.training.losses.PairwiseHinge"


def test_pairs_keep_their_order_their_class_and_every_one_is_used(snli: Callable[..., Any]) -> None:
    data = snli()
    assert data.splits["train"].labels.tolist() == [1, 2, 0]
    assert counted(data.splits["train"], data.classes) == {"pairs": 3, "entailment": 1, "neutral": 1, "contradiction": 1}
    [batch] = list(data.training_batches(epoch=0))
    assert sorted(batch.labels.tolist()) == [0, 1, 2]
    assert batch.num_groups == 3
    assert data.describe()["as read"]["dev"] == {"pairs": 2, "entailment": 0, "neutral": 1, "contradiction": 1}


def test_accuracy_is_the_share_whose_own_class_scores_highest(snli: Callable[..., Any]) -> None:
    data = snli()
    scores = torch.tensor([[0.0, -1.0, -2.0], [-9.0, -8.0, -7.0]])  # dev: neutral, contradiction
    assert data.metrics("dev", scores).compute()["accuracy"].item() == 0.5


def test_what_does_not_fit_is_refused_with_a_remedy(snli: Callable[..., Any]) -> None:
    with pytest.raises(ConfigError, match=r"dataset=snli has 3 classes, and the model gives a pair one score; .*model/similarity=mlp"):
        snli().metrics("dev", torch.zeros(2))
    with pytest.raises(UnrankableScoresError, match="scores of 1 of 2 pairs are NaN"):
        snli().metrics("dev", torch.tensor([[0.0, 1.0, 2.0], [0.0, float("nan"), 2.0]]))
    for override, named in (
        ("dataset.num_classes=2", "num_classes=2"),
        ("dataset.convention=trec", "convention=trec"),
        ("dataset/negatives=pool", "has classes and no wrong answers to draw: leave dataset/negatives at pool_pairs"),
        ("dataset/negatives=random", "leave dataset/negatives at pool_pairs"),
    ):
        with pytest.raises(InstantiationException) as refused:
            snli(override)
        assert named in str(refused.value)


def test_a_model_without_classes_is_refused_when_it_has_nothing_to_learn_too(options: list[str], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="dataset=snli has 3 classes, and the model gives a pair one score"):
        train(compose([*options, "model=word_overlap", "logger=none"]), tmp_path / "run")
