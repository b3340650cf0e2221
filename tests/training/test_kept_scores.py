"""A test that is stopped goes on where it was, to the same scores, and takes up nothing of other weights."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from qaexp.config import compose
from qaexp.data.batch import ScoringBlock
from qaexp.models.types import Text
from qaexp.runs.record import RunRecord
from qaexp.train import train
from qaexp.training import callbacks as kept_scores
from qaexp.training.callbacks import KeepScores
from qaexp.training.ranking import RankingModule
from qaexp.training.scoring import SplitScores

SMALL = ["logger=none", "dataset.reader.num_train=40", "dataset.reader.num_dev=20", "dataset.reader.num_test=30", "dataset.vectors.dim=12"]


class PowerCutError(Exception):
    """Stops a run at once."""


@pytest.fixture(scope="module")
def overrides(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return [*SMALL, f"cache_dir={tmp_path_factory.mktemp('cache')}", "trainer.max_epochs=1", "dataset.block_tokens=200"]


@pytest.fixture(scope="module")
def whole(overrides: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nothing stopped."""
    folder = tmp_path_factory.mktemp("whole")
    train(compose(overrides), folder)
    return folder


def stop_before(block: int, split: str = "test") -> Callable[..., None]:
    """A step of testing that never comes to this block of the split."""
    original = RankingModule.test_step

    def step(self: RankingModule, given: ScoringBlock, index: int, dataloader_idx: int = 0) -> None:
        if given.split == split and index == block:
            raise PowerCutError
        original(self, given, index, dataloader_idx)

    return step


def count_texts(patch: pytest.MonkeyPatch) -> list[int]:
    """The number of texts of each block that is encoded from now on."""
    counted: list[int] = []
    original = SplitScores._encoded

    def encoded(self: SplitScores, encode: Callable[[torch.Tensor], Text], block: ScoringBlock) -> Text:
        counted.append(len(block.tokens))
        return original(self, encode, block)

    patch.setattr(SplitScores, "_encoded", encoded)
    return counted


@pytest.mark.parametrize("killed", [False, True])
def test_a_test_that_is_stopped_goes_on_to_the_same_scores(
    killed: bool, overrides: list[str], whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(RankingModule, "test_step", stop_before(block=12))
        if killed:  # no last word: what was written a block before is all there is
            patch.setattr(KeepScores, "on_exception", lambda *_: None)
            patch.setattr(kept_scores, "SECONDS_BETWEEN_SAVES", -1.0)
        with pytest.raises(PowerCutError):
            train(compose(overrides), tmp_path)
    kept = torch.load(tmp_path / "test-0.part", weights_only=True)["scores"]
    assert not kept["dev"].isnan().any()
    some = int((~kept["test"].isnan()).sum())
    assert 0 < some < len(kept["test"]) == 300

    texts = count_texts(monkeypatch)
    with caplog.at_level(logging.INFO, "qaexp.training.callbacks"):
        train(compose(overrides), tmp_path, resume=True)
    assert f"ranking continues: {200 + some} pairs were scored before" in caplog.text
    assert sum(texts) == 20 + 30 + 300 - some  # every question again; of the candidates those without a score
    assert (tmp_path / "test.run").read_bytes() == (whole / "test.run").read_bytes()
    assert RunRecord.load(tmp_path).metrics == RunRecord.load(whole).metrics
    assert not list(tmp_path.glob("*.part"))


def test_a_long_test_logs_its_progress_without_a_progress_bar(
    overrides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("qaexp.training.progress_bar.SECONDS_BETWEEN_LINES", -1.0)
    with caplog.at_level(logging.INFO, "qaexp.training.progress_bar"):
        train(compose(overrides), tmp_path)
    told = [message for message in caplog.messages if message.startswith("ranking ")]
    assert told[0] == "ranking dev: 0 of 200 pairs are scored"
    assert "ranking dev: 200 of 200 pairs are scored" in told
    assert told[-1] == "ranking test: 300 of 300 pairs are scored"


def test_a_second_stop_keeps_scores_of_later_splits_from_the_first(
    overrides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = []
    for resume, stop in enumerate([stop_before(block=12), stop_before(block=2, split="dev")]):
        with monkeypatch.context() as patch:
            patch.setattr(RankingModule, "test_step", stop)
            with pytest.raises(PowerCutError):
                train(compose(overrides), tmp_path, resume=bool(resume))
        kept.append(torch.load(tmp_path / "test-0.part", weights_only=True)["scores"])
    assert kept[0].keys() == kept[1].keys() == {"dev", "test"}
    for split, scores in kept[0].items():
        torch.testing.assert_close(kept[1][split], scores, rtol=0, atol=0, equal_nan=True)


def test_dev_scores_of_training_are_not_kept_as_test_scores(overrides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RankingModule, "test_step", stop_before(block=0, split="dev"))
    with pytest.raises(PowerCutError):
        train(compose(overrides), tmp_path)
    assert torch.load(tmp_path / "test-0.part", weights_only=True)["scores"] == {}


def test_a_stop_before_the_ranking_keeps_earlier_scores(
    overrides: list[str], whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(RankingModule, "test_step", stop_before(block=12))
        with pytest.raises(PowerCutError):
            train(compose(overrides), tmp_path)
    part = (tmp_path / "test-0.part").read_bytes()

    def stop(*_: object) -> None:
        raise PowerCutError

    with monkeypatch.context() as patch:
        patch.setattr(RankingModule, "take_up", stop)
        with pytest.raises(PowerCutError):
            train(compose(overrides), tmp_path, resume=True)
    assert (tmp_path / "test-0.part").read_bytes() == part
    train(compose(overrides), tmp_path, resume=True)
    assert (tmp_path / "test.run").read_bytes() == (whole / "test.run").read_bytes()


@pytest.mark.parametrize("changed", ["weights", "data"])
def test_scores_of_other_weights_or_data_are_not_reused(
    changed: str, overrides: list[str], whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(RankingModule, "test_step", stop_before(block=12))
        with pytest.raises(PowerCutError):
            train(compose(overrides), tmp_path)
    part = torch.load(tmp_path / "test-0.part", weights_only=True)
    part["scores"]["test"] = torch.arange(300.0)
    assert part["of"].count(f"{changed} ") == 1
    torch.save({**part, "of": part["of"].replace(f"{changed} ", f"{changed} 0")}, tmp_path / "test-0.part")
    train(compose(overrides), tmp_path, resume=True)
    assert not [path for path in tmp_path.iterdir() if "part" in path.name]
    assert (tmp_path / "test.run").read_bytes() == (whole / "test.run").read_bytes()


def test_a_damaged_part_is_named_and_left_out(
    overrides: list[str], whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(RankingModule, "test_step", stop_before(block=12))
        with pytest.raises(PowerCutError):
            train(compose(overrides), tmp_path)
    part = tmp_path / "test-0.part"
    part.write_bytes(part.read_bytes()[:-100])
    train(compose(overrides), tmp_path, resume=True)
    assert caplog.text.count(f"{part} is damaged") == 1
    assert (tmp_path / "test.run").read_bytes() == (whole / "test.run").read_bytes()
