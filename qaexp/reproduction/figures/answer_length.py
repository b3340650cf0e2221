"""Figures 3 and 4 of dos Santos et al. 2016: accuracy against the length of the answer."""

from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

from qaexp.explain.drawing import COLOURS, MARKERS, new_figure
from qaexp.reproduction.figures.picture import run_columns, write_footer
from qaexp.reproduction.ledger import Ledger
from qaexp.reproduction.lengths import answer_lengths
from qaexp.reproduction.measured import Measured

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
                style: Any = {"color": colour, "marker": marker, "markevery": 0.08}  # markers some way apart, not one a point
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
