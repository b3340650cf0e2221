"""Made-up AskUbuntu: its counts, that similar questions are alike and others not, that it is there whole or not at all."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hydra.utils import instantiate

from qaexp.cli.data import main
from qaexp.config import compose
from qaexp.data import made_up
from qaexp.data.made_up import FEWEST
from qaexp.data.module import RankingDataModule

FILES = ["dev.txt", "heldout.txt", "test.txt", "text_tokenized.txt", "train_random.txt"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "askubuntu_made_up"
    assert main(["make-up", str(folder), "--questions", "4000"]) == 0
    return folder


@pytest.fixture
def data(folder: Path, cache_dir: Path) -> RankingDataModule:
    places = [f"data_dir={folder.parent}", f"cache_dir={cache_dir}", "dataset.expected=null"]
    return instantiate(compose(["dataset=askubuntu_made_up", *places]).dataset)


def test_it_is_read_as_askubuntu_is_and_has_its_proportions(data: RankingDataModule) -> None:
    corpus = data.corpus
    assert data.partial_data
    assert 3900 < len(corpus.texts) <= 4000
    train, dev, test = (corpus.splits[name] for name in ("train", "dev", "test"))
    assert (train.num_questions, dev.num_questions, test.num_questions) == (300, 100, 100)
    assert int(train.labels.sum()) == 391
    assert set(np.diff(dev.offsets)) == {20}
    assert len(corpus.held_out) == 47
    in_use = np.concatenate([side for split in (train, dev, test) for side in (split.questions, split.candidates[split.labels == 1])])
    assert not np.isin(corpus.held_out, in_use).any()
    title, body = corpus.texts.lengths(train.questions, 1000).max(), np.diff(corpus.texts.offsets)[::2].mean()
    assert title > 30
    assert 5 < body < 12


def test_bm25_ranks_better_than_chance_and_is_not_perfect(data: RankingDataModule) -> None:
    scores = {
        "bm25": torch.tensor(data.splits["test"].retrieval_scores),
        "random": torch.rand(data.splits["test"].num_pairs, generator=torch.Generator().manual_seed(1)),
    }
    found = {name: data.metrics("test", values).compute()["map"].item() for name, values in scores.items()}
    assert found["random"] + 0.04 < found["bm25"] < 0.9
    assert data.splits["test"].labels.mean() < 0.2


def test_equal_seeds_give_equal_files_and_others_do_not(folder: Path, tmp_path: Path) -> None:
    assert main(["make-up", str(tmp_path / "again"), "--questions", "4000"]) == 0
    assert main(["make-up", str(tmp_path / "other"), "--questions", "4000", "--seed", "2"]) == 0
    assert sorted(path.name for path in folder.iterdir()) == FILES
    for name in FILES:
        written = (folder / name).read_bytes()
        assert (tmp_path / "again" / name).read_bytes() == written != (tmp_path / "other" / name).read_bytes()


def test_it_is_there_whole_or_not_at_all(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert main(["make-up", str(folder)]) == 2
    assert "is there already" in caplog.text
    assert main(["make-up", str(tmp_path / "few"), "--questions", str(FEWEST - 1)]) == 2
    monkeypatch.setattr(made_up, "_training", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    assert main(["make-up", str(tmp_path / "stopped"), "--questions", "4000"]) == 130
    assert list(tmp_path.iterdir()) == []
