"""A measured table: the state of its rows, our numbers beside the paper's, and the best values of a tuning."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf
from small_table import SMALL, TABLE, TINY, entry_of, over

from qaexp.config import compose
from qaexp.evaluation.significance import Interval
from qaexp.reproduction import measured as measured_module
from qaexp.reproduction.cell_state import CellState
from qaexp.reproduction.cells import Keys, alternatives
from qaexp.reproduction.ledger import Entry, Ledger
from qaexp.reproduction.measured import Measured, found_in, measured, of_each_setting
from qaexp.reproduction.page import as_markdown
from qaexp.reproduction.spec import UNPRINTED, Column, Row, Setting, Table, Tuning
from qaexp.runs.identity import config_key, measured_config


def test_rows_are_the_papers_and_numbers_are_ours(filled: Measured) -> None:
    frame = filled.frame
    assert frame["Model"].tolist() == ["Kelp", "Word Overlap", "CNN", "CNN, wide"]
    assert list(frame.columns[:4]) == ["Model", "MAP", "MAP (paper)", "MAP ci95"]
    assert list(frame.columns[-5:]) == ["seeds", "status", "verdict", "command", "records"]
    assert frame["MAP (paper)"].tolist() == ["75.1", "20.0", "50.0", "50.0"]
    assert frame["MAP"].tolist() == ["", "", "52.0", "81.5"]
    assert frame["MAP ci95"].tolist() == ["", "", "2.5", "6.4"]
    assert frame["status"].tolist() == ["published only", "not run", "measured", "measured"]
    assert frame["seeds"].tolist() == ["", "0", "3", "2"]
    assert filled.runs == "5 of 12"
    assert frame.loc[2, "verdict"] == "reproduced"
    assert frame.loc[3, "verdict"] == "above"
    assert frame.loc[0, "command"] == ""
    assert frame.loc[2, "command"].startswith("qaexp dataset=toy ")
    assert "seed=" not in frame.loc[2, "command"]


def test_a_cell_that_has_not_run_is_shown_with_the_data_of_other_cells(tmp_path: Path, keys: Keys) -> None:
    elsewhere = replace(TABLE, settings={**TABLE.settings, "absent": Setting(["yahooqa", "insuranceqa"], ["glove300", "googlenews300"])})
    ledger = Ledger(tmp_path / "ledger")
    ledger.folder.mkdir()
    assert measured(elsewhere, ledger, keys).states["Word Overlap", "absent"].cell.dataset == "yahooqa"
    entry = replace(entry_of("of another table", 1, [0.5] * 8), command="model=ctrn dataset=insuranceqa dataset/vectors=glove300")
    (ledger.folder / "elsewhere.json").write_text(json.dumps(asdict(entry)))
    ledger.reload()
    state = measured(elsewhere, ledger, keys).states["Word Overlap", "absent"]
    assert (state.status, state.cell.dataset, state.cell.vectors) == ("not run", "insuranceqa", "glove300")


def test_all_seeds_count_on_data_that_changed_and_changed_back(tmp_path: Path, keys: Keys) -> None:
    """Of seed 1 the newer run, over the data of the meantime, had hidden the one over those of now."""
    cell, folder = next(alternatives(TABLE, TABLE.rows[2], "toy")), tmp_path / "ledger"
    folder.mkdir()
    meantime = {"fingerprint": "e" * 64, "partial": False}
    for number, (seed, of_seed) in enumerate(zip((1, 2, 1, 3), (*keys.of(cell, [1, 2, 1, 3]),), strict=True)):
        entry = replace(entry_of(of_seed.whole, seed, [0.5]), started=f"2026-01-0{number + 1}")
        (folder / f"{number}.json").write_text(json.dumps(asdict(replace(entry, data=meantime) if number == 2 else entry)))
    assert [entry.seed for entry in found_in(Ledger(folder), [cell], keys).entries] == [1, 2, 3]


def test_a_run_is_shown_whichever_way_its_model_was_chosen(tmp_path: Path, keys: Keys) -> None:
    cell, folder = next(alternatives(TABLE, TABLE.rows[2], "toy")), tmp_path / "ledger"
    folder.mkdir()
    [key] = keys.of(cell, [1])
    (folder / "1.json").write_text(json.dumps(asdict(replace(entry_of(key.whole, 1, [0.5]), command="model=mine dataset=toy"))))
    assert [entry.seed for entry in found_in(Ledger(folder), [cell], keys).entries] == [1]


def test_seeds_with_different_questions_are_not_averaged(filled: Measured) -> None:
    state = filled.states["CNN", "toy"]
    [first, *_] = over(filled, "CNN", "others").states["CNN", "toy"].entries
    assert replace(state, entries=[first, *state.entries[1:]]).scored(TABLE.columns["MAP"]) is None


def test_quick_runs_give_no_verdict(filled: Measured) -> None:
    states = {place: replace(state, cell=replace(state.cell, quick=True)) for place, state in filled.states.items()}
    frame = Measured(TABLE, states).frame
    assert frame.loc[2, ["status", "verdict"]].tolist() == ["quick", "not comparable: quick"]


def test_data_or_vectors_that_differ_from_the_papers_are_named() -> None:
    table = Table(
        **{**TABLE.__dict__, "settings": {"toy": Setting(["yahooqa", "toy"], ["random"], "glove300"), "absent": Setting(["toy"])}}
    )
    cell = next(cell for cell in alternatives(table, table.rows[2], "toy") if cell.dataset == "toy")
    assert cell.differs == "data: toy, not yahooqa; word vectors: random, not glove300"
    ours = Interval.of([50.0, 51.0], random=True)
    assert CellState(cell, []).verdict(table.columns["MAP"], ours, 50.0) == f"not comparable: {cell.differs}"


def test_a_run_whose_loss_did_not_move_is_named_below_its_table(keys: Keys, tmp_path: Path) -> None:
    (key, *_), *_ = keys.of(next(alternatives(TABLE, TABLE.rows[2], "toy")), TABLE.seeds)
    for name, losses, doubts in (
        ("stuck", [1.011, 1.0, 1.0], ["CNN (toy): hardly anything was learned with seed 1; the training loss went from 1.01 to 1"]),
        ("learning", [1.011, 1.0, 0.9], []),
        ("short", [1.011], []),
    ):
        ledger = Ledger(tmp_path / name)
        ledger.folder.mkdir()
        entry = {**asdict(entry_of(key, 1, [0.5])), "history": [{"train/loss": loss} for loss in losses]}
        (ledger.folder / "one.json").write_text(json.dumps(entry))
        measured_now = measured(TABLE, ledger, keys)
        assert measured_now.doubts() == doubts
        assert ("hardly anything was learned" in as_markdown(measured_now)) == bool(doubts)


def test_a_seed_far_below_the_others_on_dev_is_named(keys: Keys, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.folder.mkdir()
    of_seeds = keys.of(next(alternatives(TABLE, TABLE.rows[2], "toy")), TABLE.seeds)
    for seed, ((key, *_), best) in enumerate(zip(of_seeds, [0.7, 0.55, 0.72], strict=True), 1):
        history = [{"train/loss": 1.0, "dev/map": 0.3}, {"train/loss": 0.5, "dev/map": best}]
        entry = {**asdict(entry_of(key, seed, [0.5])), "history": history, "config": {"dataset": {"selection_metric": "dev/map"}}}
        (ledger.folder / f"{seed}.json").write_text(json.dumps(entry))
    assert measured(TABLE, ledger, keys).doubts() == [
        "CNN (toy): seed 2 is far below the others on dev, 0.550 and the median of its seeds is 0.700"
    ]


def test_rows_on_older_texts_of_the_same_data_are_named(keys: Keys, tmp_path: Path) -> None:
    """They stood beside rows on the present texts, without a note."""
    ledger = Ledger(tmp_path / "ledger")
    ledger.folder.mkdir()
    for place, (row, day, data) in enumerate([(1, 3, "f" * 64), (2, 1, "e" * 64), (3, 2, "f" * 64)]):
        [key] = keys.of(next(alternatives(TABLE, TABLE.rows[row], "toy")), [1])
        entry = replace(
            entry_of(key.whole, 1, [0.5]), started=f"2026-01-0{day}", data={"name": "toy", "fingerprint": data, "partial": False}
        )
        (ledger.folder / f"{place}.json").write_text(json.dumps(asdict(entry)))
    assert measured(TABLE, ledger, keys).doubts()[1:] == [
        "the files of toy had other texts when these rows were measured, which cannot be compared with the other rows: CNN (toy)"
    ]


def test_a_column_of_a_split_that_no_run_has_is_named(filled: Measured) -> None:
    table = replace(TABLE, columns={"MAP": replace(TABLE.columns["MAP"], metric="tset/map")})
    assert replace(filled, table=table).doubts()[1:] == ["MAP: no run has the split 'tset'; their splits are test"]


def _of(max_epochs: int, fixed: bool = False, patience: int = 3) -> Table:
    """The row CNN alone, with a limit of epochs."""
    row = replace(TABLE.rows[2], overrides=[*TINY, f"patience={patience}", f"trainer.max_epochs={max_epochs}"])
    return replace(TABLE, rows=[row], fixed_epochs=fixed)


@pytest.mark.parametrize(
    ("best", "table", "doubts"),
    [
        (4, _of(5), ["training ended at its limit of 5 epochs, and more might have helped: CNN (toy) (1 of 1)"]),
        (4, _of(50), ["training ended at its limit of 5 epochs, and more might have helped: CNN (toy) (1 of 1)"]),
        (4, _of(5, fixed=True), []),
        (4, _of(50, fixed=True), ["training ended at its limit of 5 epochs, and more might have helped: CNN (toy) (1 of 1)"]),
        (2, _of(5), []),
        (2, _of(50), []),
        (2, _of(50, fixed=True), []),
    ],
)
def test_a_run_cut_short_by_its_limit_of_epochs_is_shown_and_named(
    best: int, table: Table, doubts: list[str], keys: Keys, tmp_path: Path
) -> None:
    """So is it in a table of more epochs, the paper's or not, till these have run; what patience ended is in no doubt there."""
    ledger = _with_a_run_of_five_epochs(_of(5), best, tmp_path / "ledger")
    [entry] = ledger.entries
    found = measured(table, ledger, keys)
    state = found.states["CNN", "toy"]
    assert state.entries == [entry]
    assert found.doubts() == doubts
    assert list(replace(state, cell=replace(state.cell, quick=True)).cut_short) == []


@pytest.mark.parametrize(("best", "doubted"), [(4, False), (5, True)])
def test_a_run_that_could_not_stop_early_is_in_doubt_if_its_last_epoch_was_the_best(
    best: int, doubted: bool, keys: Keys, tmp_path: Path
) -> None:
    table = _of(5, patience=5)
    assert bool(measured(table, _with_a_run_of_five_epochs(table, best, tmp_path / "ledger"), keys).doubts()) == doubted


def _with_a_run_of_five_epochs(table: Table, best: int, folder: Path) -> Ledger:
    """A ledger that holds a run of the table's row alone."""
    cell = next(alternatives(table, table.rows[0], "toy"))
    config: Any = OmegaConf.to_container(compose(cell.seeded(1)), resolve=True)
    entry = replace(entry_of(config_key(config), 1, [0.5]), config=measured_config(config), best_epoch=best)
    entry = replace(entry, history=[{"train/loss": 1.0 / epoch, "dev/map": 0.5} for epoch in range(1, 6)])
    folder.mkdir()
    (folder / "one.json").write_text(json.dumps(asdict(entry)))
    return Ledger(folder)


def test_runs_on_the_newest_data_replace_those_on_former_data(keys: Keys, tmp_path: Path) -> None:
    """Seeds 1 and 2 were run again, on new data; seed 3 was not."""
    ledger = Ledger(tmp_path / "ledger")
    ledger.folder.mkdir()
    of_seeds = keys.of(next(alternatives(TABLE, TABLE.rows[2], "toy")), TABLE.seeds)
    for seed, ((key, *_), started, data) in enumerate(zip(of_seeds, ["2026-03-02", "2026-03-03", "2026-01-01"], "nno", strict=True), 1):
        entry = replace(entry_of(key, seed, [0.5]), started=started, data={"fingerprint": data * 64, "partial": False})
        (ledger.folder / f"{seed}.json").write_text(json.dumps(asdict(entry)))
    assert [entry.seed for entry in measured(TABLE, ledger, keys).states["CNN", "toy"].entries] == [1, 2]


def test_runs_without_a_number_for_any_column_are_not_counted(filled: Measured) -> None:
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


def test_seconds_have_no_interval_as_other_work_on_the_machine_moves_them(filled: Measured) -> None:
    timed = replace(TABLE, columns={**TABLE.columns, "MAP": Column("seconds per batch", "toy", scale=1)})
    [place] = [place for place in filled.states if place[0] == "CNN, wide"]
    state = filled.states[place]
    entries = [replace(entry, seconds={"steps": seconds}, steps=2) for entry, seconds in zip(state.entries, (3.0, 5.0, 7.0), strict=False)]
    line = Measured(timed, {**filled.states, place: replace(state, cell=replace(state.cell, table=timed), entries=entries)}).frame
    shown = line.set_index(timed.label).loc["CNN, wide"]
    assert shown["MAP"]
    assert shown["MAP ci95"] == ""
    assert shown["P@1 ci95"]


def test_seconds_on_a_gpu_and_without_are_not_averaged(filled: Measured) -> None:
    state = filled.states["CNN", "toy"]
    first, *others = (replace(entry, seconds={"steps": 3.0}, steps=2) for entry in state.entries)
    quick = replace(first, hardware={**first.hardware, "gpu": "H100"}, seconds={"steps": 0.2})
    column = Column("seconds per batch", "toy", scale=1)

    def seconds(*entries: Entry) -> float | None:
        found = replace(state, entries=entries).interval(column)
        return found and found.mean

    assert seconds(quick, *others) == seconds(*others) == 1.5
    assert seconds(quick) == 0.1


def test_a_column_shows_seconds_of_one_kind_of_machine(filled: Measured) -> None:
    timed = replace(TABLE, columns={**TABLE.columns, "MAP": Column("seconds per batch", "toy")})

    def on(gpus: dict[str, str | None]) -> Measured:
        def entry_on(entry: Entry, label: str) -> Entry:
            return replace(entry, hardware={**entry.hardware, "gpu": gpus.get(label)}, seconds={"steps": 3.0}, steps=2)

        states = {
            (label, setting): replace(state, cell=replace(state.cell, table=timed), entries=[entry_on(e, label) for e in state.entries])
            for (label, setting), state in filled.states.items()
        }
        return Measured(timed, states)

    one = on({"CNN, wide": "H100"})
    assert one.frame.set_index("Model")["MAP"][["CNN", "CNN, wide"]].tolist() == ["150.0", ""]
    assert "MAP: not shown for CNN, wide, timed with a GPU, unlike the other rows" in one.doubts()
    assert one.frame.set_index("Model")["verdict"]["CNN, wide"] == ""
    both = on({"CNN": "H100", "CNN, wide": "H100"})
    assert both.frame.set_index("Model")["MAP"][["CNN", "CNN, wide"]].tolist() == ["150.0", "150.0"]
    assert not any("not shown" in doubt for doubt in both.doubts())


@pytest.mark.parametrize(
    ("of_dev", "verdict"),
    [
        ({"1e-3": [0.5], "1e-2": [0.6]}, "best of 2 over seed 1: 1e-2; taken: 1e-3"),
        ({"1e-3": [0.5], "1e-2": [0.4]}, "best of 2 over seed 1: 1e-3; taken: 1e-3"),
        ({"1e-3": [0.5], "1e-2": [0.4], "1e-1": [0.3]}, "best over seed 1: 1e-3; taken: 1e-3"),
        ({"1e-3": [0.4, 0.5], "1e-2": [0.5, 0.6], "1e-1": [0.9]}, "best of 2 over seeds 1, 2: 1e-2; taken: 1e-3"),
        ({"1e-3": [0.5, 0.9], "1e-2": [0.6], "1e-1": [0.4]}, "best over seed 1: 1e-2; taken: 1e-3"),
        ({"1e-3": [0.5]}, ""),
        (
            {"1e-3": [0.5, None, 0.9], "1e-2": [0.6, 0.7]},
            "best of 2 over seed 1: 1e-2; taken: 1e-3",
        ),  # seeds 1 and 3; 1 and 2
    ],
)
def test_a_tuning_names_the_best_value_and_the_one_in_the_tables(
    of_dev: dict[str, list[float | None]], verdict: str, tmp_path: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_table = Table(
        **{**TABLE.__dict__, "rows": [Row("CNN", [0.5, 0.5, None], overrides=[*TINY, "optimizer.lr=1e-3", "trainer.max_epochs=9"])]}
    )
    monkeypatch.setattr(measured_module, "result_tables", lambda: [in_table])
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
        for seed, ((key, *_), dev) in enumerate(zip(of_seeds, over_seeds, strict=False), 1):
            if dev is None:
                continue
            entry = {**asdict(entry_of(key, seed, [0.5])), "metrics": {"dev": {"p@1": dev}}}
            (ledger.folder / f"{value}_{seed}.json").write_text(json.dumps(entry))
    found = measured(tuning, Ledger(ledger.folder), keys)
    assert found.frame.loc[0, "verdict"] == verdict
    ran = {value: any(dev is not None for dev in of_dev.get(value, [])) for value in settings}
    statuses = of_each_setting(str(found.frame.loc[0, "status"]), list(settings))
    assert statuses == {value: "measured" if has_run else "not run" for value, has_run in ran.items()}
    page = as_markdown(found)
    assert page.startswith("# ctrn, tuning on toy\n")
    assert "- the tables run with the values that are taken" in page
    assert "(paper" not in page
