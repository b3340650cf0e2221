"""Pictures of a sweep: every run is drawn at its own values, the best one is named, and a folder without runs is refused."""

import json
from pathlib import Path

import matplotlib.image
import numpy as np
import pandas as pd
import pytest

from qaexp.cli.figures import main
from qaexp.errors import QaexpError
from qaexp.reproduction.figures.sweep import UNSET, effects, effects_table, hyper_parameters, parallel_coordinates, scale, sweep_table


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Twelve runs whose dev MAP is known."""
    for place, (lr, pooling) in enumerate(
        (lr, pooling) for lr in ("1e-05", "0.0001", "0.001") for pooling in ("max", "mean", "last", "sum")
    ):
        content = {
            "key": str(place),
            "config": {"dataset": {"selection_metric": "dev/map"}},
            "seed": 1,
            "command": f"model=ggsa optimizer.lr={lr} model/pooling={pooling} seed={place}",
            "status": "pruned" if place == 3 else "failed" if place == 5 else "finished",
            "history": [{"epoch": 1, "dev/map": place / 20}, {"epoch": 2, "dev/map": place / 40}],
            "metrics": {"test": {"map": 1 - place / 20}},
        }
        (tmp_path / f"run{place}").mkdir()
        (tmp_path / f"run{place}" / "record.json").write_text(json.dumps(content))
    return tmp_path


def test_the_table_has_the_options_that_differ_and_dev_scores_best_first(folder: Path) -> None:
    runs, metric = sweep_table(folder)
    assert metric == "dev/map"
    assert hyper_parameters(runs) == ["optimizer.lr", "model/pooling"]
    assert runs["dev score"].tolist() == [place / 20 for place in (11, 10, 9, 8, 7, 6, 4, 3, 2, 1, 0)]  # 5 failed
    assert runs.loc[0, ["optimizer.lr", "model/pooling"]].tolist() == ["0.001", "sum"]


def test_a_run_that_was_set_aside_is_not_shown_beside_its_successor(folder: Path) -> None:
    content = json.loads((folder / "run11" / "record.json").read_text()) | {"started": "2000-01-01T00:00:00+00:00"}
    (folder / "run11_0123abcd").mkdir()
    content |= {"command": f"{content['command']} logger=none", "history": [{"epoch": 1, "dev/map": 0.99}]}
    (folder / "run11_0123abcd" / "record.json").write_text(json.dumps(content))
    runs, _ = sweep_table(folder)
    assert (len(runs), runs["dev score"].max()) == (11, 0.55)
    assert hyper_parameters(runs) == ["optimizer.lr", "model/pooling"]


def test_lines_go_through_the_runs_values_to_their_scores(folder: Path) -> None:
    runs, metric = sweep_table(folder)
    [axes] = parallel_coordinates(runs, metric).axes
    lines = [line for line in axes.lines if len(np.asarray(line.get_xdata())) == 3]
    assert len(lines) == len(runs) + 1
    best = np.asarray(lines[-1].get_ydata())
    assert best.tolist() == [1.0, 1.0, 1.0]  # the largest rate, the last name, the best score
    assert "55.00" in str(lines[-1].get_label())
    worst = np.asarray(lines[0].get_ydata())
    np.testing.assert_allclose(worst, [0.0, 1 / 3, 0.0])  # "max" is the second of four names


def test_the_effect_of_a_value_is_the_mean_of_its_runs_with_its_interval(folder: Path) -> None:
    runs, metric = sweep_table(folder)
    axes = effects(runs, metric).axes[0]
    assert axes.get_title() == "optimizer.lr"
    np.testing.assert_allclose(np.asarray(axes.lines[0].get_ydata(), dtype=float), [7.5, 85 / 3, 47.5])
    assert [round(float(at), 3) for at in axes.get_xticks()] == [0, 0.5, 1], "a logarithmic axis"
    [bars] = axes.containers
    half = 4.302652729749 * np.std([0.2, 0.3, 0.35], ddof=1) / 3**0.5  # Student's t with two degrees of freedom
    np.testing.assert_allclose(np.diff(bars.lines[2][0].get_segments()[1][:, 1]), [200 * half])  # type: ignore[index]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1e-05", "0.0001", "0.001"]
    table = effects_table(runs)
    assert table.iloc[1][["option", "value", "runs"]].tolist() == ["optimizer.lr", "0.0001", 3]
    np.testing.assert_allclose(table.loc[1, ["mean", "ci95", "best"]].to_numpy(dtype=float), [0.85 / 3, half, 0.35])
    assert table["option"].tolist() == ["optimizer.lr"] * 3 + ["model/pooling"] * 4


def test_many_numbers_lie_where_their_size_puts_them() -> None:
    rates = [10.0**power for power in np.linspace(-5, -2, 30)]
    of_rates = scale([str(rate) for rate in rates])
    np.testing.assert_allclose(of_rates.heights, np.linspace(0, 1, 30))
    assert [label for _, label in of_rates.marks] == ["1e-05", "5.6e-05", "0.00032", "0.0018", "0.01"]
    assert [of_rates.groups.count(group) for group in of_rates.in_order] == [6] * 5
    assert of_rates.in_order[0] == "1e-05 to 3.3e-05"
    shares = np.linspace(0.01, 0.5, 30)
    np.testing.assert_allclose(scale([str(share) for share in shares]).heights, (shares - 0.01) / 0.49)
    lacking = scale([None, *(str(share) for share in shares)])
    assert lacking.heights[0] == 0.0
    assert min(lacking.heights[1:]) > 0.1
    assert (lacking.groups[0], lacking.in_order[0], lacking.marks[0]) == (UNSET, UNSET, (0.0, UNSET))
    assert lacking.groups[-1] == "0.42 to 0.5"  # it was "nan to nan"


def test_numbers_lie_by_their_size_above_runs_that_lack_the_option() -> None:
    of_sizes = scale(["8", None, "2", "10", float("nan"), "4"])
    assert [label for _, label in of_sizes.marks] == [UNSET, "2", "4", "8", "10"]
    np.testing.assert_allclose(of_sizes.heights, [0.15 + 0.85 * 6 / 8, 0, 0.15, 1, 0, 0.15 + 0.85 * 2 / 8])


def test_two_spellings_of_one_number_have_one_place() -> None:
    assert scale(["1e-3", "0.001"]).heights == [0.5, 0.5]


def test_zero_stands_at_the_foot_of_a_logarithmic_scale() -> None:
    of_penalties = scale(["0", "1e-5", "1e-4", "1e-3", None])
    assert of_penalties.marks[0] == (0.0, f"0, {UNSET}")
    np.testing.assert_allclose(of_penalties.heights, [0, 0.15, 0.575, 1, 0])


def test_scores_that_are_close_have_marks_that_differ(folder: Path) -> None:
    runs, metric = sweep_table(folder)
    for width in (0.1, 0.003, 0.0003):
        near = runs.assign(**{"dev score": 0.5 + width * runs["dev score"] / runs["dev score"].max()})
        [axes] = parallel_coordinates(near, metric).axes
        marks = [text.get_text() for text in axes.texts][-5:]
        assert len(set(marks)) == 5, marks


def test_runs_of_equal_scores_meet_in_the_middle_under_one_mark(folder: Path) -> None:
    runs, metric = sweep_table(folder)
    [axes] = parallel_coordinates(runs.assign(**{"dev score": 0.5}), metric).axes
    assert {np.asarray(line.get_ydata())[-1] for line in axes.lines} == {0.5}
    assert [text.get_text() for text in axes.texts].count("50.0") == 1


def test_the_command_writes_pictures_and_refuses_a_folder_without_runs(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out = tmp_path / "out"
    assert main(["sweep", str(folder), "--to", str(out)]) == 0
    for name in ("parallel.png", "effects.png"):
        picture = matplotlib.image.imread(out / name)
        assert picture.std() > 0.02, f"{name} is blank"
    assert len(pd.read_csv(out / "parallel.csv")) == 11
    assert len(pd.read_csv(out / "effects.csv")) == 3 + 4
    assert main(["sweep", str(tmp_path / "nowhere")]) == 2
    assert "holds 0 finished runs" in caplog.text


def test_scores_that_are_measured_in_different_ways_are_not_drawn_on_one_axis(folder: Path) -> None:
    content = json.loads((folder / "run0" / "record.json").read_text()) | {"convention": "semeval10"}
    (folder / "run0" / "record.json").write_text(json.dumps(content))
    with pytest.raises(QaexpError, match=r"measured in 2 ways, and a picture has one axis for their scores: .*convention semeval10"):
        sweep_table(folder)
