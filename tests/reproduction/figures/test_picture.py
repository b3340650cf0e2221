"""Figures of runs: their files, what is drawn of a ledger worked out by hand, and a figure from runs on toy to its three files."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from hydra.utils import instantiate
from matplotlib.image import imread
from small_table import SMALL, TABLE, TINY, entry_of

from qaexp.cli import reproduce
from qaexp.config import choices, compose
from qaexp.errors import ConfigError, QaexpError
from qaexp.reproduction import reproduction
from qaexp.reproduction.cells import Cell
from qaexp.reproduction.content import EXPERIMENTS
from qaexp.reproduction.figures.picture import picture_of, write_figure
from qaexp.reproduction.ledger import Entry, Ledger
from qaexp.reproduction.measured import CellState, Measured
from qaexp.reproduction.overview import write_overview
from qaexp.reproduction.reproduction import select
from qaexp.reproduction.spec import Column, Figure, Row, Setting, result_figures, result_tables, tunings

FIGURES = {figure.title: figure for figure in result_figures()}
TABLES = {table.title: table for table in result_tables()}


def figure(draw: Mapping[str, Any], rows: Sequence[Row], columns: Mapping[str, Column]) -> Figure:
    about = {"name": "figure9", "source": "Tay et al. 2018, Figure 9", "caption": "Made up.", "seeds": [1, 2], "quick": []}
    points = {"settings": {"toy": Setting(["toy"])}, "columns": columns, "rows": rows, "draw": draw}
    return Figure(**{**TABLE.__dict__, **about, **points})


def entry(seed: int = 1, seconds: float = 1.0, values: Sequence[float] = (), gpu: str | None = None, value: float = 0.5) -> Entry:
    return replace(
        entry_of(f"k{seed}", seed, [value]),
        hardware={"processor": "EPYC", "cores": 2, "threads": 1, "gpu": gpu},
        history=[{"epoch": 1}, {"epoch": 2}],
        seconds={"total": 9.0, "steps": 2 * seconds},
        steps=10,
        metrics={"test": {"p@1": value}},
        questions={"test": {"of": "q", "p@1": [float(value) for value in values]}},
    )


def filled(of: Figure, entries: Mapping[str, Sequence[Entry]]) -> Measured:
    """Rows without entries are there, and not run."""
    cells = {(row.label, "toy"): Cell(of, row, "toy", "toy", "") for row in of.rows}
    return Measured(of, {name: CellState(cell, entries.get(name[0], ())) for name, cell in cells.items()})


def rows(**overrides: Sequence[str]) -> list[Row]:
    return [Row(label, [""], overrides=given) for label, given in overrides.items()]


def test_all_figures_of_runs_are_there_and_say_how_they_are_drawn() -> None:
    assert list(FIGURES) == ["ap, Figure 3", "ap, Figure 4", "ctrn, Figure 3", "field, Figure 1", "field, Figure 2", "ggsa, Figure 8"]
    for each in FIGURES.values():
        picture_of(each)
        for setting in each.settings.values():
            assert set(setting.datasets) <= set(choices("dataset"))
            assert set(setting.vectors) <= set(choices("dataset/vectors"))


@pytest.mark.parametrize(
    ("title", "table", "labels"),
    [
        ("ap, Figure 3", "ap, Table 3", {label: label for label in ("QA-CNN", "QA-biLSTM", "AP-CNN", "AP-biLSTM")}),
        ("ap, Figure 4", "ap, Table 3", {label: label for label in ("QA-CNN", "QA-biLSTM", "AP-CNN", "AP-biLSTM")}),
        (
            "ggsa, Figure 8",
            "ggsa, Table 2",
            {"GGSA": "GGSA with max-pooling", "global self-attention": "global self-attention with max-pooling"},
        ),
    ],
)
def test_cells_that_a_table_has_too_are_the_same_command(title: str, table: str, labels: dict[str, str]) -> None:
    drawn, shown = FIGURES[title], TABLES[table]
    for label, theirs in labels.items():
        ours, other = (next(r for r in of.rows if r.label == name) for of, name in ((drawn, label), (shown, theirs)))
        setting = next(iter(drawn.settings))
        cells = [Cell(of, row, setting, drawn.settings[setting].datasets[0], "own_text") for of, row in ((drawn, ours), (shown, other))]
        drawn_with, shown_with = (cell.overrides for cell in cells)
        assert sorted(drawn_with) == sorted(shown_with)


def test_offsets_are_half_a_group_and_heads_divide_the_width() -> None:
    for row in FIGURES["ggsa, Figure 8"].rows:
        given = dict(override.split("=") for override in row.overrides or ())
        size, offset, heads = (int(given.get(f"model.encoder.{name}", 0)) for name in ("group_size", "offset", "num_heads"))
        assert size == 2 * offset
        assert not heads or 300 % heads == 0


RUNTIME = {"_target_": "qaexp.reproduction.figures.runtime.Runtime", "against": {"QRNN": {}, "CTRN": {"LSTM": 4}}}
SECONDS = {"seconds per epoch": Column("seconds per epoch", scale=1)}


def test_runtime_compares_seconds_of_one_machine() -> None:
    timed = figure(RUNTIME, rows(LSTM=["model=lstm"], QRNN=["model=qrnn"], CTRN=["model=ctrn"], GRU=["model=gru"]), SECONDS)
    has = {"LSTM": [entry(1, 30.0), entry(2, 50.0)], "QRNN": [entry(1, 10.0), entry(2, 0.1, gpu="H200")]}
    has["CTRN"] = [entry(1, 16.0, gpu="H200")]
    measured = filled(timed, has)
    frame = picture_of(timed).frame(measured, Ledger(Path("none"))).set_index("Model")
    assert frame["seconds per epoch"].tolist()[:3] == [40.0, 10.0, 16.0]
    assert frame["times QRNN"].tolist()[:2] == [4.0, 1.0]
    assert frame["times QRNN"].isna().tolist() == [False, False, True, True]  # another machine; not run
    assert frame.loc["LSTM", "times CTRN (paper)"] == 4
    assert frame["machine"].tolist() == ["EPYC, 1 thread", "EPYC, 1 thread", "H200", ""]
    assert frame["status"].tolist() == ["measured", "measured", "measured", "not run"]
    drawn = picture_of(timed).draw(measured, frame.reset_index())
    assert [text.get_text() for text in drawn.axes[0].texts] == ["10.0 s, 1.0 × QRNN", "16.0 s", "40.0 s, 4.0 × QRNN"]
    said = drawn._supxlabel.get_text().replace("\n", " ")  # type: ignore[attr-defined]
    assert said == "toy (measured), 1–2 seeds; 95% intervals of 3 seeds or more; timed on EPYC, 1 thread, H200"


def test_a_row_to_compare_with_must_exist() -> None:
    timed = figure(RUNTIME, rows(LSTM=["model=lstm"], QRNN=["model=qrnn"]), SECONDS)
    with pytest.raises(ConfigError, match=r"ctrn, Figure 9 has no row 'CTRN' to compare with; rows: LSTM, QRNN"):
        picture_of(timed).frame(filled(timed, {}), Ledger(Path("none")))


SENSITIVITY = {
    "_target_": "qaexp.reproduction.figures.sensitivity.Sensitivity",
    "panels": {"size": "model.encoder.group_size", "heads": "model.encoder.num_heads"},
    "default": "GGSA",
    "baseline": "global",
}


def test_the_default_is_a_point_of_each_panel_and_the_baseline_a_level() -> None:
    group, heads = ["model=ggsa", "model.encoder.group_size=20"], ["model=ggsa", "model.encoder.num_heads=2"]
    of = figure(
        SENSITIVITY,
        rows(**{"global": ["model=self_attention"], "20": group, "GGSA": ["model=ggsa"], "2": heads}),
        {"T": Column("test/p@1")},
    )
    measured = filled(of, {"global": [entry(value=0.3)], "20": [entry(value=0.4)], "GGSA": [entry(1, value=0.5), entry(2, value=0.7)]})
    picture = picture_of(of)
    frame = picture.frame(measured, Ledger(Path("none")))
    points = [(panel, None if math.isnan(value) else value, row) for panel, value, row in frame[["panel", "value", "Model"]].values]
    of_size = [("size", None, "global"), ("size", 10, "GGSA"), ("size", 20, "20")]
    assert points == [*of_size, ("heads", None, "global"), ("heads", 2, "2"), ("heads", 6, "GGSA")]
    assert frame["ours"].fillna(-1).tolist() == [30.0, 60.0, 40.0, 30.0, -1, 60.0]
    left, right = picture.draw(measured, frame).axes
    assert [tick.get_text() for tick in left.get_xticklabels()] == ["10", "20"]
    assert [tick.get_text() for tick in right.get_xticklabels()] == ["6"]  # two heads were not run
    level = next(line for line in left.lines if line.get_linestyle() == "--")
    assert list(level.get_ydata()) == [30.0, 30.0]
    heights = {str(line.get_marker()): list(line.get_ydata()) for line in left.lines}
    assert (heights["o"], heights["x"]) == ([60.0], [40.0])  # of two seeds, and of one, which has no interval


def test_a_baseline_alone_is_drawn() -> None:
    """It is the first row of Figure 8, and ended in a ValueError. The axis is named by the column's metric."""
    given = {"global": ["model=self_attention"], "GGSA": ["model=ggsa"], "20": ["model=ggsa", "model.encoder.group_size=20"]}
    of = figure(SENSITIVITY, rows(**given), {"T": Column("test/map")})
    measured = filled(of, {"global": [entry(value=0.5)]})
    frame = picture_of(of).frame(measured, Ledger(Path("none")))
    left, _ = picture_of(of).draw(measured, frame).axes
    assert left.get_ylabel() == "MAP, percent"


def test_no_interval_of_two_seeds_is_drawn_and_the_foot_says_so() -> None:
    """It is 12.7 standard errors to either side, and the effects of a whole panel would vanish beside it."""
    group, heads = ["model=ggsa", "model.encoder.group_size=20"], ["model=ggsa", "model.encoder.num_heads=2"]
    given = {"global": ["model=self_attention"], "20": group, "GGSA": ["model=ggsa"], "2": heads}
    of = figure(SENSITIVITY, rows(**given), {"T": Column("test/p@1")})
    two, three = ([entry(seed, value=0.5 + 0.01 * seed) for seed in seeds] for seeds in ((1, 2), (1, 2, 3)))
    measured = filled(of, {"global": [entry(value=0.5)], "20": two, "GGSA": two, "2": three})
    frame = picture_of(of).frame(measured, Ledger(Path("none")))
    assert frame.loc[frame["Model"] == "20", "ci95"].tolist() == [6.3531]
    drawn = picture_of(of).draw(measured, frame)
    left, right = (list[Any](axes.containers) for axes in drawn.axes)
    assert [container.has_yerr for container in (*left, *right)] == [False, True]
    [reached] = [bars.get_segments() for bars in right[0].lines[2]]
    assert [len(segment) for segment in reached] == [2, 0]  # two heads, of three seeds; GGSA
    assert drawn._supxlabel.get_text() == "toy (measured), 1–3 seeds; 95% intervals of 3 seeds or more"  # type: ignore[attr-defined]

    timed = figure(RUNTIME, rows(LSTM=["model=lstm"], QRNN=["model=qrnn"], CTRN=["model=ctrn"]), SECONDS)
    several = {"LSTM": [entry(1, 30.0), entry(2, 50.0)], "QRNN": [entry(seed, 10.0 + seed) for seed in (1, 2, 3)], "CTRN": [entry()]}
    for has, shown in ((several, 1), ({**several, "QRNN": several["QRNN"][:2]}, 0)):
        measured = filled(timed, has)
        [axes] = picture_of(timed).draw(measured, picture_of(timed).frame(measured, Ledger(Path("none")))).axes
        assert len(axes.containers) == 1 + shown  # the bars; what reaches to either side of them


DIFFERENCE = {"_target_": "qaexp.reproduction.figures.critical_difference.CriticalDifference"}


def test_bars_join_the_rows_that_cannot_be_told_apart() -> None:
    of = figure(DIFFERENCE, rows(A=["model=gru"], B=["model=lstm"], C=["model=qrnn"], D=["model=ctrn"]), {"P@1": Column("test/p@1")})
    half, most, few = [1, 0] * 20, [1] * 36 + [0] * 4, [1, 0, 0, 0] * 10

    def seeds(values: Sequence[float], mean: float) -> list[Entry]:
        return [entry(seed, values=values, value=mean + 0.001 * seed) for seed in (1, 2, 3)]

    measured = filled(of, {"A": seeds(few, 0.25), "B": seeds(most, 0.9), "C": seeds(half, 0.5), "D": seeds([*half[1:], 0], 0.5)})
    frame = picture_of(of).frame(measured, Ledger(Path("none")))
    assert frame["Model"].tolist() == ["B", "C", "D", "A"]  # by mean
    assert frame["groups"].tolist() == ["a", "b", "b c", "c"]
    # B differs from all; C and D are right of other questions, as often; C is right wherever A is, and D is not
    drawn = picture_of(of).draw(measured, frame)
    left, right = drawn.axes
    assert [tick.get_text() for tick in left.get_yticklabels()] == ["B", "C", "D", "A"]
    assert [list(bar.get_ydata()) for bar in right.lines] == [[0.7, 2.3], [1.7, 3.3]]
    apart = picture_of(of).draw(measured, frame.assign(groups=["a", "a", "", "a"])).axes[1]
    bars = [(bar.get_linestyle(), list(bar.get_ydata())) for bar in apart.lines]
    assert bars == [("-", [-0.3, 1.3]), ("-", [2.7, 3.3]), (":", [1.3, 2.7])]
    assert not len(picture_of(of).frame(filled(of, {}), Ledger(Path("none"))))

    measured = filled(of, {"A": seeds(few, 0.25), "B": seeds(most, 0.9), "C": seeds(half, 0.5), "D": [entry(1, values=half, value=0.4)]})
    frame = picture_of(of).frame(measured, Ledger(Path("none")))
    assert dict(zip(frame["Model"], frame["groups"], strict=True))["D"] == ""  # one seed is not compared

    others = [replace(each, questions={"test": {**each.questions["test"], "of": "others"}}) for each in seeds(half, 0.5)]
    measured = filled(of, {"A": seeds(half, 0.5), "B": others})
    frame = picture_of(of).frame(measured, Ledger(Path("none")))
    assert frame["groups"].tolist() == ["a", "b"], "rows on other questions are not compared"


LENGTHS = {"_target_": "qaexp.reproduction.figures.answer_length.AnswerLength", "every": 10, "fewest": 2}


def test_accuracy_is_aggregated_over_answers_up_to_a_length(tmp_path: Path) -> None:
    of = figure(LENGTHS, rows(A=["model=qa_cnn"], B=["model=ap_cnn"]), {"accuracy": Column("test/p@1")})
    ledger = Ledger(tmp_path)
    kept = {"test": {"of": "q", "tokens": [8, 25, 10, 0, 24]}}
    (tmp_path / "lengths").mkdir()
    (tmp_path / "lengths" / "toy_ffffffff.json").write_text(json.dumps(kept))
    measured = filled(of, {"A": [entry(1, values=[1, 0, 1, 1, 1]), entry(2, values=[0, 0, 1, 1, 1])]})
    frame = picture_of(of).frame(measured, ledger)
    assert frame["Model"].tolist() == ["A", "A", "A"]
    assert frame["answer length up to"].tolist() == [10, 20, 30]
    assert frame["questions"].tolist() == [2, 2, 4]  # one question has no right answer
    assert frame["accuracy"].tolist() == [75.0, 75.0, 62.5]
    other = {"test": {"of": "others", "tokens": [8, 25, 10, 0, 24]}}
    (tmp_path / "lengths" / "toy_ffffffff.json").write_text(json.dumps(other))
    assert len(picture_of(of).frame(measured, ledger)) == 0


def test_more_rows_than_colours_are_drawn() -> None:
    names = [f"row {number}" for number in range(9)]
    of = figure(LENGTHS, rows(**{name: ["model=qa_cnn"] for name in names}), {"accuracy": Column("test/p@1")})
    frame = pd.DataFrame([{"Model": name, "answer length up to": limit, "accuracy": 50.0} for name in names for limit in (10, 20)])
    [axes] = picture_of(of).draw(filled(of, {names[0]: [entry(1)]}), frame).axes
    assert len(axes.lines) == 9


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ('{"test": {"of": "q", "tok', "Unterminated string"),
        ('{"test": {"of": "q"}}', "it lacks 'tokens'"),
        ('{"test": {"of": "q", "tokens": [8, null]}}', "int()"),
        ('{"test": {"of": "q", "tokens": [8]}}', "1 for 2 questions"),
        ("[8, 25]", "'list' object"),
    ],
)
def test_a_damaged_file_of_lengths_is_named_with_the_remedy(content: str, fault: str, tmp_path: Path) -> None:
    of = figure(LENGTHS, rows(A=["model=qa_cnn"]), {"accuracy": Column("test/p@1")})
    (tmp_path / "lengths").mkdir()
    (tmp_path / "lengths" / "toy_ffffffff.json").write_text(content)
    with pytest.raises(QaexpError, match=r"lengths/toy_ffffffff\.json: not the lengths of answers \(.*\); .* delete it") as raised:
        picture_of(of).frame(filled(of, {"A": [entry(1, values=[1, 0])]}), Ledger(tmp_path))
    assert fault in str(raised.value)


def test_a_figure_is_run_drawn_and_drawn_again_without_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = figure(LENGTHS, rows(CNN=[*TINY, *SMALL], wide=[*TINY, *SMALL, "model.encoder.num_filters=16"]), {"accuracy": Column("test/p@1")})
    of = Figure(**{**of.__dict__, "seeds": [1]})
    for name, found in (("result_tables", []), ("result_figures", [of]), ("configuration_tables", [])):
        monkeypatch.setattr(reproduction, name, lambda found=found: found)
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))
    results = tmp_path / "results"
    places = ["--results", str(results), "--runs", str(tmp_path / "runs")]
    assert reproduce.main([*places, "--no-run"]) == 0
    assert not list(results.rglob("figure9*"))
    assert "Figure 9" not in (results / "README.md").read_text()

    assert reproduce.main([*places, "--figure", "9"]) == 0
    frame = pd.read_csv(results / "ctrn" / "figure9.csv")
    assert set(frame["Model"]) == {"CNN", "wide"}
    last = frame.groupby("Model").last()
    assert last["questions"].tolist() == [8, 8]
    [entry_of_cnn] = [e for e in Ledger(results / "ledger").entries if "num_filters=8" in e.command]
    assert last.loc["CNN", "accuracy"] == pytest.approx(100 * entry_of_cnn.metrics["test"]["p@1"], abs=1e-3)
    [kept_lengths] = (results / "ledger" / "lengths").iterdir()
    assert json.loads(kept_lengths.read_text())["test"]["tokens"] == _longest_answers("dataset=toy", *SMALL)
    assert imread(results / "ctrn" / "figure9.png")[0, 0, 3] == 0
    page = (results / "README.md").read_text()
    assert "| [ctrn, Figure 9](ctrn/figure9.csv) | Made up. | 2 measured |" in page
    assert "![Made up.](ctrn/figure9.png)" in page

    kept = {path.name: path.read_bytes() for path in (results / "ctrn").iterdir()}
    monkeypatch.setattr("qaexp.reproduction.figures.answer_length._lengths", lambda cell: pytest.fail("the data were read again"))
    for path in (results / "ctrn").glob("figure9*"):
        path.unlink()
    assert reproduce.main([*places, "--no-run"]) == 0
    assert {path.name: path.read_bytes() for path in (results / "ctrn").iterdir()} == kept


def _longest_answers(*overrides: str) -> list[int]:
    data = instantiate(compose(overrides).dataset)
    split, longest = data.splits["test"], [0] * data.splits["test"].num_questions
    for question, candidate, label in zip(split.pair_question, split.candidates, split.labels, strict=True):
        if label:
            longest[question] = max(longest[question], len(data.corpus.words(int(candidate))))
    return longest


def test_a_figures_page_names_doubts_about_its_runs(tmp_path: Path) -> None:
    timed = replace(figure(RUNTIME, rows(LSTM=["model=lstm"], QRNN=["model=qrnn"], CTRN=["model=ctrn"]), SECONDS), notes=["made up"])
    cut = replace(entry(), history=[{"train/loss": 1.0}, {"train/loss": 0.5}], best_epoch=2, config={"patience": 3})
    (tmp_path / "ctrn").mkdir()
    (tmp_path / "ctrn" / "figure9.png").touch()
    for has, doubts in (([cut], ["training ended at its limit of 2 epochs, and more might have helped: LSTM (1 of 1)"]), ([], [])):
        write_overview([], [filled(timed, {"LSTM": has})], [], [], tmp_path, {})
        page = (tmp_path / "README.md").read_text().partition("![Made up.](ctrn/figure9.png)")[2]
        assert page.splitlines()[2:] == [*(f"- {doubt}" for doubt in doubts), "- made up"]


def test_a_picture_of_nothing_is_taken_away(tmp_path: Path) -> None:
    timed = figure(RUNTIME, rows(LSTM=["model=lstm"], QRNN=["model=qrnn"], CTRN=["model=ctrn"]), SECONDS)
    has = {"LSTM": [entry()], "QRNN": [entry()], "CTRN": [entry()]}
    assert len(write_figure(filled(timed, has), Ledger(tmp_path / "none"), tmp_path)) == 3
    assert list(write_figure(filled(timed, {}), Ledger(tmp_path / "none"), tmp_path)) == []
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "titles"),
    [
        (["--table", "3"], ["ap, Table 3", "field, Table 3", "ggsa, Table 3"]),
        (["--figure", "3"], ["ap, Figure 3", "ctrn, Figure 3"]),
        (["--table", "2", "--figure", "8", "--paper", "ggsa"], ["ggsa, Table 2", "ggsa, Figure 8"]),
        (["--table", "tuning_trecqa"], ["ctrn, tuning on trecqa", "field, tuning on trecqa"]),
        (
            ["--table", "tuning", "--paper", "ctrn"],
            ["ctrn, tuning on qatarliving", "ctrn, tuning on trecqa", "ctrn, tuning on trecqa baselines", "ctrn, tuning on yahooqa"],
        ),
        (["--paper", "ap"], ["ap, Table 3", "ap, Table 4", "ap, Table 5", "ap, Figure 3", "ap, Figure 4"]),
    ],
)
def test_tables_and_figures_are_named_apart(options: list[str], titles: list[str]) -> None:
    chosen = select([*TABLES.values(), *tunings()], list(FIGURES.values()), [], reproduce._parser().parse_args(options))
    assert [each.title for each in chosen] == titles


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"draw": None}, "a figure lacks 'draw'"),
        ({"draw": {"every": 10}}, "`draw:` does not make a picture; give it the `_target_` of one"),
        ({"draw": {"_target_": "qaexp.reproduction.figures.runtime.Clock"}}, "`draw:` does not make a picture"),
        ({"draw": {"_target_": "qaexp.reproduction.figures.runtime.Runtime"}}, "argument: 'against'"),
    ],
)
def test_a_figure_without_its_picture_is_named_with_its_file(change: dict[str, Any], fault: str, tmp_path: Path) -> None:
    content = yaml.safe_load((EXPERIMENTS / "ctrn" / "figure3.yaml").read_text(encoding="utf-8"))
    (tmp_path / "ctrn").mkdir()
    changed = {name: value for name, value in {**content, **change}.items() if value is not None}
    (tmp_path / "ctrn" / "figure3.yaml").write_text(yaml.safe_dump(changed), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"ctrn/figure3\.yaml") as raised:
        picture_of(result_figures(tmp_path)[0])
    assert fault in str(raised.value)
