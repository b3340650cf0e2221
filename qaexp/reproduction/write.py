"""The files of a paper's tables and claims: CSV, Markdown and, if asked for, LaTeX."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from qaexp.files import RESULTS_REMEDY, atomic_write_text
from qaexp.reproduction.build import Measured
from qaexp.reproduction.comparison import comparisons
from qaexp.reproduction.configuration import ConfigurationTable
from qaexp.reproduction.latex import as_latex, booktabs
from qaexp.reproduction.page import as_markdown, notes_of
from qaexp.reproduction.spec import Tuning
from qaexp.reproduction.statistics import MeasuredRow, StatisticsTable, cell_of, to_csv
from qaexp.runs.table import markdown

_write = partial(atomic_write_text, remedy=RESULTS_REMEDY)

CLAIMS_EXPLAINED = """\
What a paper says of one model against another is held against our runs by two tests of the difference, a paired randomisation over \
questions (of means over seeds) and Welch's t-test over seeds. The larger p counts, Holm-corrected over the paper's claims that could \
be tested: `held`, `reversed` or `undecided` at 5%, on the data named; what rests on one seed is undecided. Numbers of parameters are \
`as counted` or not."""


def write_table(measured: Measured, folder: Path, latex: bool) -> None:
    """`table<N>.csv`, `.md`, `.comparisons.csv` and, if asked for, `.tex` in a folder.

    Raises:
        OutputError: the folder cannot be written.
    """
    table, frame = measured.table, measured.frame
    _write(folder / f"{table.name}.csv", frame.to_csv(index=False))
    _write(folder / f"{table.name}.md", as_markdown(measured))
    pairs = pd.DataFrame() if isinstance(table, Tuning) else comparisons(measured)
    path = folder / f"{table.name}.comparisons.csv"
    if len(pairs):
        _write(path, pairs.to_csv(index=False))
    else:
        path.unlink(missing_ok=True)
    if latex:
        _write(folder / f"{table.name}.tex", as_latex(measured))


def write_claims(paper: str, claims: pd.DataFrame, folder: Path) -> None:
    """`claims.csv` in a paper's folder, and `claims.md`, what can be said of them.

    Raises:
        OutputError: the folder cannot be written.
    """
    _write(folder / "claims.csv", claims.to_csv(index=False))
    noted = dict.fromkeys(f"- {claim}: {note}" for claim, note in zip(claims["claim"], claims["note"], strict=True) if note)
    shown, said = claims.drop(columns="note"), ["claim", "where", "of"]
    shown.loc[shown[said].eq(shown[said].shift()).all(axis=1), said] = ""  # the sentence before, of two more rows
    lines = [f"# Claims of {paper}", "", CLAIMS_EXPLAINED, "", markdown(shown), "", *noted]
    _write(folder / "claims.md", "\n".join(lines).rstrip() + "\n")


def write_configuration(table: ConfigurationTable, folder: Path, latex: bool) -> None:
    """A table of settings as CSV, Markdown and, if asked for, LaTeX.

    Raises:
        OutputError: the folder cannot be written.
    """
    frame = table.frame()
    _write(folder / f"{table.name}.csv", frame.to_csv(index=False))
    caption = f"{table.caption} ({table.source}.) Ours beside the paper's."
    lines = [f"# {table.title}", "", caption, "", markdown(frame), ""]
    _write(folder / f"{table.name}.md", "\n".join([*lines, *(f"- {note}" for note in notes_of(table)), ""]))
    if latex:
        _write(folder / f"{table.name}.tex", booktabs(table, frame, caption))


def write_statistics(table: StatisticsTable, rows: Sequence[MeasuredRow], folder: Path, latex: bool) -> None:
    """A table of data statistics as CSV, Markdown and, if asked for, LaTeX, statistics downwards.

    Raises:
        OutputError: the folder cannot be written.
    """
    _write(folder / f"{table.name}.csv", to_csv(table, rows))
    shown = {"": [*table.columns, "status", "counted on"]}
    for row in rows:
        shown[row.row.label] = [*(cell_of(row, place) for place in range(len(table.columns))), row.status, row.measured_on]
    caption = f"Questions {table.questions}: ours (paper's). ({table.source}.)"
    _write(folder / f"{table.name}.md", f"# {table.title}\n\n{caption}\n\n{markdown(pd.DataFrame(shown))}\n")
    if latex:
        _write(folder / f"{table.name}.tex", booktabs(table, pd.DataFrame(shown), caption))
