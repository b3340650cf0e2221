"""Figures 4 and 5: gates of a real run against the equation, position by position."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from omegaconf import OmegaConf

import qaexp
from qaexp.cli.figures import main
from qaexp.config import compose
from qaexp.errors import ConfigError
from qaexp.explain.gates import by_position, draw_positions, draw_words, gates, of_words
from qaexp.train import train

TINY = ["logger=none", "dataset.reader.num_train=40", "dataset.reader.num_dev=10", "dataset.reader.num_test=10", "dataset.vectors.dim=12"]


def run_of(folder: Path, *overrides: str) -> Path:
    cfg = compose([*TINY, "trainer.max_epochs=1", f"cache_dir={folder.parent}/cache", *overrides])
    folder.mkdir()
    (folder / "config.yaml").write_text(OmegaConf.to_yaml(cfg, resolve=True), encoding="utf-8")
    train(cfg, folder)
    return folder


@pytest.fixture(scope="module", params=["vector", "scalar"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    options = ("model.encoder.hidden_dim=6", f"model.encoder.gate={request.param}", "optimizer=adam")
    return run_of(tmp_path_factory.mktemp("runs") / "run", "model=rcnn", *options)


def test_the_words_of_a_question_have_the_gates_of_the_equation(run: Path) -> None:
    """1 − λ_t = 1 − σ(W^λ·x_t + U^λ·h_{t−1} + b^λ), h from the scorer's own states."""
    ranker = qaexp.load(run)
    table = of_words(ranker, ["Why does my bike chain squeak?", "chain"])
    assert table[table["question"] == 1]["word"].tolist() == ["why", "does", "my", "bike", "chain", "squeak"]
    assert table[table["question"] == 2]["position"].tolist() == [1]
    encoder = ranker.scorer.question_encoder
    gate_dim = len(encoder.U)
    words, ids = ranker.read("Why does my bike chain squeak?")
    text = {"tokens": ids[None], "mask": ids[None] != 0}
    with torch.no_grad():
        embedded = ranker.scorer.embedding(text)
        x, h = embedded["states"][0], encoder(embedded)["states"][0]
        before = torch.cat([torch.zeros(1, h.shape[1]), h[:-1]])
        decay = torch.sigmoid(x @ encoder.W[:gate_dim].T + before @ encoder.U.T + encoder.b_gate)
    np.testing.assert_allclose(table[table["question"] == 1]["gate"], (1 - decay).mean(dim=1), atol=1e-5)
    assert len(words) == 6


def test_positions_average_the_texts_that_reach_them(run: Path) -> None:
    from hydra.utils import instantiate

    data = instantiate(OmegaConf.load(run / "config.yaml").dataset)
    scorer = qaexp.load(run).scorer
    table = by_position(scorer, data.corpus, ["dev", "test"], max_length=40)
    assert table["position"].tolist() == list(range(1, len(table) + 1))
    assert table["texts"].is_monotonic_decreasing
    splits = [data.corpus.splits[name] for name in ("dev", "test")]
    texts = np.unique(np.concatenate([side for split in splits for side in (split.questions, split.candidates)]))
    third = [gates(scorer, torch.from_numpy(data.corpus.texts.words(t).astype(np.int64))[None])[0] for t in texts.tolist()]
    third = [gate[2] for gate in third if len(gate) > 2]
    row = table.set_index("position").loc[3]
    assert row["texts"] == len(third)
    assert row["mean"] == pytest.approx(np.mean([gate.mean() for gate in third]), abs=1e-5)
    assert row["maximum"] == pytest.approx(np.mean([gate.max() for gate in third]), abs=1e-5)


def test_the_command_writes_both_figures(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gates", str(run), "--words", "Why does my chain squeak?", "My saddle wobbles", "--to", str(tmp_path)]) == 0
    written = [f"figure{n}.{kind}" for n in (4, 5) for kind in ("png", "svg", "csv")]
    assert capsys.readouterr().out.split() == [str(tmp_path / name) for name in written]
    assert all((tmp_path / name).stat().st_size > 100 for name in written)
    figure = draw_words(pd.read_csv(tmp_path / "figure4.csv"))
    assert [tick.get_text() for tick in figure.axes[1].get_xticklabels()] == ["my", "saddle", "wobbles"]


def test_a_character_that_the_font_lacks_is_a_box_and_a_dollar_sign_no_formula() -> None:
    figure = draw_words(pd.DataFrame({"question": 1, "word": ["漢字", "$5", "and", "$6"], "gate": [0.1, 0.2, 0.3, 0.4]}))
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["□□", "$5", "and", "$6"]
    assert not any(tick.get_parse_math() for tick in figure.axes[0].get_xticklabels())


@pytest.mark.parametrize("question", ["", " ?", "🦴"])
def test_a_question_without_a_word_is_refused(question: str, run: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert main(["gates", str(run), "--words", "chain", question, "--to", str(tmp_path)]) == 2
    assert f"--words {question!r} has no word that the model reads; write a question, or leave --words out" in caplog.text
    assert not list(tmp_path.iterdir())


def test_the_legend_of_positions_stands_outside_the_axes() -> None:
    figure = draw_positions(pd.DataFrame({"position": [1, 2], "mean": [0.5, 0.3], "maximum": [0.5, 0.7]}))
    figure.draw_without_rendering()
    [legend], [axes] = figure.legends, figure.axes
    assert legend.get_window_extent().y0 > axes.get_window_extent().y1
    assert axes.get_legend() is None


def test_a_model_without_gates_is_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = run_of(tmp_path / "run", "model=word_overlap")
    with pytest.raises(ConfigError, match="no gate for each word"):
        of_words(qaexp.load(run), ["chain"])
    other = qaexp.load(run_of(tmp_path / "other", "model=ggsa"))  # its gate is another
    with pytest.raises(ConfigError, match="name a run of model=rcnn"):
        of_words(other, ["chain"])
    assert main(["gates", str(run), "--to", str(tmp_path)]) == 2
    assert "name a run of model=rcnn" in caplog.text
