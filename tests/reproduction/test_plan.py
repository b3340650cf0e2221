"""What is done, to run, impossible; and how long it may take."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file
from small_table import TABLE, TINY, entry_of
from tiny_weights import write_tiny_weights

from qaexp.cli import reproduce
from qaexp.data.files import digest
from qaexp.reproduction import cells, reproduction, runs
from qaexp.reproduction import plan as plan_module
from qaexp.reproduction.cells import Keys, alternatives
from qaexp.reproduction.ledger import Ledger
from qaexp.reproduction.plan import Choice, Past, Run, Times, plan
from qaexp.reproduction.spec import Table
from qaexp.runs.record import RunRecord


def test_the_plan_names_an_interrupted_run_and_predicts_the_rest_of_it(
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
    [(second, *_)] = Keys(tmp_path / "plans").of(next(alternatives(table, table.rows[0], "toy")), [2])
    folder = path.parent.with_name(f"{path.parent.name.removesuffix(kept['key'])}{second}")
    folder.mkdir()
    begun = {**json.loads(path.read_text()), "status": "interrupted", "seconds": {"total": 420.0}}
    (folder / "record.json").write_text(json.dumps(begun))
    capsys.readouterr()
    assert reproduce.main([*places, "--plan"]) == 0
    said = capsys.readouterr().out
    assert "1 run done, 1 to run" in said
    assert "expected: 3 min" in said
    assert "  to run: ctrn, Table 9: CNN, seed 2: 3 min\n" in said
    assert "begun: ctrn, Table 9: CNN, seed 2, up to epoch 1" in said


@pytest.mark.parametrize(("option", "kind"), [([], "run"), (["--quick"], "quick version")])
def test_a_plan_without_past_runs_says_so(
    option: list[str], kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reproduction, "result_tables", lambda: [TABLE])
    monkeypatch.setattr(reproduction, "result_figures", list)
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))
    assert reproduce.main(["--plan", *option, "--table", "9", "--paper", "ctrn", "--results", str(tmp_path)]) == 0
    assert f"expected: unknown, as there is no record yet of a {kind} on these data\n" in capsys.readouterr().out


def test_a_run_is_expected_to_take_as_long_as_the_most_similar_one() -> None:
    [cnn, wide] = (next(alternatives(TABLE, row, "toy")) for row in TABLE.rows[2:])
    known = [(cnn.overrides, 60.0), (["dataset=toy", "model=ggsa"], 10.0), (["dataset=wikiqa"], 1.0)]
    times = Times([Past(frozenset(overrides), epochs=8, epoch=seconds / 10, test=seconds / 5) for overrides, seconds in known])
    run = Run(wide, 1, "key", "", None, "")
    assert times.expected(run) == 60.0
    assert Times(times.known[1:]).expected(run) == 10.0
    assert Times(times.known[2:]).expected(run) is None
    assert Times([times.known[0]._replace(overrides=frozenset([*cnn.overrides, "trainer=part"]))]).expected(run) is None, (
        "its epochs were parts"
    )
    overlap = next(alternatives(TABLE, TABLE.rows[1], "toy"))
    untrained = Past(frozenset(overlap.overrides), epochs=0, epoch=0.0, test=1.0, trained=False)
    assert Times([untrained, *times.known[1:]]).expected(run) == 10.0, "what is trained takes longer"
    assert Times([untrained, *times.known]).expected(Run(overlap, 1, "key", "", None, "")) == 1.0
    fast = times.known[0]._replace(epoch=0.6, test=1.2, gpu=True)
    assert Times([fast, *times.known]).expected(run) == 60.0, "this is not a GPU"
    assert Times([fast, *times.known], gpu=True).expected(run) == 6.0
    assert Times(times.known, gpu=True).expected(run) == 60.0
    newer = times.known[0]._replace(epochs=4, epoch=3.0, test=5.0, other=1.0, started="2026-11-27")
    assert Times([newer, *times.known]).expected(run) == pytest.approx(6 * 3 + 5 + 1), "epochs of both, at the newer one's pace"

    assert wide.beginning("trainer.max_epochs=") == ["trainer.max_epochs=1"]
    whole = replace(wide, table=replace(TABLE, common=[*TABLE.common, "patience=1"]))
    assert times.expected(Run(whole, 1, "key", "", None, "")) == pytest.approx(1 * 6 + 12), "it cannot stop early"
    patient = replace(wide, row=replace(wide.row, overrides=["trainer.max_epochs=60", "patience=10"]))
    assert times.expected(Run(patient, 1, "key", "", None, "")) == pytest.approx(11 * 6 + 12), "its patience is longer than those runs"

    begun = RunRecord.begin({"seed": 1, "dataset": {}, "data_dir": "/data", "cache_dir": "/cache"}, "")
    begun.history, begun.seconds = [{"epoch": 1}, {"epoch": 2}], {"fit": 36.0, "total": 40.0}
    assert times.expected(run, begun) == pytest.approx(3 * 48 + 12 - 40)  # its epochs take three times as long
    begun.seconds = {"fit": 36.0, "total": 400.0}
    assert times.expected(run, begun) == pytest.approx(12)  # what is left at least is its test
    begun.history, begun.seconds = [], {"total": 5.0}  # stopped in its first epoch
    assert times.expected(run, begun) == 55.0


@pytest.mark.parametrize(
    ("trainable", "model", "to_run"), [(0, {"_target_": "BM25"}, []), (0, {"_target_": "RandomGuess", "seed": 1}, [2]), (7, {}, [2])]
)
def test_a_chosen_seed_is_not_run_if_another_has_the_same_numbers(
    trainable: int, model: dict[str, Any], to_run: Sequence[int], tmp_path: Path, keys: Keys
) -> None:
    cell = next(alternatives(TABLE, TABLE.rows[1], "toy"))
    folder = tmp_path / "ledger"
    folder.mkdir()
    [(key, *_)] = keys.of(cell, [1])
    data = {"fingerprint": cells.fingerprint(cell), "partial": False}
    entry = {**asdict(entry_of(key, 1, [0.5], trainable)), "data": data, "config": {"model": model}}
    (folder / f"{key}.json").write_text(json.dumps(entry))
    planned = plan([TABLE], Ledger(folder), keys, Choice(seeds=[2], rows=["Word Overlap"], settings=["toy"]))
    assert [run.seed for run in planned.to_do] == to_run


def test_a_run_on_other_data_is_still_to_do_and_has_another_folder(tmp_path: Path, keys: Keys) -> None:
    cell, folder = next(alternatives(TABLE, TABLE.rows[2], "toy")), tmp_path / "ledger"
    folder.mkdir()
    [(key, *_)] = keys.of(cell, [1])
    (folder / f"{key}.json").write_text(json.dumps(asdict(entry_of(key, 1, [0.5]))))
    [run] = plan([TABLE], Ledger(folder), keys, Choice(seeds=[1], rows=["CNN"], settings=["toy"])).to_do
    assert run.fingerprint == cells.fingerprint(cell) != "f" * 64
    assert runs._folder(run, tmp_path) != runs._folder(replace(run, fingerprint="f" * 64), tmp_path)


def test_a_run_with_word_vectors_of_another_file_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With another file at the same place it had counted as done."""
    path, results = tmp_path / "vectors.txt", tmp_path / "results"
    published = [*TINY[:-1], "dataset/vectors=glove50", f"dataset.vectors.path={path}"]
    row = replace(TABLE.rows[2], overrides=published)
    table = replace(TABLE, rows=[row], settings={"toy": TABLE.settings["toy"]}, seeds=[1])
    monkeypatch.setattr(reproduction, "result_tables", lambda: [table])
    monkeypatch.setattr(reproduction, "result_figures", list)
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))
    for value, planned in (("0.1", "0 runs done, 1 to run"), ("0.1", "1 run done, 0 to run"), ("0.2", "0 runs done, 1 to run")):
        path.write_text(f"the {value} 0.5\ngarden 0.3 {value}\n")
        cells._vector_files.cache_clear()  # as in a process of its own
        assert reproduce.main(["--paper", "ctrn", "--table", "9", "--results", str(results), "--runs", str(tmp_path / "runs")]) == 0
        assert planned in capsys.readouterr().out
    [entry] = Ledger(results / "ledger").entries
    assert entry.data["vectors"]["files"] == [digest(path)[:16]]


def test_a_run_of_other_pretrained_weights_or_of_texts_written_otherwise_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With other weights at the same place, or with the same words in other letters, it had counted as done."""
    weights, results = write_tiny_weights(tmp_path / "weights"), tmp_path / "results"
    row = replace(TABLE.rows[2], overrides=["model=bi_encoder", f"model.encoder.weights={weights}"], reads_vectors=False)
    table = replace(TABLE, rows=[row], settings={"toy": TABLE.settings["toy"]}, seeds=[1])
    monkeypatch.setattr(reproduction, "result_tables", lambda: [table])
    monkeypatch.setattr(reproduction, "result_figures", list)
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))

    def planned() -> str:
        plan_module._revision_here.cache_clear()  # as in a process of its own
        assert reproduce.main(["--paper", "ctrn", "--table", "9", "--results", str(results), "--runs", str(tmp_path / "runs")]) == 0
        return capsys.readouterr().out.splitlines()[0]

    assert [planned(), planned()] == ["0 runs done, 1 to run, 0 impossible here", "1 run done, 0 to run, 0 impossible here"]
    path = weights / "model.safetensors"
    save_file({name: tensor + 0.5 for name, tensor in load_file(path).items()}, path)
    assert planned() == "0 runs done, 1 to run, 0 impossible here"
    monkeypatch.setattr(plan_module, "written_fingerprint", lambda _: "f" * 64)
    assert planned() == "0 runs done, 1 to run, 0 impossible here"


def test_a_student_runs_again_after_its_teacher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own files are the same, and its teacher is another."""
    monkeypatch.setenv("QAEXP_CACHE", str(tmp_path / "cache"))
    cnn = TABLE.rows[2]
    student = replace(cnn, label="student", overrides=[*(cnn.overrides or ()), "loss=margin_mse"], teacher=cnn.label)
    table = replace(TABLE, rows=[cnn, student], settings={"toy": TABLE.settings["toy"]}, seeds=[1])
    keys, runs = Keys(tmp_path / "keys"), tmp_path / "results"
    [teacher, taught] = plan([table], Ledger(runs), keys, Choice()).to_do

    def enter(run: Run, started: str) -> None:
        entry = replace(entry_of(run.key, 1, [0.5]), started=started, data={"fingerprint": run.fingerprint, "name": "toy"})
        runs.mkdir(exist_ok=True)
        (runs / f"{run.key}_{run.fingerprint[:8]}.json").write_text(json.dumps(asdict(entry)))

    def to_do() -> list[str]:
        return [run.cell.row.label for run in plan([table], Ledger(runs), keys, Choice()).to_do]

    enter(taught, "2026-11-02")
    assert to_do() == [cnn.label, "student"]
    enter(teacher, "2026-11-01")
    assert to_do() == []
    enter(teacher, "2026-11-03")
    assert to_do() == ["student"]


def test_a_plan_counts_a_shared_run_once_and_names_rows_that_are_published_only(tmp_path: Path, keys: Keys) -> None:
    ledger = Ledger(tmp_path / "ledger")
    one, two = (plan([TABLE] * times, ledger, keys, Choice()) for times in (1, 2))
    assert len(two.runs) == 2 * len(one.runs)
    assert (two.to_do, two.done) == (one.to_do, one.done)
    assert [run.key for run in two.impossible] == [run.key for run in one.impossible]
    assert one.published_only == [TABLE.title]
    assert [run.seed for run in one.runs] == sorted(run.seed for run in one.runs)  # one seed of every row comes first
    assert plan([TABLE], ledger, keys, Choice(rows=["CNN"])).published_only == []
