"""Tables from a ledger: rows in order, numbers in the paper's unit, states, verdicts, comparisons; and from real runs on toy."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from made_up_questions import write_questions
from scipy import stats

from qaexp import reproduce
from qaexp.exit_status import USER_ERROR
from qaexp.results.ledger import PARAMETERS, Entry, Ledger, digest
from qaexp.results.record import RunRecord
from qaexp.results.store import Outcome
from qaexp.tables import cells, reproduction, runs, tuned
from qaexp.tables.build import Measured, measured
from qaexp.tables.cells import Cell, Keys, alternatives
from qaexp.tables.claims import Claim, Statement
from qaexp.tables.comparison import comparisons
from qaexp.tables.held import held_against
from qaexp.tables.latex import as_latex
from qaexp.tables.page import as_markdown
from qaexp.tables.plan import Choice, Past, Run, Times, plan
from qaexp.tables.spec import UNPRINTED, Column, Row, Setting, Table, Tuning, result_figures
from qaexp.tables.write import write_table

TINY = ["model=qa_cnn", "model.encoder.num_filters=8", "trainer.max_epochs=1", "dataset/vectors=random"]
SMALL = [f"dataset.reader.num_{split}={number}" for split, number in (("train", 10), ("dev", 6), ("test", 8))]

TABLE = Table(
    paper="ctrn",
    name="table9",
    source="Tay et al. 2018, Table 9",
    caption="Made up & small.",
    label="Model",
    scale=100,
    decimals=1,
    seeds=[1, 2, 3],
    common=["optimizer=adam"],
    quick=["dataset.batch_size=5"],
    settings={"toy": Setting(["toy"], overrides=SMALL), "absent": Setting(["yahooqa"])},
    columns={"MAP": Column("test/map", "toy"), "P@1": Column("test/p@1", "toy"), "Other": Column("test/map", "absent")},
    rows=[
        Row("Kelp", [75.1, 79.2, None]),
        Row("Word Overlap", [20.0, 30.0, 1.0], overrides=["model=word_overlap"]),
        Row("CNN", [50.0, 50.0, None], overrides=TINY),
        Row("CNN, wide", [50.0, "~50", None], overrides=[*TINY, "model.encoder.num_filters=16"]),
    ],
)


def _entry(key: str, seed: int, values: Sequence[float], trainable: int = 7) -> Entry:
    mean = sum(values) / len(values)
    return Entry(
        key=key,
        name=f"m_toy_seed{seed}",
        seed=seed,
        command="model=qa_cnn dataset=toy",
        started=f"2026-01-0{seed}",
        commit="c",
        hardware={"processor": "EPYC", "threads": 1, "gpu": None},
        data={"fingerprint": "f" * 64, "partial": False},
        convention="trec",
        parameters={"trainable": trainable, "trainable without word embeddings": trainable},
        history=[],
        best_epoch=1,
        seconds={"total": 2.0},
        steps=0,
        metrics={"test": {"map": mean, "p@1": mean}},
        config={},
        questions={"test": {"of": "q", "map": list(values), "p@1": list(values)}},
    )


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys(tmp_path / "plans")


@pytest.fixture
def filled(tmp_path: Path, keys: Keys) -> Measured:
    """The third row with three seeds, the fourth with two, all over the same eight questions."""
    ledger = Ledger(tmp_path / "ledger")
    ledger.folder.mkdir()
    bare = measured(TABLE, ledger, keys)
    for label, seeds, shift in (("CNN", (1, 2, 3), 0.0), ("CNN, wide", (1, 2), 0.3)):
        for seed, key in zip(seeds, keys.of(bare.states[label, "toy"].cell, TABLE.seeds), strict=False):
            entry = _entry(key, seed, [0.5 + shift + 0.01 * seed] * 8)
            (ledger.folder / f"{label}{seed}.json").write_text(json.dumps(asdict(entry)))
    return measured(TABLE, Ledger(ledger.folder), keys)


def test_rows_are_the_papers_and_numbers_ours(filled: Measured) -> None:
    frame = filled.frame
    assert frame["Model"].tolist() == ["Kelp", "Word Overlap", "CNN", "CNN, wide"]
    assert list(frame.columns[:4]) == ["Model", "MAP", "MAP (paper)", "MAP ci95"]
    assert list(frame.columns[-4:]) == ["seeds", "status", "verdict", "command"]
    assert frame["MAP (paper)"].tolist() == ["75.1", "20.0", "50.0", "50.0"]
    assert frame["MAP"].tolist() == ["", "", "52.0", "81.5"]
    assert frame["MAP ci95"].tolist() == ["", "", "2.5", "6.4"]
    assert frame["status"].tolist() == ["published only", "toy: not run; absent: data missing", "measured", "measured"]
    assert frame["seeds"].tolist() == ["", "0", "3", "2"]
    assert filled.runs == "5 of 12"
    assert frame.loc[2, "verdict"] == "reproduced"
    assert frame.loc[3, "verdict"] == "above"
    assert frame.loc[0, "command"] == ""
    assert frame.loc[2, "command"].startswith("python -m qaexp dataset=toy ")
    assert "seed=" not in frame.loc[2, "command"]


def test_a_cell_whose_data_are_not_here_is_shown_with_those_that_other_cells_were_run_on(tmp_path: Path, keys: Keys) -> None:
    elsewhere = replace(TABLE, settings={**TABLE.settings, "absent": Setting(["yahooqa", "insuranceqa"], ["glove300", "googlenews300"])})
    ledger = Ledger(tmp_path / "ledger")
    ledger.folder.mkdir()
    assert measured(elsewhere, ledger, keys).states["Word Overlap", "absent"].status == "data missing"
    entry = replace(_entry("of another table", 1, [0.5] * 8), command="model=ctrn dataset=insuranceqa dataset/vectors=glove300")
    (ledger.folder / "elsewhere.json").write_text(json.dumps(asdict(entry)))
    ledger.read_anew()
    state = measured(elsewhere, ledger, keys).states["Word Overlap", "absent"]
    assert (state.status, state.cell.dataset, state.cell.vectors) == ("not run", "insuranceqa", "glove300")


def test_rows_over_the_same_questions_are_compared(filled: Measured) -> None:
    found = comparisons(filled).set_index("column")
    assert found.loc["MAP", "row"] == "CNN"
    assert found.loc["MAP", "against"] == "CNN, wide"
    assert found.loc["MAP", "difference"] == "-29.5"
    assert found.loc["MAP", "seeds"] == "3; 2"
    assert float(found.loc["MAP", "p (questions)"]) == pytest.approx(2 / 2**8, abs=5e-5)
    of_seeds = stats.ttest_ind([0.51, 0.52, 0.53], [0.81, 0.82], equal_var=False).pvalue
    assert float(found.loc["MAP", "p (seeds)"]) == pytest.approx(of_seeds, abs=5e-5)
    assert float(found.loc["MAP", "p (Holm)"]) == pytest.approx(2 / 2**8, abs=5e-5)  # the larger of the two
    assert found.loc["MAP", "significant"] == "yes"


def test_what_rests_on_one_seed_is_not_decided(filled: Measured) -> None:
    states = {place: replace(state, entries=state.entries[:1]) for place, state in filled.states.items()}
    alone = Measured(TABLE, states)
    line = comparisons(alone).set_index("column").loc["MAP"]
    assert line[["p (questions)", "p (seeds)", "p (Holm)", "significant"]].tolist() == ["0.00781", "", "", "one seed"]
    [claim] = held_against([_claim("wide is better", "MAP", above="CNN, wide", below="CNN")], [alone]).to_dict("records")
    assert (claim["verdict"], claim["seeds"], claim["p (Holm)"]) == ("undecided", "1; 1", "")


@pytest.mark.parametrize(
    ("of_dev", "verdict"),
    [
        ({"1e-3": [0.5], "1e-2": [0.6]}, "best of 2: 1e-2; taken: 1e-3"),
        ({"1e-3": [0.5], "1e-2": [0.4]}, "best of 2: 1e-3; taken: 1e-3"),
        ({"1e-3": [0.5], "1e-2": [0.4], "1e-1": [0.3]}, "best: 1e-3; taken: 1e-3"),
        ({"1e-3": [0.4, 0.5], "1e-2": [0.5, 0.6], "1e-1": [0.9]}, "best of 2 over 2 seeds: 1e-2; taken: 1e-3"),
        ({"1e-3": [0.5, 0.9], "1e-2": [0.6], "1e-1": [0.4]}, "best: 1e-2; taken: 1e-3"),
        ({"1e-3": [0.5]}, ""),
        ({"1e-3": [0.5, None, 0.9], "1e-2": [0.6, 0.7]}, "best of 2: 1e-2; taken: 1e-3"),  # one's seeds 1 and 3, the other's 1 and 2
    ],
)
def test_a_tuning_says_what_is_best_of_what_was_measured_and_what_the_tables_have(
    of_dev: dict[str, list[float | None]], verdict: str, tmp_path: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_table = Table(**{**TABLE.__dict__, "rows": [Row("CNN", [0.5, 0.5, None], overrides=[*TINY, "optimizer.lr=1e-3"])]})
    monkeypatch.setattr(tuned, "result_tables", lambda: [in_table])
    values = ("1e-3", "1e-2", "1e-1")
    settings = {value: Setting(["toy"], overrides=[*SMALL, f"optimizer.lr={value}"]) for value in values}
    columns = {value: Column("dev/p@1", value) for value in values}
    rows = [Row("CNN", [UNPRINTED] * 3, overrides=TINY)]
    tuning = Tuning(**{**TABLE.__dict__, "name": "tuning_toy", "settings": settings, "columns": columns, "rows": rows})
    ledger = Ledger(tmp_path / "ledger")
    ledger.folder.mkdir()
    bare = measured(tuning, ledger, keys)
    for value, over_seeds in of_dev.items():
        of_seeds = keys.of(bare.states["CNN", value].cell, tuning.seeds)
        for seed, (key, dev) in enumerate(zip(of_seeds, over_seeds, strict=False), 1):
            if dev is None:
                continue
            entry = {**asdict(_entry(key, seed, [0.5])), "metrics": {"dev": {"p@1": dev}}}
            (ledger.folder / f"{value}_{seed}.json").write_text(json.dumps(entry))
    found = measured(tuning, Ledger(ledger.folder), keys)
    assert found.frame.loc[0, "verdict"] == verdict
    assert found.frame.loc[0, "status"] == "measured"
    page = as_markdown(found)
    assert page.startswith("# ctrn, tuning on toy\n")
    assert "- the tables are run with what is taken" in page
    assert "(paper" not in page


def _claim(said: str, column: str, above: str, below: str, note: str = "", table: int = 9) -> Claim:
    return Claim(Statement(said, "§1", [column], [above], [below], table, note=note), column, above, below)


def over(filled: Measured, label: str, of: str) -> Measured:
    """The same with other questions below a row."""
    state = filled.states[label, "toy"]
    entries = [replace(entry, questions={"test": {**entry.questions["test"], "of": of}}) for entry in state.entries]
    return Measured(TABLE, {**filled.states, (label, "toy"): replace(state, entries=entries)})


def test_rows_over_other_questions_are_neither_compared_nor_held_against_a_claim(filled: Measured) -> None:
    others = over(filled, "CNN", "others")
    assert comparisons(others).empty
    assert held_against([_claim("wide is better", "MAP", above="CNN, wide", below="CNN")], [others])["verdict"].tolist() == ["not measured"]


def test_seeds_over_different_questions_are_not_averaged(filled: Measured) -> None:
    state = filled.states["CNN", "toy"]
    [first, *_] = over(filled, "CNN", "others").states["CNN", "toy"].entries
    assert replace(state, entries=[first, *state.entries[1:]]).scored(TABLE.columns["MAP"]) is None


def test_quick_runs_are_no_verdict(filled: Measured) -> None:
    states = {place: replace(state, cell=replace(state.cell, quick=True)) for place, state in filled.states.items()}
    frame = Measured(TABLE, states).frame
    assert frame.loc[2, ["status", "verdict"]].tolist() == ["quick", "not comparable: quick"]


def test_claims_are_held_against_the_rows(filled: Measured) -> None:
    """Eight questions, all in favour of the wide one: p is 2/256 by itself, and is doubled as two claims can be tested."""
    claims = [
        _claim("wide is better", "MAP", above="CNN, wide", below="CNN"),
        _claim("narrow is better", "P@1", above="CNN", below="CNN, wide"),
        _claim("chance is worse", "MAP", above="CNN", below="Word Overlap", note="as ever"),
        _claim("of a table that was not measured", "MAP", above="CNN", below="Word Overlap", table=8),
    ]
    found = held_against(claims, [filled])
    assert found["verdict"].tolist() == ["held", "reversed", "not measured", "not measured"]
    assert found["difference"].tolist() == ["+29.5", "-29.5", "", ""]
    assert float(found.loc[0, "p (Holm)"]) == pytest.approx(2 * 2 / 2**8, abs=5e-5)  # type: ignore[arg-type]
    assert found.loc[0, "seeds"] == "2; 3"
    assert found.loc[2, "note"] == "as ever"
    again = held_against([*claims, claims[0], claims[0]], [filled])
    assert again.loc[[0, 4, 5], "p (Holm)"].tolist() == [found.loc[0, "p (Holm)"]] * 3, "what is said again is no further test"


def test_claims_of_parameters_are_counted_without_a_test(filled: Measured) -> None:
    rows = [replace(row, published=[*row.published, 1.0]) for row in TABLE.rows]
    table = replace(TABLE, columns={**TABLE.columns, "size": Column(PARAMETERS, "toy", 1, 0.001, "K")}, rows=rows)
    states = {place: replace(state, cell=replace(state.cell, table=table)) for place, state in filled.states.items()}
    small = states["CNN", "toy"]
    states["CNN", "toy"] = replace(
        small, entries=[replace(entry, parameters={"trainable without word embeddings": 4900}) for entry in small.entries]
    )
    claims = [
        _claim("the smaller is larger", "size", above="CNN", below="CNN, wide"),
        _claim("the larger is larger", "size", above="CNN, wide", below="CNN"),
        _claim("words need none", "size", above="CNN", below="Word Overlap"),
    ]
    found = held_against(claims, [Measured(table, states)])
    assert found["verdict"].tolist() == ["as counted", "not as counted", "not measured"]
    assert found[["difference", "p (Holm)"]].to_numpy().tolist() == [["+4.9K", ""], ["-4.9K", ""], ["", ""]]


def test_other_data_or_vectors_than_the_papers_are_named() -> None:
    table = Table(
        **{**TABLE.__dict__, "settings": {"toy": Setting(["yahooqa", "toy"], ["random"], "glove300"), "absent": Setting(["toy"])}}
    )
    cell = next(cell for cell in alternatives(table, table.rows[2], "toy") if cell.dataset == "toy")
    assert cell.differs == "data: toy, not yahooqa; word vectors: random, not glove300"


def test_markdown_and_latex_say_each_number_once(filled: Measured, tmp_path: Path) -> None:
    text = as_markdown(filled)
    assert "| CNN | 52.0 ± 2.5 (50.0) |" in text
    assert "| Kelp | (75.1) |" in text
    latex = as_latex(filled)
    assert r"\toprule" in latex
    assert r"CNN & 52.0 $\pm$ 2.5 (50.0)" in latex
    assert r"Made up \& small." in latex
    write_table(filled, tmp_path / "out", latex=True)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "table9.comparisons.csv",
        "table9.csv",
        "table9.md",
        "table9.tex",
    ]
    assert pd.read_csv(tmp_path / "out" / "table9.csv")["MAP"].isna().tolist() == [True, True, False, False]


def test_a_run_whose_loss_did_not_move_is_named_below_its_table(keys: Keys, tmp_path: Path) -> None:
    key, *_ = keys.of(next(alternatives(TABLE, TABLE.rows[2], "toy")), TABLE.seeds)
    for name, losses, doubts in (
        ("stuck", [1.011, 1.0, 1.0], ["CNN (toy): next to nothing was learned with seed 1; the training loss went from 1.01 to 1"]),
        ("learning", [1.011, 1.0, 0.9], []),
        ("short", [1.011], []),
    ):
        ledger = Ledger(tmp_path / name)
        ledger.folder.mkdir()
        entry = {**asdict(_entry(key, 1, [0.5])), "history": [{"train/loss": loss} for loss in losses]}
        (ledger.folder / "one.json").write_text(json.dumps(entry))
        measured_now = measured(TABLE, ledger, keys)
        assert measured_now.doubts() == doubts
        assert ("next to nothing was learned" in as_markdown(measured_now)) == bool(doubts)


def test_a_seed_far_below_the_others_on_dev_is_named(keys: Keys, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.folder.mkdir()
    of_seeds = keys.of(next(alternatives(TABLE, TABLE.rows[2], "toy")), TABLE.seeds)
    for seed, (key, best) in enumerate(zip(of_seeds, [0.7, 0.55, 0.72], strict=True), 1):
        history = [{"train/loss": 1.0, "dev/map": 0.3}, {"train/loss": 0.5, "dev/map": best}]
        entry = {**asdict(_entry(key, seed, [0.5])), "history": history, "config": {"dataset": {"selection_metric": "dev/map"}}}
        (ledger.folder / f"{seed}.json").write_text(json.dumps(entry))
    assert measured(TABLE, ledger, keys).doubts() == [
        "CNN (toy): seed 2 is far below the others on dev, 0.550 where the median of its seeds is 0.700"
    ]


def test_runs_on_data_that_have_changed_since_give_way_to_the_newest(keys: Keys, tmp_path: Path) -> None:
    """Seeds 1 and 2 were run again, on new data; seed 3 was not."""
    ledger = Ledger(tmp_path / "ledger")
    ledger.folder.mkdir()
    of_seeds = keys.of(next(alternatives(TABLE, TABLE.rows[2], "toy")), TABLE.seeds)
    for seed, (key, started, data) in enumerate(zip(of_seeds, ["2026-03-02", "2026-03-03", "2026-01-01"], "nno", strict=True), 1):
        entry = replace(_entry(key, seed, [0.5]), started=started, data={"fingerprint": data * 64, "partial": False})
        (ledger.folder / f"{seed}.json").write_text(json.dumps(asdict(entry)))
    assert [entry.seed for entry in measured(TABLE, ledger, keys).states["CNN", "toy"].entries] == [1, 2]


def test_runs_without_a_number_for_any_column_are_none_of_the_table(filled: Measured) -> None:
    """As those on a part of the data that lacks the split."""
    other = replace(TABLE, columns={name: replace(column, metric="test2/map") for name, column in TABLE.columns.items()})
    states = {place: replace(state, cell=replace(state.cell, table=other)) for place, state in filled.states.items()}
    assert states["CNN", "toy"].status == "data missing"
    assert Measured(other, states).runs.startswith("0 of ")


def test_seconds_of_another_machine_are_not_compared(filled: Measured) -> None:
    timed = replace(TABLE, columns={**TABLE.columns, "MAP": Column("seconds per batch", "toy")})
    states = {
        place: replace(
            state,
            cell=replace(state.cell, table=timed),
            entries=[replace(entry, seconds={"steps": 3.0}, steps=2) for entry in state.entries],
        )
        for place, state in filled.states.items()
    }
    assert "MAP: not comparable: another machine" in Measured(timed, states).frame["verdict"][2]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_table_is_run_once_goes_on_and_outlives_a_failing_row(
    jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bad = Row("Bad", [1.0, 1.0, None], overrides=[*TINY, "model.encoder.num_filters=0"])
    table = Table(**{**TABLE.__dict__, "rows": [*TABLE.rows[:3], bad], "seeds": [1, 2]})
    monkeypatch.setattr(reproduction, "result_tables", lambda: [table])
    monkeypatch.setattr(reproduction, "result_figures", list)
    monkeypatch.setattr(reproduction, "claims", lambda paper: [])
    monkeypatch.setattr(reproduction, "configuration_tables", list)
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("QAEXP_DATA", str(tmp_path / "no data"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    places = ["--results", str(tmp_path / "results"), "--runs", str(tmp_path / "runs"), "--jobs", str(jobs)]
    caplog.set_level("INFO")
    assert reproduce.main(["--paper", "ctrn", *places]) == reproduction.FAILED
    frame = pd.read_csv(tmp_path / "results" / "ctrn" / "table9.csv", dtype=str).fillna("").set_index("Model")
    assert frame["seeds"].to_dict() == {"Kelp": "", "Word Overlap": "toy: 1; absent: 0", "CNN": "2", "Bad": "0"}
    assert frame.loc["CNN", "status"] == "measured"
    assert 0 < float(frame.loc["CNN", "MAP"]) <= 100
    assert "Bad (toy), seed 1 failed: model.encoder.num_filters=0: at least 1 is expected" in caplog.text
    entries = sorted(path.name for path in (tmp_path / "results" / "ledger").iterdir())
    assert len(entries) == 3
    caplog.clear()
    assert reproduce.main(["--plan", *places]) == 0
    assert reproduce.main([*places, "--rows", "CNN"]) == 0  # nothing left of this row
    assert "[1/" not in caplog.text
    assert sorted(path.name for path in (tmp_path / "results" / "ledger").iterdir()) == entries
    kept = (tmp_path / "results" / "ctrn" / "table9.csv").read_text()
    assert reproduce.main(["--no-run", *places]) == 0
    assert (tmp_path / "results" / "ctrn" / "table9.csv").read_text() == kept


def test_where_the_process_of_a_run_is_killed_one_sentence_says_so_and_the_rest_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    killing = Row("Killing", [1.0, 1.0, None], overrides=["model._target_=killing.kill"])
    table = Table(**{**TABLE.__dict__, "rows": [TABLE.rows[2], killing], "seeds": [1]})
    monkeypatch.setattr(reproduction, "result_tables", lambda: [table])
    monkeypatch.setattr(reproduction, "result_figures", list)
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))
    places = ["--paper", "ctrn", "--results", str(tmp_path / "results"), "--runs", str(tmp_path / "runs")]
    assert reproduce.main([*places, "--jobs", "1", "--rows", "CNN"]) == 0
    assert reproduce.main([*places, "--jobs", "2"]) == USER_ERROR
    assert "the process of a run was killed, perhaps as memory ran out (fewer than --jobs 2 need less)" in caplog.text
    assert len(list((tmp_path / "results" / "ledger").iterdir())) == 1


def test_what_is_busy_is_tried_again_after_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tried, at_once = list[str](), runs._outcome

    def busy_at_first(run: Run, options: argparse.Namespace) -> Outcome:
        tried.append(run.cell.row.label)
        return at_once(run, options) if len(tried) > 1 else Outcome("busy", tmp_path)

    table = Table(**{**TABLE.__dict__, "rows": TABLE.rows[1:3], "seeds": [1]})
    monkeypatch.setattr(runs, "_outcome", busy_at_first)
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))
    ledger = Ledger(tmp_path / "ledger")
    planned = plan([table], ledger, Keys(tmp_path / "plans"), Choice(seeds=[1], rows=[], settings=["toy"]))
    caplog.set_level("INFO")
    assert runs.run_all(planned, ledger, argparse.Namespace(jobs=1, runs=tmp_path / "runs", logger="none")) == []
    assert tried == ["Word Overlap", "CNN", "Word Overlap"]
    assert len(ledger.entries) == 2
    assert "left to the processes" not in caplog.text


def test_the_plan_tells_of_a_run_that_was_begun_and_expects_the_rest_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Table(**{**TABLE.__dict__, "rows": [TABLE.rows[2]], "settings": {"toy": TABLE.settings["toy"]}, "seeds": [1, 2]})
    monkeypatch.setattr(reproduction, "result_tables", lambda: [table])
    monkeypatch.setattr(reproduction, "result_figures", list)
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))
    places = ["--paper", "ctrn", "--table", "9", "--results", str(tmp_path / "results"), "--runs", str(tmp_path / "runs")]
    assert reproduce.main([*places, "--seeds", "1"]) == 0
    [entry] = (tmp_path / "results" / "ledger").iterdir()
    kept = json.loads(entry.read_text())
    entry.write_text(json.dumps({**kept, "seconds": {**kept["seconds"], "total": 600.0}}))
    [path] = (tmp_path / "runs").rglob("record.json")
    folder = path.parent.with_name(f"{path.parent.name.removesuffix(kept['key'])}{Keys(tmp_path / 'plans').of(_cell(table), [2])[0]}")
    folder.mkdir()
    begun = {**json.loads(path.read_text()), "status": "interrupted", "seconds": {"total": 420.0}}
    (folder / "record.json").write_text(json.dumps(begun))
    capsys.readouterr()
    assert reproduce.main([*places, "--plan"]) == 0
    said = capsys.readouterr().out
    assert "1 runs done, 1 to run" in said
    assert "expected: 3 min" in said
    assert "  to run: ctrn, Table 9: CNN, seed 2: 3 min\n" in said
    assert "begun: ctrn, Table 9: CNN, seed 2, as far as epoch 1" in said


def test_a_run_is_expected_to_take_as_long_as_what_is_most_like_it() -> None:
    [cnn, wide] = (next(alternatives(TABLE, row, "toy")) for row in TABLE.rows[2:])
    known = [(cnn.overrides, 60.0), (["dataset=toy", "model=ggsa"], 10.0), (["dataset=wikiqa"], 1.0)]
    times = Times([Past(frozenset(overrides), total=seconds, epoch=seconds / 10, test=seconds / 5) for overrides, seconds in known])
    run = Run(wide, 1, "key", "", None, "")
    assert times.expected(run) == times.left(run, None) == 60.0
    assert Times(times.known[1:]).expected(run) == 10.0
    assert Times(times.known[2:]).expected(run) is None
    overlap = next(alternatives(TABLE, TABLE.rows[1], "toy"))
    untrained = Past(frozenset(overlap.overrides), total=1.0, epoch=0.0, test=1.0, trained=False)
    assert Times([untrained, *times.known[1:]]).expected(run) == 10.0, "what is trained takes longer"
    assert Times([untrained, *times.known]).expected(Run(overlap, 1, "key", "", None, "")) == 1.0

    begun = RunRecord.begin({"seed": 1, "dataset": {}, "data_dir": "/data", "cache_dir": "/cache"}, "")
    begun.history, begun.seconds = [{"epoch": 1}, {"epoch": 2}], {"fit": 36.0, "total": 40.0}
    assert times.left(run, begun) == pytest.approx(3 * 48 + 12 - 40)  # its epochs take three times as long
    begun.seconds = {"fit": 36.0, "total": 400.0}
    assert times.left(run, begun) == pytest.approx(12)  # what is left at least is its test
    begun.history, begun.seconds = [], {"total": 5.0}  # stopped in its first epoch
    assert times.left(run, begun) == 55.0


def _cell(table: Table) -> Cell:
    return next(alternatives(table, table.rows[0], "toy"))


def test_the_ledger_names_no_place_and_gives_back_what_was_measured(tmp_path: Path) -> None:
    from qaexp.results.store import run_overrides

    outcome = run_overrides([*TINY, *SMALL, "logger=none", f"cache_dir={tmp_path / 'cache'}"], tmp_path / "runs")
    of_another_process = Ledger(tmp_path / "ledger")
    assert of_another_process.entries == []
    entry = Ledger(tmp_path / "ledger").enter(outcome.folder)
    of_another_process.read_anew()
    assert of_another_process.by_key == {entry.key: [entry]}
    [path] = (tmp_path / "ledger").iterdir()
    assert str(tmp_path) not in path.read_text()
    [again] = Ledger(tmp_path / "ledger").entries
    assert again == entry
    assert outcome.record is not None
    assert entry.value("test/map") == outcome.record.metrics["test"]["map"]
    per_question = entry.per_question("test/map")
    assert per_question is not None
    assert entry.per_question("dev/map") is not None
    assert sum(per_question.values) / 8 == pytest.approx(outcome.record.metrics["test"]["map"], abs=1e-6)
    assert entry.value("seconds per batch") == pytest.approx(entry.seconds["steps"] / entry.steps)


def test_runs_of_one_name_with_other_settings_or_data_are_entries_of_their_own(tmp_path: Path) -> None:
    config = {"seed": 1, "run_name": "qa_cnn_toy_seed1", "dataset": {}, "data_dir": "/data", "cache_dir": "/cache"}
    ledger, runs_of = Ledger(tmp_path / "ledger"), [("k", "f" * 64), ("k", "e" * 64), ("l", "f" * 64)]
    for number, (key, fingerprint) in enumerate(runs_of):
        record = RunRecord(key, config, 1, "", data={"fingerprint": fingerprint, "vectors": {"source": "none read"}})
        record.save(tmp_path / str(number))
        ledger.enter(tmp_path / str(number))
    assert sorted((entry.key, entry.fingerprint) for entry in ledger.entries) == sorted(runs_of)


def test_of_a_run_that_was_repeated_the_newest_entry_counts(tmp_path: Path) -> None:
    for day in (2, 1):
        entry = {**asdict(_entry("k", 1, [0.5])), "started": f"2026-01-0{day}"}
        (tmp_path / f"{day}.json").write_text(json.dumps(entry))
    found = Ledger(tmp_path).find("k")
    assert found is not None
    assert found.started == "2026-01-02"


def test_questions_are_the_same_where_all_names_are_in_one_order() -> None:
    assert len({digest(names) for names in (["a", "b"], ["b", "a"], ["a"], ["ab"])}) == 4


def test_records_that_no_table_shows_any_more_are_named_and_pruned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(reproduction, "result_tables", lambda: [TABLE])
    monkeypatch.setattr(reproduction, "result_figures", list)
    monkeypatch.setattr(reproduction, "claims", lambda paper: [])
    folder = tmp_path / "results" / "ledger"
    folder.mkdir(parents=True)
    [shown] = Keys(tmp_path / "plans").of(next(alternatives(TABLE, TABLE.rows[2], "toy")), [1])
    for key in (shown, "1234567890abcdef"):
        (folder / f"{key}.json").write_text(json.dumps(asdict(_entry(key, 1, [0.5]))))
    assert reproduce.main(["--no-run", "--results", str(tmp_path / "results")]) == 0
    assert reproduce.main(["--no-run", "--prune", "--results", str(tmp_path / "results")]) == 0
    assert [path.stem for path in folder.iterdir()] == [shown]
    assert reproduce.main(["--no-run", "--results", str(tmp_path / "results")]) == 0
    named, deleted = (message for message in caplog.messages if "of no table" in message)
    assert named.endswith("to be deleted with --prune: m_toy_seed1_1234567890abcdef")
    assert deleted.endswith("deleted: m_toy_seed1_1234567890abcdef")


@pytest.mark.parametrize(
    ("trainable", "model", "to_run"), [(0, {"_target_": "BM25"}, []), (0, {"_target_": "RandomGuess", "seed": 1}, [2]), (7, {}, [2])]
)
def test_a_seed_chosen_alone_is_not_run_where_another_has_the_same_numbers(
    trainable: int, model: dict[str, Any], to_run: Sequence[int], tmp_path: Path, keys: Keys
) -> None:
    cell = next(alternatives(TABLE, TABLE.rows[1], "toy"))
    folder = tmp_path / "ledger"
    folder.mkdir()
    [key] = keys.of(cell, [1])
    data = {"fingerprint": cells.fingerprint(cell), "partial": False}
    entry = {**asdict(_entry(key, 1, [0.5], trainable)), "data": data, "config": {"model": model}}
    (folder / f"{key}.json").write_text(json.dumps(entry))
    planned = plan([TABLE], Ledger(folder), keys, Choice(seeds=[2], rows=["Word Overlap"], settings=["toy"]))
    assert [run.seed for run in planned.to_do] == to_run


def test_a_run_over_other_data_is_still_to_do_and_is_kept_elsewhere(tmp_path: Path, keys: Keys) -> None:
    cell, folder = next(alternatives(TABLE, TABLE.rows[2], "toy")), tmp_path / "ledger"
    folder.mkdir()
    [key] = keys.of(cell, [1])
    (folder / f"{key}.json").write_text(json.dumps(asdict(_entry(key, 1, [0.5]))))
    [run] = plan([TABLE], Ledger(folder), keys, Choice(seeds=[1], rows=["CNN"], settings=["toy"])).to_do
    assert run.fingerprint == cells.fingerprint(cell) != "f" * 64
    assert runs._folder(run, tmp_path) != runs._folder(replace(run, fingerprint="f" * 64), tmp_path)


def test_a_plan_counts_a_run_of_two_tables_once_and_names_rows_that_are_only_quoted(tmp_path: Path, keys: Keys) -> None:
    ledger = Ledger(tmp_path / "ledger")
    one, two = (plan([TABLE] * times, ledger, keys, Choice()) for times in (1, 2))
    assert len(two.runs) == 2 * len(one.runs)
    assert (two.to_do, two.done) == (one.to_do, one.done)
    assert [run.key for run in two.impossible] == [run.key for run in one.impossible]
    assert one.published_only == [TABLE.title]
    assert [run.seed for run in one.runs] == sorted(run.seed for run in one.runs)  # one seed of every row comes first
    assert plan([TABLE], ledger, keys, Choice(rows=["CNN"])).published_only == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--paper", "ctrm"], "there is no paper 'ctrm'"),
        (["--paper", "ctrn", "--table", "99"], "there is no table 99 in ctrn; there are ctrn 2, 3, "),
        (["--paper", "ctrn", "--table", "tuning_snli"], "tuning_qatarliving, tuning_trecqa, tuning_yahooqa"),
        (["--paper", "ctrn", "--seeds", "7", "--plan"], "seed 7 is none of these tables'; theirs are 1, 2, 3, 4, 5"),
        (["--paper", "ctrn", "--figure", "4"], "there is no figure 4 in ctrn; there are ctrn 3"),
        (["--paper", "ctrn", "--table", "6", "--rows", "QRN"], "did you mean QRNN"),
        (["--paper", "ctrn", "--table", "6", "--settings", "zzz"], "no setting is called 'zzz'; choose among TRAIN, TRAIN-ALL"),
        (["--paper", "clstm", "--table", "4", "--rows", "TC-LSTMs (10)"], "--rows TC-LSTMs --settings 10"),
    ],
)
def test_mistakes_are_answered_in_a_sentence(options: list[str], said: str, caplog: pytest.LogCaptureFixture) -> None:
    assert reproduce.main(options) == USER_ERROR
    assert said in caplog.text


def test_a_pretrained_row_begins_with_its_pre_training_and_is_known_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_questions(tmp_path / "data")
    monkeypatch.setenv("QAEXP_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))
    for cached in (cells._lacking, cells._fingerprint):
        cached.cache_clear()
    model = ["model=rcnn", "model/pooling=last", "model.encoder.hidden_dim=6"]
    before = [*model[:1], *model[2:], "output.cutoffs=[20]", "pairs.steps_per_epoch=2", "trainer.max_epochs=1"]
    reading = [option for option in data if option.startswith("dataset.")]
    common = [*reading, "loss=max_margin", "dataset/negatives=lists", "trainer.max_epochs=1"]
    table = Table(
        **{
            **TABLE.__dict__,
            "paper": "rcnn",
            "seeds": [1, 2],
            "common": common,
            "settings": {"titles": Setting(["askubuntu"], ["random"])},
            "columns": {"MAP": Column("test/map")},
            "rows": [
                Row("RCNN", [50.0], overrides=model),
                Row("RCNN, pre-trained", [50.0], overrides=model, pretrain=before),
                Row("RCNN, pre-trained otherwise", [50.0], overrides=model, pretrain=[*before, "optimizer.lr=0.02"]),
            ],
        }
    )
    monkeypatch.setattr(reproduction, "result_tables", lambda: [table])
    monkeypatch.setattr(reproduction, "claims", lambda paper: [])
    monkeypatch.setattr(reproduction, "configuration_tables", list)
    places = ["--results", str(tmp_path / "results"), "--runs", str(tmp_path / "runs")]
    assert reproduce.main(["--seeds", "1", *places]) == 0
    frame = pd.read_csv(tmp_path / "results" / "rcnn" / "table9.csv", dtype=str).set_index("Model")
    assert frame["seeds"].tolist() == ["1", "1", "1"]
    assert "init_from" not in frame.loc["RCNN", "command"]
    assert frame.loc["RCNN, pre-trained", "command"].startswith("python -m qaexp.pretrain ")
    assert " && python -m qaexp dataset=askubuntu " in frame.loc["RCNN, pre-trained", "command"]
    ledger, keys = Ledger(tmp_path / "results" / "ledger"), Keys(tmp_path / "plans")
    assert len(ledger.entries) == 3
    planned = plan([table], ledger, keys, Choice())
    assert [run.seed for run in planned.done] == [1, 1, 1]
    assert [run.seed for run in planned.to_do] == [2, 2, 2]
    records = [json.loads(path.read_text()) for path in (tmp_path / "runs").rglob("record.json")]
    begun = [record["config"]["init_from"]["key"] for record in records if record["config"].get("init_from")]
    assert len(records) == 5
    assert len(set(begun)) == 2
    assert {record["config"]["labels"]["row"] for record in records} >= {"RCNN, pre-trained", "RCNN, pre-trained, pre-training"}
    capsys.readouterr()
    assert reproduce.main(["--plan", *places]) == 0
    assert ", and 2 of pre-training\n" in capsys.readouterr().out


def test_tables_of_settings_and_of_data_come_out_of_the_same_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Data statistics that cannot be counted here stay as they are."""
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("QAEXP_DATA", str(tmp_path / "no data"))
    monkeypatch.setattr(reproduction, "result_tables", list)
    monkeypatch.setattr(reproduction, "result_figures", lambda: [figure for figure in result_figures() if figure.paper == "ctrn"])
    monkeypatch.setattr(reproduction, "claims", lambda paper: [])
    caplog.set_level("INFO")
    places = ["--paper", "ctrn", "--results", str(tmp_path / "results")]
    assert reproduce.main(["--table", "2", "--latex", *places]) == 0
    assert "| CTRN" in (tmp_path / "results" / "ctrn" / "table2.md").read_text()
    assert r"\toprule" in (tmp_path / "results" / "ctrn" / "table2.tex").read_text()
    assert reproduce.main(["--table", "3", *places]) == 0
    assert "ctrn, Table 3: none of its data sets is here" in caplog.text
    assert not (tmp_path / "results" / "ctrn" / "table3.csv").exists()
