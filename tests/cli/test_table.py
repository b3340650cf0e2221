"""Many records to one table."""

import json
import logging
from pathlib import Path

import pandas as pd
import pytest

from qaexp.cli.table import _terminal_table, main
from qaexp.errors import ConfigError
from qaexp.runs.record import RunRecord
from qaexp.runs.table import by_row, read_records, run_table


def record(folder: Path, seed: int, score: float, status: str = "finished", fingerprint: str = "f", **options: str) -> None:
    """A run's folder with a record in it."""
    of_no_account = [f"seed={seed}", "output_dir=/anywhere", "logger=none", f"print_config={'diff' if seed % 2 else 'none'}"]
    command = " ".join([*(f"{name}={value}" for name, value in options.items()), *of_no_account])
    config = {
        "seed": seed,
        "choices": {"model": "ggsa", "dataset": "wikiqa"},
        "dataset": {"name": "wikiqa", **options},
        "data_dir": "/data",
        "cache_dir": "/cache",
    }
    measured = {"p@1": score, "mrr": score, "map": score, "p@5": score / 5, "questions": 243, "pairs": 2351}
    folder.mkdir(parents=True, exist_ok=True)
    RunRecord(
        key="",
        config=config,
        seed=seed,
        command=command,
        status=status,
        started=f"2026-01-01T00:00:0{seed}",
        data={"name": "wikiqa", "partial": False, "fingerprint": fingerprint, "vectors": {"source": "random"}},
        convention="trec",
        history=[{"epoch": 1}],
        best_epoch=1,
        seconds={"total": 10.0 * seed},
        metrics={"test": measured},
    ).save(folder)


def test_seeds_are_averaged_within_a_row_and_rows_kept_apart(tmp_path: Path) -> None:
    record(tmp_path / "a", 1, 0.50)
    record(tmp_path / "b" / "deeper", 2, 0.60)
    record(tmp_path / "c", 3, 0.70, margin="0.2")
    record(tmp_path / "d", 3, 0.99, status="failed")
    table = by_row(run_table(read_records(tmp_path), "test"))
    assert table["options"].tolist() == ["", "margin=0.2"]
    assert table["seeds"].tolist() == [2, 1]
    assert table["MAP"].tolist() == ["55.00 ± 7.07", "70.00"]
    assert table["P@5"].tolist() == ["11.00 ± 1.41", "14.00"]
    assert table["seconds"].tolist() == [15, 30]


def test_a_run_that_was_repeated_counts_once(tmp_path: Path) -> None:
    record(tmp_path / "a", 1, 0.50)
    record(tmp_path / "b", 1, 0.50)
    assert len(run_table(read_records(tmp_path), "test")) == 1


def test_a_damaged_record_is_left_out_with_a_word(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    record(tmp_path / "a", 1, 0.50)
    for name, content in (("b", b"{"), ("c", (tmp_path / "a" / "record.json").read_bytes()[:300] + b"\351\351")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "record.json").write_bytes(content)
    record(tmp_path / "d", 2, 0.40)
    whole = json.loads((tmp_path / "d" / "record.json").read_text())
    del whole["data"]["fingerprint"]
    (tmp_path / "d" / "record.json").write_text(json.dumps(whole))
    assert len(run_table(read_records(tmp_path), "test")) == 1
    for name, said in (("b", "is not a run's record"), ("c", "is not a run's record ('utf-8' codec"), ("d", "has no 'fingerprint';")):
        assert f"left out: {tmp_path / name / 'record.json'} {said}" in caplog.text


def test_runs_of_a_quick_table_are_marked(tmp_path: Path) -> None:
    for seed, batches in ((1, 20), (2, 0.3)):
        record(tmp_path / str(seed), seed, 0.50)
        run = RunRecord.load(tmp_path / str(seed))
        run.config["trainer"] = {"limit_train_batches": batches}
        run.save(tmp_path / str(seed))
    table = by_row(run_table(read_records(tmp_path), "test"))
    assert table["dataset"].tolist() == ["wikiqa (quick: 20 batches an epoch)", "wikiqa"]  # a share of the batches is a protocol of its own


def test_a_split_that_no_run_has_is_named(tmp_path: Path) -> None:
    record(tmp_path / "a", 1, 0.50)
    with pytest.raises(ConfigError, match=r"--split tset: no run has it; did you mean test\?"):
        run_table(read_records(tmp_path), "tset")


def test_what_pre_training_measures_has_questions_and_no_pairs(tmp_path: Path) -> None:
    record(tmp_path, 1, 0.50)
    [run] = read_records(tmp_path)
    run.metrics["held out"] = {"perplexity": 80.0, "words": 90, "questions": 12}
    assert by_row(run_table([run], "held out"))["questions"].tolist() == [12]


def test_runs_over_other_files_of_the_same_name_are_rows_of_their_own(tmp_path: Path) -> None:
    record(tmp_path / "a", 1, 0.50)
    record(tmp_path / "b", 2, 0.60, fingerprint="e")
    table = by_row(run_table(read_records(tmp_path), "test"))
    assert table["data"].tolist() == ["f", "e"]
    assert table["MAP"].tolist() == ["50.00", "60.00"]


def test_runs_of_the_same_options_before_and_after_a_change_of_conf_are_rows_of_their_own(tmp_path: Path) -> None:
    record(tmp_path / "a", 1, 0.50)
    record(tmp_path / "b", 2, 0.60)
    path = tmp_path / "b" / "record.json"
    kept = json.loads(path.read_text())
    path.write_text(json.dumps({**kept, "config": {**kept["config"], "patience": 3}}))
    table = by_row(run_table(read_records(tmp_path), "test"))
    assert table["MAP"].tolist() == ["50.00", "60.00"]
    assert table["configuration"].nunique() == 2


def test_seeds_of_one_configuration_are_a_row_however_their_commands_say_it(tmp_path: Path) -> None:
    record(tmp_path / "a", 1, 0.50, margin="0.2", lr="1")
    record(tmp_path / "b", 2, 0.60, lr="1", margin="0.2")
    table = by_row(run_table(read_records(tmp_path), "test"))
    assert table["options"].tolist() == ["margin=0.2 lr=1"]
    assert table["MAP"].tolist() == ["55.00 ± 7.07"]


def test_seeds_that_began_with_pre_training_of_their_own_seeds_are_a_row(tmp_path: Path) -> None:
    for name, seed, score, pairs in (("a", 1, 0.50, 10), ("b", 2, 0.60, 10), ("c", 2, 0.70, 20)):
        record(tmp_path / name, seed, score)
        path = tmp_path / name / "record.json"
        kept = json.loads(path.read_text())
        kept["config"]["init_from"] = {"path": f"/{name}", "key": name, "step": seed, "command": f"model=gru pairs.num={pairs} seed={seed}"}
        path.write_text(json.dumps(kept))
    table = by_row(run_table(read_records(tmp_path), "test"))
    assert table["options"].tolist() == ["init_from=(model=gru pairs.num=10)", "init_from=(model=gru pairs.num=20)"]
    assert table["MAP"].tolist() == ["55.00 ± 7.07", "70.00"]


def test_the_command_prints_markdown_and_writes_a_line_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(tmp_path / "a", 1, 0.50)
    record(tmp_path / "b", 2, 0.60)
    assert main([str(tmp_path), "--csv", str(tmp_path / "runs.csv")]) == 0
    assert "| wikiqa | ggsa |  | 2 | 55.00 ± 7.07 |" in capsys.readouterr().out
    assert pd.read_csv(tmp_path / "runs.csv")["seed"].tolist() == [1, 2]


def test_a_folder_without_runs_is_said_to_be_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    assert main([str(tmp_path)]) == 2
    assert "holds no finished run" in caplog.text


def test_rows_are_sorted_by_the_mean_of_a_measure_or_by_another_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, seed, score, margin in (("a", 1, 0.09, "3"), ("b", 1, 0.60, "2"), ("c", 2, 0.80, "2"), ("d", 1, 1.00, "1")):
        record(tmp_path / name, seed, score, margin=margin)

    def order(*options: str) -> list[str]:
        assert main([str(tmp_path), *options]) == 0
        return [word[-1] for line in capsys.readouterr().out.splitlines() for word in line.split() if word.startswith("margin=")]

    assert order("--sort", "map") == ["1", "2", "3"]
    assert order("--sort", "options") == ["1", "2", "3"]
    assert order("--sort", "seconds") == ["3", "1", "2"]
    assert order() == ["3", "2", "1"]


def test_a_column_that_is_not_there_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    record(tmp_path / "a", 1, 0.50)
    assert main([str(tmp_path), "--sort", "mapp"]) == 2
    assert "--sort: there is no 'mapp'; did you mean map" in caplog.text


def test_the_command_names_the_file_that_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(tmp_path / "a", 1, 0.50)
    assert main([str(tmp_path), "--csv", str(tmp_path / "runs.csv")]) == 0
    assert f"a line for each run is in {tmp_path / 'runs.csv'}" in capsys.readouterr().out


def test_dev_stands_beside_test(tmp_path: Path) -> None:
    record(tmp_path, 1, 0.50)
    [run] = read_records(tmp_path)
    run.config["dataset"]["selection_metric"] = "dev/AP"
    run.metrics["dev"] = {"map": 0.75}
    table = by_row(run_table([run], "test"))
    assert table[["MAP", "dev MAP"]].values.tolist() == [["50.00", "75.00"]]
    assert "dev MAP" not in by_row(run_table([run], "dev")).columns


@pytest.mark.parametrize("width", [70, 80, 160])
def test_a_terminal_gets_a_table_of_its_width_with_bars(tmp_path: Path, width: int) -> None:
    for seed, score in ((1, 0.30), (2, 0.90)):
        record(tmp_path / str(seed), seed, score, margin=str(seed), name_of_a_long_option="x" * 60)
    rows = by_row(run_table(read_records(tmp_path), "test"))
    lines = _terminal_table(rows, "MAP", width).splitlines()
    assert max(map(len, lines)) <= width
    assert [line.count("█") for line in lines if "█" in line] == [3, 9]
    assert ("P@5" in lines[1]) == (width == 160)
    assert "MAP" in lines[1]
