"""`results/README.md`: all tables and figures, with the state of each."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from qaexp.files import RESULTS_REMEDY, atomic_write_text
from qaexp.reproduction.claims import VERDICTS
from qaexp.reproduction.ledger import Entry
from qaexp.reproduction.measured import Measured
from qaexp.reproduction.page import CLAIMS_EXPLAINED, as_markdown, notes_of
from qaexp.reproduction.settings import ConfigurationTable
from qaexp.reproduction.statistics import StatisticsTable
from qaexp.runs.table import markdown

EXPLAINED = """\
A row is one of the paper's, in its order; `(paper)` is what it prints, the number beside it what we measured: the mean over seeds, \
with half the width of its 95% confidence interval (`±`).

| status | what |
|---|---|
| measured | on the whole data set |
| partial data | on the part of the data set that could be had: never to be reported as the data set's |
| not run | runnable, and not yet run |
| data missing | runnable where the data are, which no run here had |
| published only | the paper quotes it, and does not define its model |

A cell is a row under a setting; `runs` is how many of its seeds are run, over all cells, of how many.

The verdict is a one-sample t-test at 5% over seeds against the printed number with its rounding: `reproduced`, which is not told \
apart from it, `above` or `below`. What no seed changes, as BM25, is compared as it is. `not comparable` where data or word vectors \
are others than the paper's, which it names.
"""

FIGURES_EXPLAINED = """\
Each figure lies beside its paper's tables as PNG and SVG, with what is drawn as CSV. Figures of a single run are drawn by commands: \
what a model shows of a pair (ap 5 and 6, clstm 3) by `python -m qaexp.figures heat_map` and `python -m qaexp.figures neurons`, \
pre-training and gates (rcnn 3 to 5) by `python -m qaexp.figures pretraining` and `python -m qaexp.figures gates`."""

TUNINGS_EXPLAINED = "What a paper tuned, by its grid, on dev; its tables are run with what is `taken`."


def write_overview(
    tables: Sequence[Measured],
    figures: Sequence[Measured],
    tunings: Sequence[Measured],
    others: Sequence[ConfigurationTable | StatisticsTable],
    folder: Path,
    claims: Mapping[str, pd.DataFrame],
) -> None:
    """`README.md`: the state of every table, figure, tuning and claim, then the tables themselves, and links to the `others`.

    Raises:
        OutputError: the folder cannot be written.
    """
    verdicts = pd.DataFrame(
        [
            {"paper": f"[{paper}]({paper}/claims.md)"} | {verdict: frame["verdict"].tolist().count(verdict) for verdict in VERDICTS}
            for paper, frame in claims.items()
        ]
    )
    pages = [as_markdown(each, commands=False).replace("# ", "## ", 1) for each in (*tables, *tunings)]
    head = [
        "# Results",
        "",
        "Written by `make tables` from `results/ledger/`, one file a run.",
        "",
        EXPLAINED,
        _made_by([entry for each in (*tables, *figures, *tunings) for state in each.states.values() for entry in state.entries]),
        "",
        markdown(_states("table", [(each, f"{each.table.name}.md") for each in tables])),
        "",
        markdown(_states("figure", [(each, f"{each.table.name}.csv" if _drawn(each, folder) else "") for each in figures])),
        "",
        FIGURES_EXPLAINED,
        "",
        TUNINGS_EXPLAINED,
        "",
        markdown(_states("tuning", [(each, f"{each.table.name}.md") for each in tunings])),
        "",
        f"Settings and data sets, ours beside the papers': {', '.join(_links(others, folder))}.",
        "",
        CLAIMS_EXPLAINED,
        "",
        markdown(verdicts),
        "",
    ]
    pages += [_figure_page(each) for each in figures if _drawn(each, folder)]
    atomic_write_text(folder / "README.md", "\n".join([*head, *pages]), remedy=RESULTS_REMEDY)


def _made_by(entries: Iterable[Entry]) -> str:
    """Which machines and which code made the runs."""
    runs = {entry.key: entry for entry in entries}.values()
    machines = ", ".join(f"{count} on {machine}" for machine, count in Counter(entry.machine for entry in runs).most_common())
    changed = sum(any(commit.endswith("+changes") for commit in entry.commits) for entry in runs)
    return (
        f"Of {len(runs)} runs: {machines}; seeds of one cell may be of several. {changed} were made by a commit with changes beside it "
        "(`commit` in the ledger ends in `+changes`; tables written since had counted, too, until November 2026): made again, such a run "
        "may differ by as much as another seed."
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
    written = [table for table in tables if (folder / table.paper / f"{table.name}.md").is_file()]
    return [f"[{table.title}]({table.paper}/{table.name}.md)" for table in sorted(written, key=lambda table: (table.paper, table.name))]


def _drawn(figure: Measured, folder: Path) -> bool:
    return (folder / figure.table.paper / f"{figure.table.name}.png").is_file()


def _figure_page(figure: Measured) -> str:
    table = figure.table
    picture = f"![{table.caption}]({table.paper}/{table.name}.png)"
    notes = [f"- {note}" for note in (*figure.doubts(), *notes_of(table))]
    return "\n".join([f"## {table.title}", "", f"{table.caption} ({table.source}.)", "", picture, "", *notes, ""])
