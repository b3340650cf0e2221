"""Neurons of a grid: the pairs of words that excite each one, against all cells of all grids."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf

import qaexp
from qaexp.cli.figures import main
from qaexp.config import compose
from qaexp.errors import ConfigError
from qaexp.explain.neurons import PAIRS_PER_NEURON, excitations, grids, neuron_grid, table
from qaexp.explain.run_data import Pair, data_of, pairs_of
from qaexp.models.scorer import read_out
from qaexp.runs.ranker import Ranker
from qaexp.train import train

TINY = ["logger=none", "dataset.reader.num_train=40", "dataset.reader.num_dev=10", "dataset.reader.num_test=10", "dataset.vectors.dim=8"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    cfg = compose([*TINY, "model=tc_lstm", "model.hidden_dim=3", "optimizer=adam", "trainer.max_epochs=1", f"cache_dir={folder}/cache"])
    (folder / "config.yaml").write_text(OmegaConf.to_yaml(cfg, resolve=True), encoding="utf-8")
    train(cfg, folder)
    return folder


@pytest.fixture(scope="module")
def read(run: Path) -> tuple[Ranker, list[Pair]]:
    return qaexp.load(run), pairs_of(run, data_of(run, None), [], 4)


def test_the_pairs_of_words_are_those_with_the_highest_activations(read: tuple[Ranker, list[Pair]]) -> None:
    ranker, pairs = read
    excited, outstanding = excitations(ranker, pairs)
    shown = [ranker.read_out(" ".join(pair.question), " ".join(pair.answer))["pair.grid"].numpy() for pair in pairs]
    for neuron in range(3):
        highest: dict[tuple[str, str], float] = {}
        for pair, grid in zip(pairs, shown, strict=True):
            for row, word in enumerate(pair.question):
                for column, other in enumerate(pair.answer):
                    highest[word, other] = max(highest.get((word, other), -np.inf), float(grid[neuron, row, column]))
        expected = sorted(highest.items(), key=lambda item: -item[1])
        assert excited[neuron][0].words == expected[0][0]
        assert [each.activation for each in excited[neuron]] == pytest.approx([value for _, value in expected[:PAIRS_PER_NEURON]], rel=1e-5)
        cells = np.concatenate([grid[neuron].ravel() for grid in shown]).astype(float)
        assert outstanding[neuron] == pytest.approx((cells.max() - cells.mean()) / cells.std(), rel=1e-4)
    listed = table(excited, outstanding)
    assert listed.groupby("neuron").size().to_dict() == {0: PAIRS_PER_NEURON, 1: PAIRS_PER_NEURON, 2: PAIRS_PER_NEURON}
    assert listed["place"].tolist() == [1, 2, 3, 4, 5] * 3


def test_a_neuron_is_drawn_over_the_texts_in_which_it_is_highest(read: tuple[Ranker, list[Pair]]) -> None:
    ranker, pairs = read
    excited, _ = excitations(ranker, pairs)
    [heat] = grids(ranker, excited, [1])
    assert heat.values.max() == pytest.approx(excited[1][0].activation)
    row, column = np.unravel_index(heat.values.argmax(), heat.values.shape)
    assert (heat.rows[row], heat.columns[column]) == excited[1][0].words
    with pytest.raises(ConfigError, match="neuron 3 does not exist: neurons are numbered 0 to 2"):
        grids(ranker, excited, [3])


def test_the_command_writes_the_list_and_the_figure(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["neurons", str(run), "--pairs", "3", "--units", "2", "--to", str(tmp_path)]) == 0
    names = ["figure3.png", "figure3.svg", "figure3.csv", "neurons.csv"]
    assert capsys.readouterr().out.split() == [str(tmp_path / name) for name in names]
    listed, drawn = (pd.read_csv(tmp_path / name) for name in ("neurons.csv", "figure3.csv"))
    assert drawn["value"].max() == pytest.approx(listed[listed["neuron"] == 2]["activation"].max(), abs=1e-5)
    assert set(drawn["shown"].str.split(",").str[0]) == {"neuron 2"}


def test_a_word_that_repeats_takes_no_place_of_another(read: tuple[Ranker, list[Pair]]) -> None:
    [found, *_], _ = excitations(read[0], [Pair("", ["hot"] * 6, ["soup", "tea"])])
    assert {each.words for each in found} == {("hot", "soup"), ("hot", "tea")}


def test_a_model_without_neurons_over_words_is_refused() -> None:
    scorer = instantiate(compose(["model=ap_cnn"]).model, vectors=torch.randn(9, 8))
    shown = read_out(scorer, torch.tensor([2, 3]), torch.tensor([4, 5, 6]))
    with pytest.raises(ConfigError, match="no grid with neurons over the words"):
        neuron_grid(shown, ["a", "b"], ["c", "d", "e"])
