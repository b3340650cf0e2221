"""Figure 3: what is averaged over which runs, and how the lines are drawn."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib.image import imread

from qaexp.cli.figures import main
from qaexp.reproduction.figures.pretraining import curves, draw, read_runs
from qaexp.runs.record import RunRecord


def record(folder: Path, seed: int, encoder: str, values: list[tuple[float, float]], options: str = "") -> None:
    """A run's folder with (perplexity, MRR) every ten steps."""
    folder.mkdir(parents=True)
    history = [
        {"epoch": epoch, "step": 10 * epoch, "held_out/perplexity": perplexity, "dev/mrr": mrr}
        for epoch, (perplexity, mrr) in enumerate(values, start=1)
    ]
    config = {"model": {"encoder": {"_target_": f"qaexp.models.encoder.{encoder.lower()}.{encoder}"}}}
    about = {"seed": seed, "command": f"seed={seed} {options}", "data": {"name": "askubuntu_duplicates", "partial": True}}
    RunRecord(key=folder.name, config=config, history=history, **about).save(folder)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    record(folder / "a", 1, "RCNN", [(100.0, 0.5), (50.0, 0.6)])
    record(folder / "deeper" / "b", 2, "RCNN", [(80.0, 0.7), (40.0, 0.6), (30.0, 0.65)])
    record(folder / "c", 1, "GRU", [(90.0, 0.4), (60.0, 0.3)])
    return folder


def test_runs_of_one_encoder_are_averaged_with_their_deviation(runs: Path) -> None:
    table = curves(read_runs([runs, runs / "a"])).set_index(["encoder", "step"])
    assert table.columns.tolist() == ["data", "runs", "perplexity", "perplexity deviation", "dev mrr", "dev mrr deviation"]
    assert table["runs"].to_dict() == {("RCNN", 10): 2, ("RCNN", 20): 2, ("RCNN", 30): 1, ("GRU", 10): 1, ("GRU", 20): 1}
    assert table.loc[("RCNN", 10), "perplexity"] == 90
    assert table.loc[("RCNN", 10), "perplexity deviation"] == pytest.approx(200**0.5)
    assert table.loc[("RCNN", 20), ["dev mrr", "dev mrr deviation"]].tolist() == pytest.approx([0.6, 0.0])
    assert pd.isna(table.loc[("GRU", 10), "perplexity deviation"])


def test_if_data_changed_the_newest_run_counts_however_short(tmp_path: Path) -> None:
    for name, started, values in (("now/a", "2026-11-27", [(70.0, 0.5)]), ("before/a", "2026-11-20", [(60.0, 0.5), (50.0, 0.6)])):
        record(tmp_path / name, 1, "RCNN", values)
        path = tmp_path / name / "record.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "started": started}))
    assert [run.started for run in read_runs([tmp_path])] == ["2026-11-27"]


def test_runs_with_other_options_are_lines_of_their_own(runs: Path) -> None:
    record(runs / "wide", 1, "RCNN", [(70.0, 0.5)], options="model.encoder.hidden_dim=800")
    names = curves(read_runs([runs]))["encoder"].unique().tolist()
    assert set(names) == {"RCNN", "RCNN: model.encoder.hidden_dim=800", "GRU"}


def test_names_have_only_the_options_that_differ_and_long_ones_are_stacked(runs: Path) -> None:
    for name, steps in (("short", 10), ("long", 1000)):
        record(runs / name, 1, "LSTM", [(70.0, 0.5)], options=f"model=gru model/encoder=lstm pairs.steps_per_epoch={steps}")
    table = curves(read_runs([runs]))
    assert set(table["encoder"]) == {"RCNN", "GRU", "LSTM: pairs.steps_per_epoch=10", "LSTM: pairs.steps_per_epoch=1000"}
    assert draw(table).legends[0]._ncols == 1
    assert draw(table[table["encoder"].isin(["RCNN", "GRU"])]).legends[0]._ncols == 3


def test_mrr_is_solid_and_in_percent_and_perplexity_dotted(runs: Path) -> None:
    figure = draw(curves(read_runs([runs])))
    left, right = figure.axes
    assert [line.get_linestyle() for line in left.lines if line.get_marker() in "os"] == ["-", "-"]
    assert [line.get_linestyle() for line in right.lines if line.get_marker() in "os"] == [":", ":"]
    drawn = {tuple(line.get_ydata()) for line in right.lines if line.get_marker() in "os"}
    assert drawn == {(90.0, 45.0, 30.0), (90.0, 60.0)}
    assert max(max(line.get_ydata()) for line in left.lines if line.get_marker() in "os") == 65.0
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["RCNN", "GRU"]


def test_the_foot_names_data_and_seeds_and_bars_stand_where_there_are_three(runs: Path) -> None:
    two = draw(curves(read_runs([runs])))
    foot = "AskUbuntu duplicates (partial data), 1–2 seeds; standard deviations of 3 seeds or more"
    assert two._supxlabel.get_text().replace("\n", " ") == foot  # type: ignore[attr-defined]
    record(runs / "third", 3, "RCNN", [(60.0, 0.9)])
    three = draw(curves(read_runs([runs])))
    drawn = [[container.has_yerr for axes in figure.axes for container in list[Any](axes.containers)] for figure in (two, three)]
    assert drawn == [[False, False, False, False], [True, False, True, False]]  # MRR of RCNN and GRU, then perplexity
    one = draw(curves(read_runs([runs / "c"])))
    assert one._supxlabel.get_text() == "AskUbuntu duplicates (partial data), 1 seed"  # type: ignore[attr-defined]


def test_no_part_of_the_figure_is_black_or_white(runs: Path, tmp_path: Path) -> None:
    """Either would be lost on one of the pages."""
    assert main(["pretraining", str(runs), "--to", str(tmp_path / "out")]) == 0
    pixels = imread(tmp_path / "out" / "figure3.png")
    solid = pixels[pixels[..., 3] > 0.9][:, :3]
    assert len(solid) > 1000
    assert solid.max(axis=1).min() > 0.3
    assert solid.min(axis=1).max() < 0.7


def test_the_command_writes_figure_and_numbers(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pretraining", str(runs), "--to", str(tmp_path / "out")]) == 0
    names = ["figure3.png", "figure3.svg", "figure3.csv"]
    assert capsys.readouterr().out.split() == [str(tmp_path / "out" / name) for name in names]
    assert imread(tmp_path / "out" / "figure3.png").shape == (680, 1040, 4)
    assert len(pd.read_csv(tmp_path / "out" / "figure3.csv")) == 5


def test_a_folder_without_pre_training_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert main(["pretraining", str(tmp_path), "--to", str(tmp_path)]) == 2
    assert f"{tmp_path} holds no run of pre-training" in caplog.text
