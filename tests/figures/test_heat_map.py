"""Heat maps as pictures: every word is there, and the command writes what it says."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread
from matplotlib.patches import Rectangle

import qaexp
from qaexp.config import compose
from qaexp.figures.heat_map import COLUMNS, draw, main
from qaexp.figures.heats import Heat
from qaexp.train import train


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    small = ["num_train=40", "num_dev=10", "num_test=10"]
    options = ["logger=none", "model=ap_cnn", "trainer.max_epochs=1", f"cache_dir={folder}/cache", "dataset.vectors.dim=12"]
    train(compose([*options, *(f"dataset.reader.{option}" for option in small)]), folder)
    return folder


def test_every_word_is_drawn_once_and_the_highest_value_is_the_brightest() -> None:
    words = [f"w{number}" for number in range(90)]
    values = np.arange(90)[None] / 90
    figure = draw([Heat("pair.attention", (), words, values), Heat("pair.grid", ["$a$", "b"], words, np.tile(values, (2, 1)))], "漢 title")
    [line, *grids] = figure.axes
    assert [text.get_text() for text in line.texts] == words
    brightness = [sum(box.get_facecolor()[:3]) for box in line.patches if isinstance(box, Rectangle)]
    assert int(np.argmax(brightness)) == 89
    assert [label.get_text() for grid in grids for label in grid.get_xticklabels()] == words
    assert [len(grid.get_xticklabels()) for grid in grids] == [COLUMNS, COLUMNS, 90 - 2 * COLUMNS]
    assert [label.get_text() for label in grids[0].get_yticklabels()] == ["$a$", "b"]
    assert figure.texts[0].get_text() == "□ title"
    for grid in grids:
        box = grid.get_position()
        assert 0 < box.x0 < box.x1 < 1
        assert 0 < box.y0 < box.y1 < 1


def test_the_command_writes_pictures_and_their_numbers(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    question, answer = "How do I cool the soup?", "Stir it for $5."
    assert main([str(run), "--question", question, "--answer", answer, "--to", str(tmp_path / "figures")]) == 0
    assert "pair.alignment, pair.question_attention, pair.attention" in capsys.readouterr().out
    table = pd.read_csv(tmp_path / "figures" / "heat_map.csv")
    weights = table[table["shown"] == "pair.attention"]
    np.testing.assert_allclose(weights["value"], qaexp.load(run).read_out(question, answer)["pair.attention"].numpy(), rtol=1e-6)
    assert weights["column word"].tolist() == ["stir", "it", "for", "5"]
    picture = imread(tmp_path / "figures" / "heat_map.png")
    assert picture[0, 0, 3] == 0, "the ground is the page's"
    first = (tmp_path / "figures" / "heat_map.svg").read_bytes()
    assert b">alignment" not in first
    main([str(run), "--question", question, "--answer", answer, "--to", str(tmp_path / "again")])
    assert (tmp_path / "again" / "heat_map.svg").read_bytes() == first


def test_what_a_model_does_not_show_is_refused_with_what_it_does(run: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pair = ["--question", "why", "--answer", "because", "--to", str(tmp_path)]
    assert main([str(run), *pair, "--show", "gate"]) == 2
    assert "shows pair.alignment, pair.question_attention, pair.attention; choose of these" in caplog.text
    assert main([str(run / "nowhere"), *pair]) == 2
    assert "nowhere does not exist" in caplog.text
    assert main([str(run), *pair, "--unit", "1"]) == 2
    assert "pair.alignment has slices 0 to 0, and no 1" in caplog.text
