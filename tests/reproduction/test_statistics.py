"""`qaexp data describe`: figures worked out by hand, printed ones beside them, partial sets called partial."""

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qaexp.cli.data import main
from qaexp.config import choices
from qaexp.errors import ConfigError
from qaexp.files import csv_text
from qaexp.reproduction import statistics
from qaexp.reproduction.statistics import MEASURED, MISSING, PARTIAL, frame, measure, tables

Make = Callable[..., Any]
TABLE = """
source: "A paper, Table 9"
kind: statistics
questions: as used
columns:
  Train: {measure: questions, of: [train]}
  Test: {measure: questions, of: [test, test1]}
  Test2: {measure: questions, of: [test2]}
  Candidates: {measure: candidates per question, of: [dev, test]}
rows:
  - {label: Toys, datasets: [insuranceqa, toy], published: [1K, 144, 7, null]}
  - {label: Insurance, datasets: [insuranceqa], published: [12887, 1800, 1800, 500]}
"""


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, cache_dir: Path) -> None:
    monkeypatch.setenv("QAEXP_CACHE", str(cache_dir))


@pytest.fixture
def experiments(tmp_path: Path) -> Make:
    """A folder of tables with one of statistics in it."""

    def make(text: str = TABLE) -> Path:
        folder = tmp_path / "experiments" / "paper"
        folder.mkdir(parents=True)
        (folder / "table9.yaml").write_text(text, encoding="utf-8")
        (folder / "table10.yaml").write_text("source: elsewhere\nrows: []\n", encoding="utf-8")
        return tmp_path / "experiments"

    return make


def test_ours_stand_beside_the_printed_figures(experiments: Make, cache: None, tmp_path: Path) -> None:
    [table] = tables(experiments())
    assert (table.paper, table.name) == ("paper", "table9")
    toys, insurance = rows = measure(table, str(tmp_path))
    assert (toys.status, toys.measured_on, list(toys.figures)) == (MEASURED, "dataset=toy", [1008, 288, None, None])
    assert (insurance.status, list(insurance.figures)) == (MISSING, [None] * 4)
    assert csv_text(frame(table, rows)).splitlines() == [
        "data set,Train,Train (paper),Test,Test (paper),Test2,Test2 (paper),Candidates,Candidates (paper),status,measured on",
        "Toys,1008,1K,288,144,,7,,,measured,dataset=toy",
        "Insurance,,12887,,1800,,1800,,500,data missing,",
    ]


def test_a_partial_set_is_called_partial(experiments: Make, cache: None, tmp_path: Path) -> None:
    partial = TABLE.replace("datasets: [insuranceqa, toy]", "datasets: [toy], overrides: [dataset.partial_data=true]")
    [table] = tables(experiments(partial))
    assert [row.status for row in measure(table, str(tmp_path))] == [PARTIAL, MISSING]


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("published: [1K, 144, 7, null]", "published: [1K]", "row 'Toys' has 1 printed numbers for 4 columns"),
        ("measure: candidates per question", "measure: candles", "candles of row 'Toys' is not measured; what is: questions, pairs"),
        ("datasets: [insuranceqa, toy]", "file: toy.txt", "row 'Toys' needs datasets, or a file and read_by"),
        ("as used", "as sold", "questions is 'as sold'; write `as read` or `as used`"),
        ("of: [test2]", "off: [test2]", "it is not a table of statistics"),
    ],
)
def test_mistakes_in_a_table_are_named(experiments: Make, right: str, wrong: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as error:
        tables(experiments(TABLE.replace(right, wrong)))
    assert "table9.yaml" in str(error.value)


def test_the_papers_tables_name_data_sets_that_exist() -> None:
    found = {f"{table.paper}/{table.name}": table for table in tables()}
    assert {"ap/table1", "ctrn/table3", "ggsa/table1", "rcnn/table1"} <= set(found)
    assert {name for table in found.values() for row in table.rows for name in row.datasets} <= set(choices("dataset"))


def test_the_command_shows_and_writes_what_is_missing(
    experiments: Make, cache: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = experiments()
    found = tables(folder)
    monkeypatch.setattr(statistics, "tables", lambda: found)
    assert main(["describe", "--data", str(tmp_path / "none"), "--csv", str(tmp_path / "results")]) == 0
    out = capsys.readouterr().out
    assert "paper, Table 9 (A paper, Table 9), questions as used: ours (paper)" in out
    assert "1,008 (1K)" in out
    assert "– (12887)" in out
    with (tmp_path / "results" / "paper" / "table9.csv").open(newline="") as file:
        assert [row["status"] for row in csv.DictReader(file)] == [MEASURED, MISSING]
    (tmp_path / "blocked").write_text("")
    assert main(["describe", "--data", str(tmp_path / "none"), "--csv", str(tmp_path / "blocked")]) == 2
    assert "; name another place with --csv DIR" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("paper", "label", "needed", "status", "figures"),
    [
        ("ctrn", "TRAIN", "trecqa/jsonl", MEASURED, [94, 82, 100, 4718, 1148, 1517]),
        ("ctrn", "TRAIN-ALL", "trecqa/jsonl", MEASURED, [1229, 82, 100, 53417, 1148, 1517]),
        ("ap", "WikiQA", "wikiqa", MEASURED, [873, 126, 243]),
        ("ap", "TREC-QA", "trecqa/jsonl", MEASURED, [1161, 65, 68]),  # printed: 1162
        ("rcnn", "Dev", "askubuntu/dev.txt", MEASURED, [None, None, None, None, 200, 4000, 5.885]),
        ("rcnn", "Test", "askubuntu/test.txt", MEASURED, [None, None, None, None, 200, 4000, 5.39]),
    ],
)
def test_published_sets(paper: str, label: str, needed: str, status: str, figures: Any, data_dir: Path, cache: None) -> None:
    if not (data_dir / needed).exists():
        pytest.skip(f"{data_dir / needed} is not at hand")
    [table] = [each for each in tables() if each.paper == paper]
    [row] = [each for each in table.rows if each.label == label]
    [measured] = measure(replace(table, rows=[row]), str(data_dir))
    assert measured.status == status
    assert list(measured.figures)[: len(figures)] == pytest.approx(figures)
