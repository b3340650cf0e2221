"""Files of tables: how they are read, what they inherit, and mistakes in them."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from qaexp.config import choices, compose
from qaexp.errors import ConfigError
from qaexp.reproduction.cells import alternatives
from qaexp.reproduction.content import EXPERIMENTS
from qaexp.reproduction.measured import values_in_tables
from qaexp.reproduction.spec import UNPRINTED, Table, Tuning, result_figures, result_tables, tunings

TABLES = {table.title: table for table in result_tables()}
PAPERS = {
    "ap": {"3": (6, 3), "4": (7, 2), "5": (6, 2)},
    "clstm": {"2": (11, 3), "4": (12, 3)},
    "ctrn": {"4": (11, 2), "5": (8, 2), "6": (9, 4), "7": (16, 2)},
    "ggsa": {"2": (6, 2), "3": (3, 3), "4": (5, 2), "5": (14, 2), "6": (11, 2), "7": (4, 2)},
    "rcnn": {"2": (10, 8), "4": (8, 8), "5": (6, 3)},
}
"""Rows and columns, counted in the papers."""


def test_the_field_tables_have_every_ranking_model_under_one_protocol() -> None:
    tables = {table.title: table for table in result_tables()}
    told_by_scores = {"bm25_scores"}  # of AskUbuntu's search engine
    pretrained = {"bi_encoder", "cross_encoder"}  # on other text than the word vectors of these tables
    for title in ("field, Table 1", "field, Table 2"):
        table = tables[title]
        cells = [next(alternatives(table, row, "field")) for row in table.rows]
        models = [next(o for o in cell.overrides if o.startswith("model=")).removeprefix("model=") for cell in cells]
        assert sorted(models) == sorted(set(choices("model")) - told_by_scores - pretrained)
        trained = [cell.overrides for cell in cells if cell.row.reads_vectors]
        for option in ("loss=mean_hinge", "dataset.negatives.num=3", "model.embedding.dropout_rate=0.2", "dataset/vectors=glove50"):
            assert all(option in overrides for overrides in trained), option


def test_all_tables_of_results_are_there_in_full() -> None:
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for table in TABLES.values():
        printed = [row for row in table.rows if set(row.published) != {UNPRINTED}]  # the others are ours
        if printed:
            found.setdefault(table.paper, {})[table.number] = (len(printed), len(table.columns))
    assert found == PAPERS


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_everything_a_file_names_exists(table: Table) -> None:
    data, vectors = set(choices("dataset")), set(choices("dataset/vectors"))
    for where in (*table.settings.values(), *table.rows):
        assert set(where.datasets) <= data
        assert set(where.vectors) <= vectors
    used = {name for row in table.rows for name in table.settings_of(row)}
    assert used == set(table.settings)
    for column in table.columns.values():
        assert set(column.metric_on) <= {dataset for setting in table.settings.values() for dataset in setting.datasets}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_printed_numbers_have_no_more_decimals_than_the_table(table: Table) -> None:
    for row in table.rows:
        for printed, column in zip(row.published, table.columns.values(), strict=True):
            if isinstance(printed, (int, float)):
                assert printed == pytest.approx(round(printed, table.decimals_of(column)), abs=1e-12)
                if column.metric and "/" in column.metric:
                    assert 0 < printed / table.scale_of(column) < 1


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_rows_that_are_published_only_say_why(table: Table) -> None:
    assert [row.label for row in table.rows if row.overrides is None and not row.note] == []


def test_a_printed_number_is_the_same_in_all_tables() -> None:
    """A row that a paper repeats in another table runs the same command and has the same numbers."""
    again = [
        ("ctrn, Table 6", "CTRN (This paper)", [2, 3], "ctrn, Table 7", "CTRN (TRAIN-ALL)"),
        ("ctrn, Table 6", "CTRN (This paper)", [0, 1], "ctrn, Table 7", "CTRN (TRAIN)"),
        ("ctrn, Table 6", "HD-LSTM", [2, 3], "ctrn, Table 7", "Tay et al. (2017) - HD-LSTM"),
        ("ctrn, Table 6", "QRNN", [2, 3], "ctrn, Table 7", "Bradbury et al. (2016) - QRNN+MLP"),
        ("ctrn, Table 6", "CNN + LR", [2, 3], "ctrn, Table 7", "Yu et al. (2014) - CNN+LR"),
        ("ggsa, Table 2", "GGSA with max-pooling", [0, 1], "ggsa, Table 5", "GGSA with max-pooling"),
        ("ggsa, Table 2", "GGSA with attention", [0, 1], "ggsa, Table 5", "GGSA with attention"),
        ("ggsa, Table 4", "iGGSA", [0, 1], "ggsa, Table 5", "iGGSA with max-pooling"),
        ("ggsa, Table 4", "global self-attention", [0, 1], "ggsa, Table 2", "global self-attention with max-pooling"),
        ("ggsa, Table 6", "GGSA with max-pooling", [0, 1], "ggsa, Table 7", "GGSA with max-pooling (pointwise loss)"),
        ("ggsa, Table 6", "iGGSA with attention", [0, 1], "ggsa, Table 7", "iGGSA with attention (pointwise loss)"),
        ("rcnn, Table 2", "RCNNs + pre-train (last)", list(range(8)), "rcnn, Table 4", "RCNNs + pre-train, last state"),
        ("rcnn, Table 2", "CNNs (mean)", list(range(8)), "rcnn, Table 4", "CNNs, mean-pooling"),
        ("rcnn, Table 2", "RCNNs (last)", [4, 5, 6], "rcnn, Table 5", "RCNNs, last state, title + body"),
        ("rcnn, Table 2", "TF-IDF", [4, 5, 6], "rcnn, Table 5", "TF-IDF, title + body"),
    ]
    for first, one, places, second, other in again:
        a, b = (next(r for r in TABLES[title].rows if r.label == label) for title, label in ((first, one), (second, other)))
        assert [a.published[place] for place in places] == list(b.published), (one, other)
        if first != "ctrn, Table 6":
            assert sorted(a.overrides or ()) == sorted(b.overrides or ()), (one, other)
        assert sorted(a.pretrain or ()) == sorted(b.pretrain or ()), (one, other)


def _content() -> dict:
    return yaml.safe_load((EXPERIMENTS / "ctrn" / "table5.yaml").read_text(encoding="utf-8"))


def _loaded(folder: Path, content: object) -> list[Table]:
    (folder / "ctrn").mkdir()
    (folder / "ctrn" / "table5.yaml").write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
    return result_tables(folder)


def _too_few(content: dict) -> None:
    content["rows"][0]["published"].pop()


def _no_such_setting(content: dict) -> None:
    content["rows"][1]["setting"] = "TRAIN"


def _twice(content: dict) -> None:
    content["rows"][1]["label"] = "ARC-I CNN"


def _misspelt(content: dict) -> None:
    content["rows"][1]["override"] = []


def _no_columns(content: dict) -> None:
    del content["columns"]


def _no_caption(content: dict) -> None:
    del content["caption"]


def _one_seed(content: dict) -> None:
    content["seeds"] = 3


def _no_list(content: dict) -> None:
    content["rows"][1]["overrides"] = "model=arc_ii"


def _no_metric(content: dict) -> None:
    content["columns"]["MAP"]["metric"] = "test/nonsense"


def _no_data(content: dict) -> None:
    content["settings"]["QatarLiving"]["datasets"] = ["qatarlivin"]


def _no_list_of_data(content: dict) -> None:
    content["settings"]["QatarLiving"]["datasets"] = "qatarliving"


def _no_rows(content: dict) -> None:
    content["rows"] = []


def _one_number(content: dict) -> None:
    content["rows"][1]["published"] = 66


def _one_note(content: dict) -> None:
    content["notes"] = "as in our paper"


def _no_option(content: dict) -> None:
    content["rows"][1]["overrides"] = ["model"]


def _no_list_before(content: dict) -> None:
    content["rows"][1]["pretrain"] = "model=gru"


def _no_option_before(content: dict) -> None:
    content["rows"][1]["pretrain"] = ["model"]


def _seed_twice(content: dict) -> None:
    content["seeds"] = [1, 1]


def _no_data_at_all(content: dict) -> None:
    content["settings"]["QatarLiving"]["datasets"] = []


def _empty_list(content: dict) -> None:
    content["seeds"] = None


def _empty_row(content: dict) -> None:
    content["rows"].append({"label": "CTRM"})


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (_too_few, "row 'ARC-I CNN' has 1 printed numbers for 2 columns"),
        (_no_such_setting, "there is no setting 'TRAIN'"),
        (_twice, "two rows are called 'ARC-I CNN'"),
        (_misspelt, "nothing reads 'override' in a row; did you mean overrides"),
        (_no_columns, "it lacks 'columns'"),
        (_no_caption, "a table lacks 'caption'"),
        (_one_seed, "seeds: 3 is not a list, such as [1, 2, 3]"),
        (_no_list, "row 'ARC-II CNN': overrides: 'model=arc_ii' is not a list, such as [model=ggsa]"),
        (
            _no_metric,
            "there is no metric 'test/nonsense'; name a measure of a split, as in test/nDCG@5, or one of ",
        ),
        (_no_data, "there is no dataset=qatarlivin; did you mean qatarliving"),
        (_no_list_of_data, "setting 'QatarLiving': datasets: 'qatarliving' is not a list, such as [wikiqa]"),
        (_one_number, "row 'ARC-II CNN': published: 66 is not a list, such as [66.12]"),
        (_one_note, "notes: 'as in our paper' is not a list"),
        (_no_option, "row 'ARC-II CNN': 'model' is not an option, such as model=ggsa"),
        (_no_list_before, "row 'ARC-II CNN': pretrain: 'model=gru' is not a list, such as [model=ggsa]"),
        (_no_option_before, "row 'ARC-II CNN': 'model' is not an option, such as model=ggsa"),
        (_seed_twice, "seeds: [1, 1] are not whole numbers, each once"),
        (_no_data_at_all, "each of its settings names a data set or several, as in datasets: [wikiqa]"),
        (_no_rows, "it has no rows"),
        (_empty_list, "'seeds' is empty in a table; fill it in, or leave it out"),
        (_empty_row, "row 'CTRM' has neither overrides nor printed numbers"),
    ],
)
def test_a_mistake_is_named_with_file_and_fault(spoil: Callable[[dict], None], fault: str, tmp_path: Path) -> None:
    content = _content()
    spoil(content)
    with pytest.raises(ConfigError) as raised:
        _loaded(tmp_path, content)
    assert str(tmp_path / "ctrn" / "table5.yaml") in str(raised.value)
    assert fault in str(raised.value)


def test_a_file_without_a_number_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "tableA.yaml").write_text(yaml.safe_dump(_content()))
    with pytest.raises(ConfigError, match=r"mine/tableA\.yaml: a file of a table or figure is named by its number"):
        result_tables(tmp_path)


def test_an_unknown_kind_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    path = tmp_path / "mine" / "table1.yaml"
    path.write_text("kind: result\ncaption: Mine.\n")
    with pytest.raises(ConfigError, match=r"mine/table1\.yaml: there is no kind 'result'; did you mean results\?"):
        result_tables(tmp_path)
    path.write_text("caption: Mine.\n")  # one of results, where it does not say
    with pytest.raises(ConfigError, match=r"mine/table1\.yaml: it is not a table of results: it lacks 'rows'"):
        result_tables(tmp_path)
    path.write_text("rows\n  - label: QA-CNN\n")
    with pytest.raises(ConfigError, match=r"mine/table1\.yaml, line 2: mapping values are not allowed in this context"):
        result_tables(tmp_path)
    path.write_text("caption: Mine.\nrows: []\ncaption: Ours.\n")
    with pytest.raises(ConfigError, match=r"mine/table1\.yaml, line 1: caption stands twice"):
        result_tables(tmp_path)


def test_a_table_that_is_not_yaml_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"table5\.yaml"):
        _loaded(tmp_path, "rows: [")


def test_own_tables_need_no_printed_numbers(tmp_path: Path) -> None:
    content = _content()
    content["rows"] = [row for row in content["rows"] if "overrides" in row]
    for row in content["rows"]:
        row.pop("published", None)
    [table] = _loaded(tmp_path, content)
    assert {printed for row in table.rows for printed in row.published} == {UNPRINTED}


def test_the_shortest_table_is_the_one_in_the_guide(tmp_path: Path) -> None:
    guide = (EXPERIMENTS.parent / "docs" / "howto" / "tables.md").read_text(encoding="utf-8")
    [table] = _loaded(tmp_path, guide.partition("```yaml\n")[2].partition("```\n")[0])
    assert (table.label, table.scale, table.decimals, list(table.seeds)) == ("Model", 100, 2, [1, 2, 3])
    cells = [next(alternatives(table, row, "wikiqa", quick)) for row in table.rows for quick in (False, True)]
    assert [" ".join(cell.overrides) for cell in cells] == [
        "dataset=wikiqa model=ggsa",
        "dataset=wikiqa model=ggsa trainer=short",
        "dataset=wikiqa model=qa_lstm optimizer=adam",
        "dataset=wikiqa model=qa_lstm optimizer=adam trainer=short",
    ]
    for cell in cells:
        assert compose(cell.overrides).model


def test_an_unchanged_copy_loads(tmp_path: Path) -> None:
    assert [table.title for table in _loaded(tmp_path, _content())] == ["ctrn, Table 5"]


@pytest.mark.parametrize("tuning", tunings(), ids=lambda tuning: tuning.title)
def test_each_row_of_a_tuning_is_in_the_tables_with_one_of_its_values(tuning: Tuning) -> None:
    """So that this one is run once, and what was chosen on dev is what the tables have."""
    assert list(values_in_tables(tuning)) == [row.label for row in tuning.rows]
    for row in tuning.rows:
        commands = {frozenset(next(alternatives(tuning, row, name)).overrides) for name in tuning.settings}
        assert len(commands) == len(tuning.columns)


def test_a_tuning_without_values_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ctrn" / "tuning_trecqa.yaml"
    path.parent.mkdir()
    path.write_text("metric: dev/map\nrows: []\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"tuning_trecqa\.yaml: it is not what a paper tuned: it lacks 'values'"):
        tunings(tmp_path)


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


def test_a_table_inherits_what_it_leaves_out(tmp_path: Path) -> None:
    tables = _tables(
        tmp_path, mine="{source: Mine, like: ../theirs/table1, caption: Mine., seeds: [1], rows: [{label: Q, overrides: [model=qrnn]}]}"
    )
    mine, theirs = tables["mine"], tables["theirs"]
    assert (mine.source, mine.caption, mine.notes, list(mine.seeds)) == ("Mine", "Mine.", (), [1])
    for option in ("label", "scale", "decimals", "common", "quick", "settings", "columns"):
        assert getattr(mine, option) == getattr(theirs, option)
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
        ("{like: table1}", "like: table1: a table cannot inherit from itself"),
        (
            "{rows: [{label: GGSM, like: ../theirs/table1}]}",
            r"row 'GGSM' is like 'GGSM' of ../theirs/table1, which runs no such row; did you mean GGSA\?",
        ),
        (
            "{rows: [{label: Wang, like: ../theirs/table1}]}",
            "row 'Wang' is like 'Wang' of .*, which runs no such row; choose among GGSA, BM25",
        ),
        ("{rows: [{label: Q, like: {a: b, c: d}}]}", "row 'Q': like: needs one table, and one row of it"),
        ("{like: ../theirs/tabel1}", r"there is no .*theirs/tabel1\.yaml; did you mean table1\?"),
        ("{like: ../nobody/table1}", r"there is no .*nobody/table1\.yaml; papers: ap, clstm, ctrn"),
        ("{columns: , rows: []}", r"columns: needs options by name, such as \{MAP: \{metric: test/map\}\}"),
        ("{rows: }", r"rows: needs a list of rows, each with a label, such as \[\{label: GGSA"),
        ("{rows: [GGSA]}", "rows: needs a list of rows, each with a label"),
    ],
)
def test_a_mistake_is_told_with_the_file(content: str, fault: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=fault):
        _tables(tmp_path, mine=content)


def test_two_tables_cannot_be_like_each_other(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a table cannot inherit from itself"):
        _tables(tmp_path, one="{like: ../other/table1}", other="{like: ../one/table1}")


def test_figures_of_accuracy_by_length_are_of_table_3s_runs() -> None:
    table = next(table for table in result_tables() if table.title == "ap, Table 3")
    ran = {row.label: row.overrides for row in table.rows if row.overrides is not None}
    for figure in result_figures():
        if figure.paper == "ap":
            assert {row.label: row.overrides for row in figure.rows} == ran


def test_tables_in_the_current_folder_are_read_beside_ours_and_inherit_from_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "experiments" / "mine").mkdir(parents=True)
    content = "{source: Mine, like: ../ctrn/table6, caption: Mine., rows: [{label: CNN, like: ../ctrn/table6}]}"
    (tmp_path / "experiments" / "mine" / "table1.yaml").write_text(content)
    ours = result_tables()
    monkeypatch.chdir(tmp_path)
    tables = result_tables()
    assert [table.title for table in tables if table.paper != "mine"] == [table.title for table in ours]
    [mine] = [table for table in tables if table.paper == "mine"]
    [theirs] = [table for table in tables if table.title == "ctrn, Table 6"]
    assert (mine.columns, mine.rows[0].overrides) == (theirs.columns, next(row for row in theirs.rows if row.label == "CNN").overrides)
