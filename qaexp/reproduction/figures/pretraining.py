"""Figure 3 of Lei et al. 2016: perplexity on held-out titles (dotted) against dev MRR of the last states (solid) during pre-training.

qaexp figures pretraining RUN... --to FOLDER

Runs are folders that `qaexp pretrain` left, or folders above them. Runs of one encoder are averaged; bars show the standard
deviation over three runs or more. Writes figure3.png, figure3.svg and figure3.csv.
"""

import argparse
import math
from collections.abc import Iterable, Sequence
from itertools import cycle
from pathlib import Path
from statistics import mean, stdev

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

from qaexp.config import join_options, split_options
from qaexp.errors import QaexpError
from qaexp.explain.drawing import COLOURS, MARKERS, look, new_figure, save, thousands
from qaexp.explain.names import data_set_in_words
from qaexp.reproduction.figures.picture import drawn_intervals, write_footer_line
from qaexp.reproduction.measured import MEASURED, PARTIAL
from qaexp.runs.record import RunRecord, records_below
from qaexp.runs.table import row_name

SHORT_NAME = 16
"""The most characters of names that fit beside each other in a legend."""

PERPLEXITY, MRR = "held_out/perplexity", "dev/mrr"


def read_runs(places: Iterable[Path]) -> list[RunRecord]:
    """The records of pre-training in these folders or below them, finished or not. If the data changed between equal runs, the newest.

    Raises:
        QaexpError: a folder holds none.
    """
    records: dict[str, RunRecord] = {}
    for place in places:
        pretrained = [record for _, record in records_below(place) if record.history and PERPLEXITY in record.history[0]]
        if not pretrained:
            raise QaexpError(f"{place} holds no run of pre-training that has finished an epoch; `qaexp pretrain` makes one")
        for record in pretrained:
            records[record.key] = max(records.get(record.key, record), record, key=lambda run: (run.started, len(run.history)))
    return list(records.values())


def curves(records: Sequence[RunRecord]) -> pd.DataFrame:
    """For each encoder and step: the data, the number of runs, and the mean and standard deviation of perplexity and dev MRR.

    MRR is in [0, 1]. A single run has no deviation.
    """
    lines: dict[tuple[str, int], list[tuple[float, float]]] = {}
    data: dict[str, str] = {}
    for record, name in zip(records, encoder_names(records), strict=True):
        data[name] = f"{record.data['name']} ({PARTIAL if record.data['partial'] else MEASURED})"
        for entry in record.history:
            lines.setdefault((name, int(entry["step"])), []).append((entry[PERPLEXITY], entry[MRR]))
    rows = []
    for (name, step), values in lines.items():
        row: dict[str, str | int | float] = {"encoder": name, "data": data[name], "step": step, "runs": len(values)}
        for column, measured in zip(("perplexity", "dev mrr"), zip(*values, strict=True), strict=True):
            row |= {column: mean(measured), f"{column} deviation": stdev(measured) if len(measured) > 1 else math.nan}
        rows.append(row)
    return pd.DataFrame(rows)


def encoder_names(records: Sequence[RunRecord]) -> list[str]:
    """A name for each run: its encoder's class, and the options in which runs of the same class differ."""
    classes = [record.config["model"]["encoder"]["_target_"].rpartition(".")[2] for record in records]
    options = [split_options(row_name(record)) for record in records]
    names = []
    for name, own in zip(classes, options, strict=True):
        shared = set[str].intersection(*(set(others) for other, others in zip(classes, options, strict=True) if other == name))
        apart = join_options(option for option in own if option not in shared)
        names.append(f"{name}: {apart}" if apart else name)
    return names


def draw(table: pd.DataFrame) -> Figure:
    """Two axes over the same steps: MRR in percent on the left, perplexity on the right, on a logarithmic scale."""
    figure, [[left]] = new_figure(width=5.2, height=3.4)
    right = left.twinx()
    names = list(dict.fromkeys(table["encoder"]))
    for name, colour, marker in zip(names, cycle(COLOURS), cycle(MARKERS), strict=False):
        rows = table[table["encoder"] == name]
        for axes, column, scale, line in ((left, "dev mrr", 100, "-"), (right, "perplexity", 1, ":")):
            deviations = drawn_intervals(scale * rows[f"{column} deviation"], rows["runs"])
            axes.errorbar(rows["step"], scale * rows[column], deviations, linestyle=line, color=colour, marker=marker, label=name)
    right.set_yscale("log")
    right.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    right.yaxis.set_major_formatter(ScalarFormatter())
    right.yaxis.set_minor_formatter(NullFormatter())
    right.spines["right"].set_visible(True)
    left.set_xlabel("steps")
    left.xaxis.set_major_formatter(thousands)
    left.set_ylabel("dev MRR, percent (solid)")
    right.set_ylabel("held-out perplexity (dotted)")
    handles, labels = left.get_legend_handles_labels()
    columns = len(COLOURS) // 2 if max(map(len, labels)) <= SHORT_NAME else 1
    figure.legend(handles, labels, loc="outside upper center", ncols=columns)
    write_footer_line(figure, map(data_set_in_words, table["data"]), table["runs"], "standard deviations")
    return figure


def write_figures(options: argparse.Namespace) -> list[Path]:
    """`qaexp figures pretraining`."""
    table = curves(read_runs(options.runs))
    with look():
        figure = draw(table)
    return save(figure, table, options.to, "figure3")
