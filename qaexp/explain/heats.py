"""Values beside words: what a model showed of a pair, as one value for each word or for each pair of words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float
from torch import Tensor

from qaexp.errors import ConfigError

OVER_BOTH_TEXTS = ("grid", "alignment")
OVER_ONE_TEXT = ("attention", "gate", "gates")
"""Names of tensors whose values lie over words: OVER_BOTH_TEXTS are whole names, OVER_ONE_TEXT are the ends of names."""


@dataclass(frozen=True)
class Heat:
    """Values over the words of one text (`columns`; `rows` is empty) or of two texts."""

    name: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Float[np.ndarray, "row column"]
    """One row if `rows` is empty."""


def heats(shown: Mapping[str, Tensor], question: Sequence[str], answer: Sequence[str], unit: int | None) -> list[Heat]:
    """Places the tensors of `read_out` beside the words of both texts, in their order. Their names say which axes are over words
    (`intermediates.show`); other tensors are left out.

    - A grid of several slices or neurons (h_{i,j,k} of Liu et al. 2016, §6.3.2): slice `unit`, counted from 0; without `unit`, the mean.
    - Attention between the words of one text: the mean over heads and attending words, that is, the attention that each word receives.
    - Gates: the mean over their width.
    - Hops, layers and directions: each by itself, numbered from 1.

    Raises:
        ConfigError: a grid has no such unit, or there is no grid.
    """
    words = {"question": question, "candidate": answer}
    found: list[Heat] = []
    for name, tensor in shown.items():
        side, _, what = name.partition(".")
        if not tensor.is_floating_point() or not what:
            continue
        if (slices := _grid(name, tensor, question, answer)) is not None:
            if unit is not None and not 0 <= unit < len(slices):
                raise ConfigError(f"{name} has no slice {unit}; choose one of 0 to {len(slices) - 1}")
            found.append(Heat(name, question, answer, slices.mean(axis=0) if unit is None else slices[unit]))
            continue
        values = tensor.detach().double().cpu().numpy()
        if what.endswith(("gate", "gates")) and values.ndim > 1:
            values = values.mean(axis=-1)
        elif side in words and what == "attention" and values.ndim > 1:
            values = values.mean(axis=tuple(range(values.ndim - 1)))
        text = _one_text(side, what, words)
        if text is not None and values.shape[-1:] == (len(text),):
            lines = values.reshape(-1, len(text))
            found += [Heat(name if len(lines) == 1 else f"{name} {number}", (), text, line[None]) for number, line in enumerate(lines, 1)]
    if unit is not None and found and not any(heat.rows for heat in found):
        raise ConfigError(
            f"there is no grid that could have a slice {unit}, only {', '.join(heat.name for heat in found)}; leave --unit out"
        )
    return found


def neurons_of(name: str, tensor: Tensor, question: Sequence[str], answer: Sequence[str]) -> Float[np.ndarray, "neuron row column"] | None:
    """One grid of question words by answer words for each neuron, from the tensor that a model showed as `name`.

    None if there are fewer than two grids.
    """
    slices = _grid(name, tensor, question, answer)
    return slices if slices is not None and len(slices) > 1 else None


def _grid(name: str, tensor: Tensor, question: Sequence[str], answer: Sequence[str]) -> Float[np.ndarray, "slice row column"] | None:
    """The tensor that a model showed as `name`, as grids of question words by answer words. None if it has other axes."""
    side, _, what = name.partition(".")
    if side != "pair" or what not in OVER_BOTH_TEXTS or tensor.shape[-2:] != (len(question), len(answer)):
        return None
    return tensor.detach().double().cpu().numpy().reshape(-1, len(question), len(answer))


def standing_out(values: Float[np.ndarray, "neuron *some"]) -> Float[np.ndarray, " neuron"]:
    """For each neuron, how far its highest value lies above its mean, in standard deviations."""
    flat = values.reshape(len(values), -1)
    return (flat.max(axis=1) - flat.mean(axis=1)) / np.maximum(flat.std(axis=1), 1e-12)


def _one_text(side: str, what: str, words: Mapping[str, Sequence[str]]) -> Sequence[str] | None:
    """The words that a tensor's values belong to: in a pair the answer's, unless the name begins with `question_`."""
    if not what.endswith(OVER_ONE_TEXT):
        return None
    return words[side] if side in words else words["question" if what.startswith("question_") else "candidate"]


def frame(found: Sequence[Heat]) -> pd.DataFrame:
    """A line for each value. Positions are counted from 1; `row` is empty if there is one text."""
    lines = [
        {
            "shown": heat.name,
            "row": row + 1 if heat.rows else None,
            "row word": heat.rows[row] if heat.rows else "",
            "column": column + 1,
            "column word": heat.columns[column],
            "value": heat.values[row, column],
        }
        for heat in found
        for row in range(len(heat.values))
        for column in range(len(heat.columns))
    ]
    return pd.DataFrame(lines).astype({"row": "Int64"})
