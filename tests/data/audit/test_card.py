"""Data cards: every published set has one, what is on disk meets it, and files or settings that do not are refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hydra.utils import instantiate

from qaexp.config import choices, compose
from qaexp.data.audit.card import counted, require
from qaexp.data.module import RankingDataModule
from qaexp.errors import BadDataError, ConfigError, MissingDataError

Make = Callable[..., Any]
REAL = [name for name in choices("dataset") if name not in ("toy", "own")]


@pytest.fixture
def small_wikiqa(wikiqa: Make, tmp_path: Path, cache_dir: Path) -> Callable[..., RankingDataModule]:
    """`dataset=wikiqa` on files that are far too small."""
    wikiqa()
    files = "{train: train.tsv, dev: dev.tsv, test: test.tsv}"
    places = [f"data_dir={tmp_path}", f"cache_dir={cache_dir}", f"dataset.reader.splits={files}"]

    def make(*overrides: str) -> RankingDataModule:
        return instantiate(compose(["dataset=wikiqa", "dataset/vectors=random", *places, *overrides]).dataset)

    return make


@pytest.mark.parametrize("name", REAL)
def test_every_published_set_has_a_card_for_each_of_its_splits(name: str) -> None:
    cfg = compose([f"dataset={name}"])
    card = cfg.dataset.expected
    counts = ("pairs", *cfg.dataset.classes) if "classes" in cfg.dataset else ("questions", "pairs", "answers", "without_answer")
    assert {"dev"} < set(card)
    assert all(tuple(numbers) == counts and numbers[counts[0]] > 0 for numbers in card.values())
    if "pools" in cfg.dataset.reader:
        assert set(card) == {"train", *cfg.dataset.reader.pools}
    elif "splits" in cfg.dataset.reader:
        assert set(card) == set(cfg.dataset.reader.splits)


def test_generated_data_have_no_card(cache_dir: Path) -> None:
    sizes = [f"dataset.reader.num_{split}=5" for split in ("train", "dev", "test")]
    data = instantiate(compose([*sizes, f"cache_dir={cache_dir}"]).dataset)
    assert data.describe()["card"] == "none"


@pytest.mark.parametrize("name", REAL)
def test_what_is_on_disk_meets_its_card(name: str, data_dir: Path, cache_dir: Path) -> None:
    cfg = compose([f"dataset={name}", "dataset/vectors=random", f"data_dir={data_dir}", f"cache_dir={cache_dir}"])
    data = instantiate(cfg.dataset)
    try:
        described = data.describe()
    except MissingDataError as error:
        pytest.skip(str(error).splitlines()[0])
    assert described["card"] == "met"
    as_read = {split: {count.replace("_", " "): n for count, n in numbers.items()} for split, numbers in cfg.dataset.expected.items()}
    assert described["as read"] == as_read


def test_the_record_has_the_counts_of_the_files_and_of_what_is_used(small_wikiqa: Make) -> None:
    described = small_wikiqa("dataset.expected=null").describe()
    assert described["card"] == "none"
    assert described["as read"]["train"] == {"questions": 2, "pairs": 3, "answers": 1, "without answer": 1}
    assert described["splits"]["train"]["questions"] == 1


def test_other_files_are_refused_with_every_count_that_differs(small_wikiqa: Make) -> None:
    with pytest.raises(BadDataError) as error:
        _ = small_wikiqa().word_vectors
    message = str(error.value)
    assert message.startswith("data set wikiqa, as read: 12 faults\n  split train, questions: 2 were read, 2,118 expected\n")
    assert "  split test, without answer: 0 were read, 390 expected\n" in message
    assert "`qaexp data fetch wikiqa` fetches it." in message
    assert message.endswith("If this is intended, set dataset.expected=null.")


def test_null_is_not_checked_and_a_lacking_split_is_named(wikiqa: Make) -> None:
    splits = wikiqa().read().splits
    assert counted(splits["dev"]) == {"questions": 2, "pairs": 3, "answers": 1, "without_answer": 1}
    found = {name: counted(split) for name, split in splits.items()}
    require({"dev": {"questions": 2, "pairs": None, "answers": 1}}, "small", found)
    with pytest.raises(BadDataError) as error:
        require({"dev": {"questions": 2, "pairs": 4}, "test2": {"questions": None}}, "wikiqa", found)
    assert str(error.value).splitlines()[:3] == [
        "data set wikiqa, as read: 2 faults",
        "  split dev, pairs: 3 were read, 4 expected",
        "  split test2: expected, but there are only train, dev, test",
    ]


def test_a_card_with_an_unknown_count_is_refused(wikiqa: Make) -> None:
    with pytest.raises(ConfigError, match=r"dataset\.expected\.dev\.right is not counted; a split's counts are questions, pairs"):
        require({"dev": {"right": 1}}, "wikiqa", {"dev": counted(wikiqa().read().splits["dev"])})


def test_a_card_with_nulls_is_met_where_it_states_counts(small_wikiqa: Make) -> None:
    card = "{questions: 2, pairs: 3, answers: null, without_answer: 1}"
    expected = [f"dataset.expected.train={card}", "~dataset.expected.dev", "~dataset.expected.test"]
    assert small_wikiqa(*expected).describe()["card"] == "met where it states counts"
