"""Figure 3 and Table 3 of Liu et al. 2016: neurons of a grid over two texts, and the pairs of words that excite them.

qaexp figures neurons RUN --to FOLDER

Writes neurons.csv: for each neuron, the pairs of words with its highest activations over the first pairs of the test set. Writes
figure3.png, .svg and .csv: some neurons, each over the pair of texts with its highest activation.

Reading: the paper chose its neurons by eye. Without `--units`, the two neurons are drawn whose highest activation stands out most: the
largest (max − mean) / deviation over all cells of all grids.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float
from torch import Tensor

from qaexp.errors import ConfigError
from qaexp.explain.drawing import save
from qaexp.explain.heat_map import draw
from qaexp.explain.heats import Heat, frame, neurons_of, standing_out
from qaexp.explain.run_data import Pair, beginning_of_title, data_of, pairs_of
from qaexp.files import FIGURES_REMEDY, atomic_write_text, csv_text
from qaexp.runs.ranker import Ranker, load

PAIRS_PER_NEURON = 5
"""The pairs of words that are listed for each neuron."""


class Excited(NamedTuple):
    """A neuron's activation at a pair of words."""

    activation: float
    pair: Pair
    row: int
    column: int

    @property
    def words(self) -> tuple[str, str]:
        return self.pair.question[self.row], self.pair.answer[self.column]


def neuron_grid(shown: Mapping[str, Tensor], question: Sequence[str], answer: Sequence[str]) -> Float[np.ndarray, "neuron row column"]:
    """The grid over both texts among what a model showed.

    Raises:
        ConfigError: there is no grid with more than one neuron.
    """
    for name, tensor in shown.items():
        if (slices := neurons_of(name, tensor, question, answer)) is not None:
            return slices
    raise ConfigError("this model has no grid with neurons over the words of both texts; name a run of lc_lstm, tc_lstm or mv_lstm")


def excitations(ranker: Ranker, pairs: Sequence[Pair]) -> tuple[list[list[Excited]], list[float]]:
    """For each neuron: the distinct pairs of words that excite it most, the highest first, and how far the highest stands out,
    in standard deviations above the mean.

    Raises:
        ConfigError: the model has no grid with neurons.
    """
    highest: list[dict[tuple[str, str], Excited]] = []
    cells: list[np.ndarray] = []  # for each pair: (neuron, row · column)
    for pair in pairs:
        grid = neuron_grid(pair.shown(ranker), pair.question, pair.answer)
        highest = highest or [{} for _ in grid]
        cells.append(grid.reshape(len(grid), -1))
        for found, values in zip(highest, grid, strict=True):
            for excited in _highest(values, pair):
                if excited.words not in found or found[excited.words].activation < excited.activation:
                    found[excited.words] = excited
    best = [sorted(found.values(), key=lambda excited: -excited.activation)[:PAIRS_PER_NEURON] for found in highest]
    return best, standing_out(np.concatenate(cells, axis=1)).tolist()


def _highest(values: Float[np.ndarray, "row column"], pair: Pair) -> list[Excited]:
    """The highest cells of one neuron over one pair of texts. A pair of words that repeats counts once."""
    found: dict[tuple[str, str], Excited] = {}
    for cell in np.argsort(-values, axis=None, kind="stable"):
        row, column = divmod(int(cell), values.shape[1])
        excited = Excited(float(values[row, column]), pair, row, column)
        found.setdefault(excited.words, excited)
        if len(found) == PAIRS_PER_NEURON:
            break
    return list(found.values())


def table(excited: Sequence[Sequence[Excited]], outstanding: Sequence[float]) -> pd.DataFrame:
    """A line for each pair of words of each neuron. Neurons are numbered from 0."""
    return pd.DataFrame(
        {
            "neuron": number,
            "stands out": round(out, 3),
            "place": place,
            "word": each.words[0],
            "other word": each.words[1],
            "activation": round(each.activation, 6),
            "pair": each.pair.name,
        }
        for number, (found, out) in enumerate(zip(excited, outstanding, strict=True))
        for place, each in enumerate(found, 1)
    )


def grids(ranker: Ranker, excited: Sequence[Sequence[Excited]], units: Sequence[int]) -> list[Heat]:
    """The grid of each of these neurons over the pair of texts with its highest activation.

    Raises:
        ConfigError: there is no such neuron.
    """
    placed = []
    for unit in units:
        if not 0 <= unit < len(excited):
            raise ConfigError(f"neuron {unit} does not exist: neurons are numbered 0 to {len(excited) - 1}; choose others with --units")
        best = excited[unit][0]
        values = neuron_grid(best.pair.shown(ranker), best.pair.question, best.pair.answer)[unit]
        placed.append(Heat(f"neuron {unit}, {' · '.join(best.words)}; {best.pair.name}", best.pair.question, best.pair.answer, values))
    return placed


def write_figures(options: argparse.Namespace) -> list[Path]:
    """`qaexp figures neurons`: a table of all neurons and a picture of some."""
    ranker = load(options.run)
    data = data_of(options.run, options.data).read_by(ranker.scorer.subwords)
    excited, outstanding = excitations(ranker, pairs_of(options.run, data, [], options.pairs))
    units = options.units or sorted(np.argsort(outstanding)[::-1][:2].tolist())
    placed = grids(ranker, excited, units)
    shown = "the chosen neurons" if options.units else "the neurons that stand out"
    paths = save(draw(placed, f"{beginning_of_title(options.run)}{shown}"), frame(placed), options.to, "figure3")
    atomic_write_text(options.to / "neurons.csv", csv_text(table(excited, outstanding)), FIGURES_REMEDY)
    return [*paths, options.to / "neurons.csv"]
