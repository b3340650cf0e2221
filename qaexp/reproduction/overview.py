"""`results/README.md`: all tables and figures, with the state of each."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median

import pandas as pd

from qaexp.files import RESULTS_REMEDY, atomic_write_text
from qaexp.reproduction.claims import POINTS, POWERED, VERDICTS
from qaexp.reproduction.ledger import Entry
from qaexp.reproduction.measured import Measured
from qaexp.reproduction.page import CLAIMS_EXPLAINED, notes_of
from qaexp.reproduction.settings import ConfigurationTable
from qaexp.reproduction.spec import PaperTable
from qaexp.reproduction.statistics import StatisticsTable
from qaexp.runs.table import markdown

BELIEVED = "believed.md"
"""A file in the folder of results, written by hand: what the results support, how strongly, and why. It is optional."""

EXPLAINED = """\
Rows are the paper's, in its order. A cell has the number that we measured, and the paper's in brackets. Ours is the mean over seeds; \
`±` is half the width of its 95% confidence interval.

| status | meaning |
|---|---|
| measured | on the whole data set |
| partial data | on the part of the data set that is available; never report it as a result on the data set |
| not run | it has not been run yet; `--plan` says whether its data are there |
| data missing | the part of the data set that is available lacks the split |
| published only | the paper quotes it and does not define its model |

A cell is a row under a setting. `runs` counts the seeds that have run, over all cells, and the seeds that the tables ask for.

The verdict is a one-sample t-test at 5% over seeds against the printed number and its rounding: `reproduced` (no significant \
difference), `above` or `below`. Where the seed makes no difference, as for BM25, the two numbers are compared directly. A verdict \
`not comparable` says which data or word vectors differ from the paper's.
"""

FIGURES_EXPLAINED = """\
Each figure is in its paper's folder, as PNG and SVG, with its data as CSV. Four commands draw figures of single runs: \
`qaexp figures heat_map` (ap 5 and 6), `qaexp figures neurons` (clstm 3), `qaexp figures pretraining` \
(rcnn 3) and `qaexp figures gates` (rcnn 4 and 5)."""

TUNINGS_EXPLAINED = "Tunings try the values of a paper's grid on dev. The tables run with the value that is `taken`."


def write_overview(
    tables: Sequence[Measured],
    figures: Sequence[Measured],
    tunings: Sequence[Measured],
    others: Sequence[ConfigurationTable | StatisticsTable],
    folder: Path,
    claims: Mapping[str, pd.DataFrame],
) -> None:
    """`README.md`: what is believed (from `believed.md`, if there is one), then the state of every claim, table, figure and tuning with a
    page, a line each, and links to the `others`.

    Raises:
        OutputError: the folder cannot be written.
    """
    verdicts = pd.DataFrame(
        [
            {"paper": f"[{paper}]({paper}/claims.md)"}
            | {verdict: frame["verdict"].tolist().count(verdict) for verdict in VERDICTS}
            | {f"{POWERED} (median)": _median_points(frame)}
            for paper, frame in claims.items()
        ]
    )
    entries = [entry for each in (*tables, *figures, *tunings) for state in each.states.values() for entry in state.entries]
    tables, tunings = ([each for each in some if _has_page(each.table, folder)] for some in (tables, tunings))
    parts = [
        "# Results",
        "`qaexp reproduce --no-run` writes this page from `results/ledger/`, which has one file for each run. `qaexp site` shows all of "
        "it in a browser.",
        *([believed.read_text(encoding="utf-8")] if (believed := folder / BELIEVED).is_file() else []),
        *(["## Claims", CLAIMS_EXPLAINED, markdown(verdicts)] if claims else []),
        "## Tables",
        markdown(_states("table", [(each, f"{each.table.name}.md") for each in tables])),
        *([TUNINGS_EXPLAINED, markdown(_states("tuning", [(each, f"{each.table.name}.md") for each in tunings]))] if tunings else []),
        *([f"Settings and data sets, ours and the papers': {', '.join(links)}."] if (links := _links(others, folder)) else []),
        "## How to read the tables",
        EXPLAINED.strip(),
        _made_by(entries),
    ]
    if drawn := [each for each in figures if _drawn(each, folder)]:
        listed = _states("figure", [(each, f"{each.table.name}.csv" if _drawn(each, folder) else "") for each in figures])
        parts += ["## Figures", markdown(listed), FIGURES_EXPLAINED, *map(_figure_page, drawn)]
    atomic_write_text(folder / "README.md", "\n\n".join(part.strip("\n") for part in parts) + "\n", remedy=RESULTS_REMEDY)


def _median_points(claims: pd.DataFrame) -> str:
    """The median, over a paper's claims, of the smallest difference that their tests detect."""
    points = [float(each) for each in claims[POINTS] if each]
    return f"{median(points):.1f} points" if points else ""


def _made_by(entries: Iterable[Entry]) -> str:
    """The machines and the code that made the runs."""
    runs = {entry.key: entry for entry in entries}.values()
    machines = ", ".join(f"{count} on {machine}" for machine, count in Counter(entry.machine for entry in runs).most_common())
    changed = sum(any(commit.endswith("+changes") for commit in entry.commits) for entry in runs)
    said = f" {changed} runs were made with uncommitted changes (`commit` in the ledger ends in `+changes`)." if changed else ""
    return (
        f"{len(runs)} runs: {machines}. Repeated with `OMP_NUM_THREADS=1` on the same type of processor, a run has the same numbers; "
        "another type rounds differently, and a trained model may then differ by a point. Seeds of one cell may have run on several "
        f"machines.{said}"
    )


def _states(what: str, listed: Sequence[tuple[Measured, str]]) -> pd.DataFrame:
    """What each shows and how many of its runs there are. Its name is a link if its file exists."""
    return pd.DataFrame(
        [
            {
                what: f"[{each.table.title}]({each.table.paper}/{file})" if file else each.table.title,
                "what": each.table.caption,
                "cells": ", ".join(f"{count} {status}" for status, count in each.counts.items()),
                "runs": each.runs,
            }
            for each, file in listed
        ]
    )


def _links(tables: Sequence[ConfigurationTable | StatisticsTable], folder: Path) -> list[str]:
    written = [table for table in tables if _has_page(table, folder)]
    return [f"[{table.title}]({table.paper}/{table.name}.md)" for table in sorted(written, key=lambda table: (table.paper, table.name))]


def _has_page(table: PaperTable, folder: Path) -> bool:
    return (folder / table.paper / f"{table.name}.md").is_file()


def _drawn(figure: Measured, folder: Path) -> bool:
    return (folder / figure.table.paper / f"{figure.table.name}.png").is_file()


def _figure_page(figure: Measured) -> str:
    table = figure.table
    picture = f"![{table.caption}]({table.paper}/{table.name}.png)"
    notes = [f"- {note}" for note in (*figure.doubts(), *notes_of(table))]
    return "\n".join([f"### {table.title}", "", f"{table.caption} ({table.source}.)", "", picture, "", *notes])
