"""Which of a row's alternatives runs on what is on disk."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest
from hydra.utils import instantiate

from qaexp import config
from qaexp.config import CONF, compose
from qaexp.reproduction import cells
from qaexp.reproduction.cells import Keys, alternatives, at_hand, lacking
from qaexp.reproduction.spec import Row, Setting, Table, result_tables

YAHOOQA = next(table for table in result_tables() if table.title == "ctrn, Table 4")
BM25 = next(row for row in YAHOOQA.rows if row.label == "BM-25")
LSTM = next(row for row in YAHOOQA.rows if row.label == "LSTM")
TEXTS = ("YahooCQA-data.txt", "qnn-yahoo-train.txt")


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A part of YahooQA, and no word vectors."""
    monkeypatch.setenv("QAEXP_DATA", str(tmp_path))
    for folder in ("yahooqa", "embeddings"):
        (tmp_path / folder).mkdir()
    for name in TEXTS:
        (tmp_path / "yahooqa" / name).touch()
    cells._lacking.cache_clear()
    yield tmp_path
    cells._lacking.cache_clear()


def chosen(row: Row, table: Table = YAHOOQA) -> tuple[str, str, str]:
    cell = at_hand(list(alternatives(table, row, "YahooQA")))
    return cell.dataset, cell.vectors, lacking(cell)


def test_a_row_that_reads_no_vectors_runs_without_them(disk: Path) -> None:
    assert chosen(BM25) == ("yahooqa_partial", "glove300", "")
    assert chosen(LSTM)[2].startswith("yahooqa: ")


def test_own_data_are_found_in_the_folder_that_the_table_names(disk: Path) -> None:
    mine = {"mine": Setting(["own"], ["random"], overrides=[f"dataset.reader.folder={disk}"])}
    table = Table(**{**YAHOOQA.__dict__, "settings": mine})
    cell = next(alternatives(table, LSTM, "mine"))
    assert lacking(cell) == "own: train.tsv and 2 more missing"
    for split in ("train", "dev", "test"):
        (disk / f"{split}.tsv").touch()
    cells._lacking.cache_clear()
    assert lacking(cell) == ""


def test_an_option_with_a_plus_changes_the_data_that_are_read() -> None:
    """It took no part in the fingerprint, and a run with it was never done."""
    mine = {"mine": Setting(["own"], ["random"], overrides=["+dataset.reader.fold=2"])}
    cell = next(alternatives(Table(**{**YAHOOQA.__dict__, "settings": mine}), LSTM, "mine"))
    assert "+dataset.reader.fold=2" in cell.beginning(*cells.READING)


def test_texts_without_unknown_words_have_the_fingerprint_of_their_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))
    (tmp_path / "glove.txt").write_text("what" + " 0.5" * 50 + "\n")
    options = [f"dataset.vectors.path={tmp_path / 'glove.txt'}", "dataset.drop_unknown=true", "dataset.reader.num_train=10"]
    table = Table(**{**YAHOOQA.__dict__, "settings": {"toy": Setting(["toy"], ["glove50"], overrides=options)}})
    cell = next(alternatives(table, LSTM, "toy"))
    whole = next(
        alternatives(Table(**{**table.__dict__, "settings": {"toy": Setting(["toy"], ["glove50"], overrides=options[2:])}}), LSTM, "toy")
    )
    assert cells.fingerprint(cell) == instantiate(compose(cell.overrides).dataset).corpus.fingerprint != cells.fingerprint(whole)


def test_vectors_on_disk_are_named_even_if_not_read(disk: Path) -> None:
    (disk / "embeddings" / "webtext.300d.txt").touch()
    assert chosen(BM25) == chosen(LSTM) == ("yahooqa_partial", "webtext300", "")


def test_stored_keys_end_with_a_change_of_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "CONF", copytree(CONF, tmp_path / "conf"))
    places = set[Path]()
    for margin in (0.1, 0.2):
        (tmp_path / "conf" / "loss" / "pairwise_hinge.yaml").write_text(f"margin: {margin}\n")
        places.add(Keys(tmp_path)._path)
    assert len(places) == 2
