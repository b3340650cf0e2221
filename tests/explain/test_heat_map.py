"""Heat maps as pictures: every word is there, and the command writes what it says."""

import json
import shutil
from argparse import Namespace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread
from matplotlib.patches import Rectangle
from omegaconf import OmegaConf

import qaexp
from qaexp.cli.figures import main
from qaexp.config import compose
from qaexp.errors import ConfigError
from qaexp.explain.heat_map import GRID_COLUMNS, _chosen, draw
from qaexp.explain.heats import Heat
from qaexp.explain.run_data import data_of, pairs_of
from qaexp.train import train


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    small = ["num_train=40", "num_dev=10", "num_test=10"]
    options = ["logger=none", "model=ap_cnn", "trainer.max_epochs=1", f"cache_dir={folder}/cache", "dataset.vectors.dim=12"]
    cfg = compose([*options, *(f"dataset.reader.{option}" for option in small)])
    (folder / "config.yaml").write_text(OmegaConf.to_yaml(cfg, resolve=True), encoding="utf-8")
    train(cfg, folder)
    return folder


def test_every_word_is_drawn_once_and_the_highest_value_is_the_brightest() -> None:
    words = [f"w{number}" for number in range(90)]
    values = np.arange(90)[None] / 90
    figure = draw([Heat("pair.attention", (), words, values), Heat("pair.grid", ["$a$", "b"], words, np.tile(values, (2, 1)))], "漢 title")
    [line, *grids] = [axes for axes in figure.axes if axes.get_label() != "scale"]
    assert [text.get_text() for text in line.texts] == words
    brightness = [sum(box.get_facecolor()[:3]) for box in line.patches if isinstance(box, Rectangle)]
    assert int(np.argmax(brightness)) == 89
    assert [label.get_text() for grid in grids for label in grid.get_xticklabels()] == words
    assert [len(grid.get_xticklabels()) for grid in grids] == [GRID_COLUMNS, GRID_COLUMNS, 90 - 2 * GRID_COLUMNS]
    assert [label.get_text() for label in grids[0].get_yticklabels()] == ["$a$", "b"]
    assert figure.texts[0].get_text() == "□ title"
    assert [text.get_text() for text in figure.texts].count("0.989") == len(figure.axes) - len([line, *grids])
    shades = np.concatenate([np.asarray(grid.images[0].get_array())[0] for grid in grids])
    np.testing.assert_allclose(shades, np.arange(90) / 89, err_msg="all parts of a grid have the same shades")
    for grid in grids:
        box = grid.get_position()
        assert 0 < box.x0 < box.x1 < 1
        assert 0 < box.y0 < box.y1 < 1


@pytest.mark.parametrize(
    "heats",
    [
        [Heat("pair.grid", ["how", "so"], ["like", "this"], np.eye(2))],
        [Heat("gate", (), ["why"], np.array([[0.5]])), Heat("a gate of another name", (), ["no", "reason"], np.array([[-1.25e-5, 1.0]]))],
        [Heat("pair.grid", ["w" * 20] * 3, ["w" * 20] * 90, np.zeros((3, 90)))],
        [Heat("attention", (), [f"word{number}" for number in range(40)], np.ones((1, 40)))],
    ],
    ids=["short grid", "short lines", "long grid", "long line"],
)
def test_the_canvas_is_as_large_as_what_is_drawn(heats: list[Heat]) -> None:
    figure = draw(heats, "a_run_of_some_model: question 12, right answer ranked 3 of 10, score 0.1234")
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    around = [box.x0, width - box.x1, box.y0, height - box.y1]
    assert min(around) > 0.05
    assert max(around) < 0.35


def test_the_command_writes_pictures_and_their_numbers(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    question, answer = "How do I cool the soup?", "Stir it for $5."
    assert main(["heat_map", str(run), "--question", question, "--answer", answer, "--to", str(tmp_path / "figures")]) == 0
    assert "pair.alignment, pair.question_attention, pair.attention" in capsys.readouterr().out
    table = pd.read_csv(tmp_path / "figures" / "heat_map.csv")
    weights = table[table["shown"] == "pair.attention"]
    np.testing.assert_allclose(weights["value"], qaexp.load(run).read_out(question, answer)["pair.attention"].numpy(), rtol=1e-6)
    assert weights["column word"].tolist() == ["stir", "it", "for", "5"]
    picture = imread(tmp_path / "figures" / "heat_map.png")
    assert picture[0, 0, 3] == 0, "the ground is the page's"
    first = (tmp_path / "figures" / "heat_map.svg").read_bytes()
    assert b">alignment" not in first
    main(["heat_map", str(run), "--question", question, "--answer", answer, "--to", str(tmp_path / "again")])
    assert (tmp_path / "again" / "heat_map.svg").read_bytes() == first


def best_answers(run: Path) -> dict[str, tuple[str, int]]:
    """Of each test question, the right candidate that stands first in the run file, and where."""
    right = {tuple(line.split()[::2]) for line in (run / "test.qrels").read_text().splitlines() if line.endswith(" 1")}
    found: dict[str, tuple[str, int]] = {}
    for question, _, candidate, rank, *_ in map(str.split, (run / "test.run").read_text().splitlines()):
        if (question, candidate) in right:
            found.setdefault(question, (candidate, int(rank)))
    return found


def test_without_a_pair_the_first_questions_stand_beside_their_best_right_answers(run: Path, tmp_path: Path) -> None:
    data = data_of(run, None)
    split, best = data.splits["test"], best_answers(run)
    first = [name.decode() for name in split.question_ids[:3]]
    pairs = pairs_of(run, data, [], 3)
    for pair, question in zip(pairs, first, strict=True):
        candidate, rank = best[question]
        assert pair.name == f"question {question}, right answer ranked {rank} of 10"
        [text] = {int(text) for text, name in zip(split.candidates, split.candidate_ids, strict=True) if name.decode() == candidate}
        assert pair.answer == data.corpus.words(text)
    assert pairs_of(run, data, first[1:2], 5) == pairs[1:2]
    assert main(["heat_map", str(run), "--to", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.glob("*.csv")} == {"heat_map1.csv", "heat_map2.csv"}
    drawn = pd.read_csv(tmp_path / "heat_map2.csv")
    assert drawn[drawn["shown"] == "pair.attention"]["column word"].tolist() == pairs[1].answer
    assert main(["heat_map", str(run), "--question", first[1], "--to", str(tmp_path)]) == 0
    assert (tmp_path / "heat_map.svg").read_bytes() == (tmp_path / "heat_map2.svg").read_bytes()


def test_data_of_a_run_may_lie_elsewhere(tmp_path: Path) -> None:
    options = ["dataset=own", "dataset/vectors=random", "data_dir=data", f"cache_dir={tmp_path / 'data'}"]
    (tmp_path / "config.yaml").write_text(OmegaConf.to_yaml(compose(options), resolve=True), encoding="utf-8")
    (tmp_path / "elsewhere" / "own").mkdir(parents=True)
    for split in ("train", "dev", "test"):
        (tmp_path / "elsewhere" / "own" / f"{split}.tsv").write_text(f"what of {split}\tnothing\t1\nwhat of {split}\tall\t0\n")
    data = data_of(tmp_path, str(tmp_path / "elsewhere"))
    assert data.splits["test"].num_questions == 1
    assert (tmp_path / "data").is_dir(), "its cache is where it was"


def test_data_that_have_changed_since_the_run_are_refused(run: Path, tmp_path: Path) -> None:
    """Its word ids would be those of other words."""
    shutil.copy(run / "config.yaml", tmp_path)
    kept = json.loads((run / "record.json").read_text())
    (tmp_path / "record.json").write_text(json.dumps({**kept, "data": {**kept["data"], "fingerprint": "f" * 64}}))
    with pytest.raises(ConfigError, match="the data of toy have changed since"):
        data_of(tmp_path, None)


def test_a_run_that_has_ranked_nothing_yet_is_answered_in_a_sentence(run: Path, tmp_path: Path) -> None:
    shutil.copy(run / "config.yaml", tmp_path)
    with pytest.raises(ConfigError, match=r"has no test\.run, which a run writes at its end; resume it: qaexp resume="):
        pairs_of(tmp_path, data_of(tmp_path, None), [], 1)


def test_a_pair_that_cannot_be_had_is_answered_in_a_sentence(run: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for options, said in (
        ([str(run), "--question", "why?"], "test of dataset=toy has no question with the id 'why?'"),
        ([str(run), "--answer", "so"], "--answer is drawn beside a question"),
        ([str(run / "best.ckpt")], "best.ckpt has no config.yaml"),
    ):
        assert main(["heat_map", *options, "--to", str(tmp_path)]) == 2
        assert said in caplog.text


def test_a_model_that_shows_nothing_is_refused(run: Path) -> None:
    options = Namespace(run=run, show=None)
    with pytest.raises(ConfigError, match=r"shows nothing over words: its model has no attention, gates or grid; name a run of one"):
        _chosen([], options)


def test_a_name_that_a_model_does_not_show_is_refused_with_those_that_it_shows(
    run: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pair = ["--question", "why", "--answer", "because", "--to", str(tmp_path)]
    for names in (["gate"], ["pair.attention", "gate"]):
        caplog.clear()
        assert main(["heat_map", str(run), *pair, "--show", *names]) == 2
        assert "shows no gate, but pair.alignment, pair.question_attention, pair.attention; choose from these" in caplog.text
    assert main(["heat_map", str(run / "nowhere"), *pair]) == 2
    assert "nowhere does not exist" in caplog.text
    assert main(["heat_map", str(run), *pair, "--unit", "1"]) == 2
    assert "pair.alignment has no slice 1; choose one of 0 to 0" in caplog.text
