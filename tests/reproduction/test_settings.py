"""Tables of settings and sizes: what our rows have is what the papers print."""

from pathlib import Path

import pytest

from qaexp.errors import ConfigError
from qaexp.reproduction.settings import ConfigurationTable, configuration_tables

TABLES = {table.title: table for table in configuration_tables()}


def test_all_are_there() -> None:
    assert list(TABLES) == ["ap, Table 2", "clstm, Table 1", "ctrn, Table 2", "rcnn, Table 3"]


@pytest.mark.parametrize("title", TABLES)
def test_ours_are_the_printed_ones(title: str) -> None:
    frame = TABLES[title].frame()
    label = TABLES[title].label
    differ = {row[label]: row["agrees"] for row in frame.to_dict("records") if row["agrees"] != "yes"}
    assert differ == ({"AP-BiLSTM": "no: # Params"} if title == "ctrn, Table 2" else {})


def test_values_of_several_data_sets_are_joined_as_printed() -> None:
    table = TABLES["ap, Table 2"]
    line = table.frame().set_index(table.label).loc["AP-CNN"]
    assert (line["Word Emb. size"], line["Context Window size"], line["Loss margin"]) == ("100/300", "3/4", "0.5")


def test_counts_are_exact() -> None:
    table = TABLES["rcnn, Table 3"]
    assert table.frame()["|θ|"].tolist() == ["423360", "404040", "400867", "400800"]


HEAD = "source: s\nkind: configuration\ncaption: c\nlabel: Model\ncolumns: {d: {paths: [optimizer.lr]}}\nrows:\n"


def _loaded(folder: Path, rows: str) -> ConfigurationTable:
    (folder / "ap").mkdir()
    (folder / "ap" / "table2.yaml").write_text(HEAD + rows, encoding="utf-8")
    return configuration_tables(folder)[0]


def test_a_value_that_differs_is_named(tmp_path: Path) -> None:
    frame = _loaded(tmp_path, "  - {label: a, overrides: [optimizer=adam, optimizer.lr=0.01], published: [0.001]}\n").frame()
    assert frame.to_dict("records") == [{"Model": "a", "d": "0.01", "d (paper)": "0.001", "agrees": "no: d"}]


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("{label: a, overrides: [seed=1], published: [1, 2]}", "row 'a' has 2 printed numbers for 1 columns"),
        ("{label: a, published: [1]}", "row 'a' needs either overrides or cells"),
        ("{label: a, overrides: [seed=1], counts: {pooling: biases}, published: [1]}", "'biases' cannot be counted"),
    ],
)
def test_a_mistake_is_named_with_file_and_fault(row: str, fault: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"table2\.yaml") as raised:
        _loaded(tmp_path, f"  - {row}\n")
    assert fault in str(raised.value)


def test_a_row_of_a_table_that_does_not_exist_is_named(tmp_path: Path) -> None:
    table = _loaded(tmp_path, "  - {label: a, cells: [{table: 3, row: AP-DNN}], published: [1]}\n")
    with pytest.raises(ConfigError, match=r"row 'a': there is no row 'AP-DNN' that runs in ap, Table 3"):
        table.frame()
