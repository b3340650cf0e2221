"""`like:` in the files of experiments/: what a table, or a row of it, takes from another."""

from pathlib import Path

import pytest
import yaml

from qaexp.errors import ConfigError
from qaexp.reproduction.read import result_figures, result_tables
from qaexp.reproduction.spec import Table

THERE = """
source: Theirs
caption: Theirs.
label: Model
scale: 100
decimals: 2
seeds: [1, 2]
common: [optimizer=adam]
quick: [trainer=short]
settings: {A: {datasets: [toy]}, B: {datasets: [toy], overrides: [patience=3]}}
columns: {MAP: {metric: test/map}, MRR: {metric: test/mrr}}
rows:
  - {label: Wang, published: [60.0, 70.0], note: another's}
  - {label: GGSA, overrides: [model=ggsa], in_setting: {B: [seed=2]}, published: [61.0, 71.0], note: ours}
  - {label: BM25, overrides: [model=bm25], reads_vectors: false, setting: B, published: [50.0, 55.0]}
notes: [of theirs]
"""


def _tables(folder: Path, **files: str) -> dict[str, Table]:
    for name, content in {"theirs": THERE, **files}.items():
        (folder / name).mkdir()
        (folder / name / "table1.yaml").write_text(content, encoding="utf-8")
    return {table.paper: table for table in result_tables(folder)}


def test_a_table_takes_what_it_leaves_out(tmp_path: Path) -> None:
    tables = _tables(
        tmp_path, mine="{source: Mine, like: ../theirs/table1, caption: Mine., seeds: [1], rows: [{label: Q, overrides: [model=qrnn]}]}"
    )
    mine, theirs = tables["mine"], tables["theirs"]
    assert (mine.source, mine.caption, mine.notes, list(mine.seeds)) == ("Mine", "Mine.", (), [1])
    for taken in ("label", "scale", "decimals", "common", "quick", "settings", "columns"):
        assert getattr(mine, taken) == getattr(theirs, taken)
    assert [row.label for row in mine.rows] == ["Q"]


def test_without_rows_it_has_those_that_run_and_no_printed_number(tmp_path: Path) -> None:
    mine = _tables(tmp_path, mine="{source: Mine, like: ../theirs/table1, caption: Mine.}")["mine"]
    assert [(row.label, row.overrides, row.setting, row.note, row.published) for row in mine.rows] == [
        ("GGSA", ["model=ggsa"], "", "", ["", ""]),
        ("BM25", ["model=bm25"], "B", "", ["", ""]),
    ]


def test_a_row_runs_what_another_runs_under_its_own_printed_numbers(tmp_path: Path) -> None:
    rows = """
rows:
  - {label: GGSA, like: ../theirs/table1, published: [1.0, 2.0]}
  - {label: ours, like: {../theirs/table1: BM25}, setting: A, note: elsewhere in B}
"""
    one, other = _tables(
        tmp_path, mine="{source: Mine, like: ../theirs/table1, caption: Mine., " + f"rows: {yaml.safe_load(rows)['rows']}" + "}"
    )["mine"].rows
    assert (one.overrides, one.in_setting, one.published, one.note) == (["model=ggsa"], {"B": ["seed=2"]}, [1.0, 2.0], "")
    assert (other.overrides, other.setting, other.reads_vectors, other.note) == (["model=bm25"], "A", False, "elsewhere in B")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("{like: tabel1}", r"mine/table1\.yaml: .* like: tabel1: there is no .*mine/tabel1\.yaml; did you mean table1\?"),
        ("{like: table1}", "like: table1: that one is like this one"),
        (
            "{rows: [{label: GGSM, like: ../theirs/table1}]}",
            r"row 'GGSM' is like 'GGSM' of ../theirs/table1, which runs no such row; did you mean GGSA\?",
        ),
        (
            "{rows: [{label: Wang, like: ../theirs/table1}]}",
            "row 'Wang' is like 'Wang' of .*, which runs no such row; choose among GGSA, BM25",
        ),
        ("{rows: [{label: Q, like: {a: b, c: d}}]}", "row 'Q': like: is one table, and one row of it"),
    ],
)
def test_a_mistake_is_told_with_the_file(content: str, fault: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=fault):
        _tables(tmp_path, mine=content)


def test_two_tables_cannot_be_like_each_other(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="that one is like this one"):
        _tables(tmp_path, one="{like: ../other/table1}", other="{like: ../one/table1}")


def test_figures_of_accuracy_by_length_are_of_table_3s_runs() -> None:
    table = next(table for table in result_tables() if table.title == "ap, Table 3")
    ran = {row.label: row.overrides for row in table.rows if row.overrides is not None}
    for figure in result_figures():
        if figure.paper == "ap":
            assert {row.label: row.overrides for row in figure.rows} == ran
