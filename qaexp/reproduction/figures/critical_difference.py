"""Critical difference: the rows of a table by their means, and bars that join rows which cannot be told apart (Demšar 2006)."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import pandas as pd
from matplotlib.figure import Figure

from qaexp.evaluation.significance import LEVEL
from qaexp.explain.drawing import COLOURS, INK, new_figure
from qaexp.reproduction.claims import compare, holm_corrected
from qaexp.reproduction.figures.picture import drawn_intervals, run_columns, write_footer
from qaexp.reproduction.ledger import Ledger
from qaexp.reproduction.measured import Measured
from qaexp.reproduction.page import LETTERS

OURS, GROUPS = "ours", "groups"

MANY_GROUPS = 6
"""The number of bars for which there is space beside the means."""


class CriticalDifference:
    """A line for each row of the figure's one column, the best first, and a bar for each group of neighbours of which no two differ.

    Two rows differ if the larger p of the paired randomisation test over questions and of Welch's over seeds is below 5%, Holm-corrected
    over all pairs. A row with one seed is not compared if the seed changes its number: it is drawn as a cross, in no group. Rows that
    were measured on different questions share no bar.
    """

    def frame(self, measured: Measured, ledger: Ledger) -> pd.DataFrame:
        table = measured.table
        [(name, column)] = table.columns.items()
        scored = {row.label: found for row in table.rows if (found := measured.scored(row.label, name))}
        lines = []
        for label in scored:
            state = measured.state_in(label, name)
            if state and (ours := state.interval(column)):
                lines.append({table.label: label, OURS: round(ours.mean, 4), "ci95": round(ours.half, 4), **run_columns(state)})
        lines.sort(key=lambda line: -line[OURS])
        labels = [line[table.label] for line in lines if not math.isnan(line["ci95"])]
        pairs = {(one, other): compare(scored[one], scored[other]) for one, other in combinations(labels, 2)}
        p_values = dict(zip(pairs, holm_corrected(list(pairs.values())), strict=True))
        groups = alike(labels, {pair: pairs[pair] is None or (p is not None and p < LEVEL) for pair, p in p_values.items()})
        names = LETTERS[: len(groups)]
        of = {
            label: " ".join(each for each, (first, last) in zip(names, groups, strict=True) if first <= place <= last)
            for place, label in enumerate(labels)
        }
        return pd.DataFrame([{**line, GROUPS: of.get(line[table.label], "")} for line in lines])

    def draw(self, measured: Measured, frame: pd.DataFrame) -> Figure:
        [name] = measured.table.columns
        groups = {
            each: [place for place, of in enumerate(frame[GROUPS]) if each in of.split()] for of in frame[GROUPS] for each in of.split()
        }
        figure, [[axes, bars]] = new_figure(6.4, 1.2 + 0.2 * len(frame), columns=2, sharey=True, width_ratios=[5, 1])
        several = frame[frame["ci95"].notna()]
        axes.errorbar(
            several[OURS], several.index, xerr=drawn_intervals(several["ci95"], several["seeds"]), fmt="o", markersize=3, color=COLOURS[0]
        )
        alone = frame[frame["ci95"].isna()]
        axes.plot(alone[OURS], alone.index, "x", color=COLOURS[0])
        axes.set_yticks(range(len(frame)), frame[measured.table.label])
        axes.set_ylim(len(frame) - 0.4, -0.6)
        axes.set_xlabel(f"{name}, percent")
        axes.grid(axis="y", alpha=0.3)
        for place, rows in enumerate(rows for rows in groups.values() if len(rows) > 1):
            starts, ends = ([row for row in rows if row + step not in rows] for step in (-1, 1))
            for start, end in zip(starts, ends, strict=True):
                bars.plot([place, place], [start - 0.3, end + 0.3], color=INK, linewidth=2)
            for end, start in zip(ends, starts[1:], strict=False):  # past rows that are not in the group
                bars.plot([place, place], [end + 0.3, start - 0.3], ":", color=INK, linewidth=1)
        bars.set_xlim(-0.5, max(MANY_GROUPS, len(groups)) - 0.5)  # a few bars stand beside the means, at the left
        bars.set_axis_off()
        write_footer(figure, measured, "; grey bars: no significant difference", intervals=True)
        return figure


def alike(labels: Sequence[str], differ: Mapping[tuple[str, str], bool]) -> list[tuple[int, int]]:
    """The longest runs of labels in which no two differ, each by its first and last place. A single label is a run, too.

    >>> alike(["A", "B", "C"], {("A", "B"): False, ("A", "C"): True, ("B", "C"): False})
    [(0, 1), (1, 2)]
    """
    found = list[tuple[int, int]]()
    for first in range(len(labels)):
        last = first
        while last + 1 < len(labels) and not any(differ[labels[place], labels[last + 1]] for place in range(first, last + 1)):
            last += 1
        if not found or last > found[-1][1]:
            found.append((first, last))
    return found
