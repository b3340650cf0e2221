"""From what a model showed of a pair to numbers beside words: one value a word, or one a pair of words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float
from torch import Tensor

from qaexp.errors import ConfigError


@dataclass(frozen=True)
class Heat:
    """Values over the words of one text (no `rows`), or over two texts."""

    name: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Float[np.ndarray, "row column"]
    """A single row where there are no `rows`."""


def heats(shown: Mapping[str, Tensor], question: Sequence[str], answer: Sequence[str], unit: int | None) -> list[Heat]:
    """What `read_out` gave, in its order, placed beside the words of both texts; what has no axis over words is left out.

    Of a grid's slices or neurons (h_{i,j,k} of Liu et al. 2016, §6.3.2) the one numbered `unit` from 0 is taken, without it their mean. Of
    the attention between the words of one text, what each word receives: the mean over heads and over the words that attend. Gates are
    averaged over their width. Hops, layers and directions each give a value of their own, numbered from 1.

    Raises:
        ConfigError: a grid has no such unit, or there is no grid.
    """
    words = {"question": question, "candidate": answer}
    placed: list[Heat] = []
    for name, tensor in shown.items():
        side, _, what = name.partition(".")
        if not tensor.is_floating_point() or not what:
            continue
        values, shape = tensor.detach().double().cpu().numpy(), tensor.shape
        if side == "pair" and (axes := _two_texts(what, shape, len(question), len(answer))):
            values = _slices(values, axes)
            if unit is not None and not 0 <= unit < len(values):
                raise ConfigError(f"{name} has slices 0 to {len(values) - 1}, and no {unit}; choose one of them")
            placed.append(Heat(name, question, answer, values.mean(axis=0) if unit is None else values[unit]))
            continue
        if what.endswith(("gate", "gates")) and values.ndim > 1:
            values = values.mean(axis=-1)
        elif side in words and values.ndim > 1 and shape[-2] == shape[-1] == len(words[side]):
            values = values.mean(axis=tuple(range(values.ndim - 1)))
        text = _one_text(side, what, values.shape, words)
        if text is not None:
            lines = values.reshape(-1, len(text))
            placed += [Heat(name if len(lines) == 1 else f"{name} {number}", (), text, line[None]) for number, line in enumerate(lines, 1)]
    if unit is not None and placed and not any(heat.rows for heat in placed):
        raise ConfigError(
            f"there is no grid that could have a slice {unit}, only {', '.join(heat.name for heat in placed)}; leave --unit out"
        )
    return placed


def neurons(shown: Mapping[str, Tensor], question: Sequence[str], answer: Sequence[str]) -> Float[np.ndarray, "neuron row column"]:
    """The grid over both texts that a model showed, neuron by neuron.

    Raises:
        ConfigError: it showed none with more than one.
    """
    for name, tensor in shown.items():
        side, _, what = name.partition(".")
        if side == "pair" and (axes := _two_texts(what, tensor.shape, len(question), len(answer))):
            slices = _slices(tensor.detach().double().cpu().numpy(), axes)
            if len(slices) > 1:
                return slices
    raise ConfigError("this model has no grid with neurons over the words of both texts; name a run of lc_lstm, tc_lstm or mv_lstm")


def _slices(values: Float[np.ndarray, "*axis"], axes: tuple[int, int]) -> Float[np.ndarray, "slice row column"]:
    """With the two axes over words last, and all others in one."""
    turned = np.moveaxis(values, axes, (-2, -1))
    return turned.reshape(-1, *turned.shape[-2:])


def _two_texts(what: str, shape: Sequence[int], question: int, answer: int) -> tuple[int, int] | None:
    """The axes over the question's and the answer's words. Attention from word to word counts the answer's words first."""
    for axis in range(len(shape) - 2, -1, -1):
        both = (shape[axis], shape[axis + 1])
        if what == "attention" and both == (answer, question):
            return axis + 1, axis
        if what != "attention" and both == (question, answer):
            return axis, axis + 1
    return None


def _one_text(side: str, what: str, shape: Sequence[int], words: Mapping[str, Sequence[str]]) -> Sequence[str] | None:
    """The text whose words the last axis counts. Of a pair, the answer's unless the name or the length says the question's."""
    of_question = side == "question" or (side == "pair" and what.startswith("question"))
    order = [side] if side in words else ["question"] if of_question else ["candidate", "question"]
    return next((words[text] for text in order if shape and shape[-1] == len(words[text])), None)


def frame(placed: Sequence[Heat]) -> pd.DataFrame:
    """One line a value; places are counted from 1, and `row` is empty where there is one text."""
    lines = [
        {
            "shown": heat.name,
            "row": row + 1 if heat.rows else None,
            "row word": heat.rows[row] if heat.rows else "",
            "column": column + 1,
            "column word": heat.columns[column],
            "value": heat.values[row, column],
        }
        for heat in placed
        for row in range(len(heat.values))
        for column in range(len(heat.columns))
    ]
    return pd.DataFrame(lines).astype({"row": "Int64"})
