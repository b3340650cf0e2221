"""Figures 3 and 4 of dos Santos et al. 2016: accuracy against the length of the answer."""

import json
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from hydra.utils import instantiate
from jaxtyping import Int
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

from qaexp.config import compose
from qaexp.errors import QaexpError
from qaexp.explain.drawing import COLOURS, MARKERS, new_figure
from qaexp.files import RESULTS_REMEDY, atomic_write_text
from qaexp.reproduction.cells import Cell, fingerprint, lacking
from qaexp.reproduction.figures.picture import run_columns, write_footer
from qaexp.reproduction.ledger import Ledger, PerQuestion, digest
from qaexp.reproduction.measured import CellState, Measured
from qaexp.reproduction.spec import READING_ERRORS, describe

if TYPE_CHECKING:  # it needs torch, which writing tables does not
    from qaexp.data.module import RankingDataModule

LENGTH, QUESTIONS = "answer length up to", "questions"


class AnswerLength:
    """A line for each row of the figure's one column: the mean over seeds and over the questions with answers up to each length.

    The lengths are multiples of `every` tokens, from the first with at least `fewest` questions.

    Reading: the length of a question with several right answers is that of the longest, so that the last point is the accuracy over all
    questions.
    """

    def __init__(self, every: int, fewest: int) -> None:
        self.every, self.fewest = every, fewest

    def frame(self, measured: Measured, ledger: Ledger) -> pd.DataFrame:
        table, lines = measured.table, []
        [(name, column)] = table.columns.items()
        for row in table.rows:
            state, scored = measured.state_in(row.label, name), measured.scored(row.label, name)
            if state is None or scored is None:
                continue
            split = (table.metric_of(column, state.cell.dataset) or "").partition("/")[0]
            lengths = answer_lengths(state, split, scored.questions, ledger)
            if lengths is None:
                continue
            values = table.scale_of(column) * np.array(scored.questions.values)
            for limit in range(self.every, int(lengths.max()) + self.every, self.every):
                within = (lengths > 0) & (lengths <= limit)
                if within.sum() >= self.fewest:
                    point = {LENGTH: limit, QUESTIONS: int(within.sum()), name: round(float(values[within].mean()), 4)}
                    lines.append({table.label: row.label, **point, **run_columns(state)})
        return pd.DataFrame(lines)

    def draw(self, measured: Measured, frame: pd.DataFrame) -> Figure:
        table = measured.table
        [name] = table.columns
        figure, [[axes]] = new_figure(width=5.0, height=3.2)
        for row, colour, marker in zip(table.rows, cycle(COLOURS), cycle(MARKERS), strict=False):
            points = frame[frame[table.label] == row.label]
            if len(points):
                style: Any = {"color": colour, "marker": marker, "markevery": 0.08}  # not a marker for every point
                axes.plot(points[LENGTH], points[name], label=row.label, **style)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("answer length up to, tokens")
        axes.set_ylabel(f"{name}, percent")
        figure.legend(loc="outside upper center", ncols=4)
        write_footer(figure, measured)
        return figure


def answer_lengths(state: CellState, split: str, scored: PerQuestion, ledger: Ledger) -> Int[np.ndarray, " question"] | None:
    """The number of tokens of each scored question's longest right answer, 0 if it has none. None if there are neither stored lengths nor
    data. Lengths that are read from the data are stored in `lengths/` of the ledger's folder.

    Raises:
        OutputError: the ledger's folder cannot be written.
        QaexpError: the file is damaged.
    """
    measured_on = state.entries[0].fingerprint
    path = ledger.folder / "lengths" / f"{state.cell.dataset}_{measured_on[:8]}.json"
    if not path.is_file():
        if lacking(state.cell) or fingerprint(state.cell) != measured_on:
            return None
        atomic_write_text(path, json.dumps(_lengths(state.cell), separators=(",", ":")) + "\n", RESULTS_REMEDY)
    return _read(path, split, scored)


def _read(path: Path, split: str, scored: PerQuestion) -> Int[np.ndarray, " question"] | None:
    try:
        kept = json.loads(path.read_text(encoding="utf-8")).get(split)
        if not kept or kept["of"] != scored.of:
            return None
        tokens = np.array([int(length) for length in kept["tokens"]])
        if len(tokens) != len(scored.values):
            raise ValueError(f"{len(tokens)} for {len(scored.values)} questions")
        return tokens
    except (ValueError, *READING_ERRORS) as error:
        raise QaexpError(
            f"{path}: not the lengths of answers ({describe(error)}); restore it from git, or delete it: if the data are there, "
            "the next `make reproduce-figure...` writes it again"
        ) from error


def _lengths(cell: Cell) -> dict[str, dict[str, Any]]:
    """Test split to the digest of its questions' names, and the lengths of their answers in the same order."""
    data: RankingDataModule = instantiate(compose([*cell.overrides, "dataset/vectors=random"]).dataset)
    found = {}
    for name in data.test_splits:
        split = data.splits[name]
        tokens = np.where(split.labels == 1, data.corpus.texts.lengths(split.candidates), 0)
        longest = np.maximum.reduceat(tokens, split.offsets[:-1]).tolist()
        found[name] = {"of": digest([question.decode() for question in split.question_ids]), "tokens": longest}
    return found
