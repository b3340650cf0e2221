"""A measured table as CSV, Markdown and LaTeX, and the page that shows all tables and figures."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from string import ascii_lowercase

import pandas as pd

from qaexp.data.statistics import MeasuredRow, StatisticsTable, cell_of, to_csv
from qaexp.results.ledger import Entry
from qaexp.results.table import markdown
from qaexp.tables.build import QUICK, Measured, by_setting_text
from qaexp.tables.cells import Cell
from qaexp.tables.configuration import ConfigurationTable
from qaexp.tables.held import VERDICTS
from qaexp.tables.significance import INCOMPARABLE
from qaexp.tables.spec import Table, Tuning
from qaexp.whole_files import OF_RESULTS, write_whole

_write = partial(write_whole, remedy=OF_RESULTS)

EXPLAINED = """\
A row is one of the paper's, in its order; `(paper)` is what it prints, the number beside it what we measured: the mean over seeds, \
with half the width of its 95% confidence interval (`±`).

| status | what |
|---|---|
| measured | on the whole data set |
| partial data | on the part of the data set that could be had: never to be reported as the data set's |
| not run | runnable, and not yet run |
| data missing | runnable where the data are, which no run here had |
| published only | the paper quotes it, and no model of the papers defines it |

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
    comparisons = pd.DataFrame() if isinstance(table, Tuning) else measured.comparisons()
    path = folder / f"{table.name}.comparisons.csv"
    if len(comparisons):
        _write(path, comparisons.to_csv(index=False))
    else:
        path.unlink(missing_ok=True)
    if latex:
        _write(folder / f"{table.name}.tex", as_latex(measured))


def as_markdown(measured: Measured, commands: bool = True) -> str:
    """The table as it reads on a page: each number once, `ours ± ci95 (paper)`, and what else must be known below it."""
    table, frame = measured.table, measured.frame
    shown = _compact(measured)
    verdicts, reasons = _lettered(frame["verdict"].tolist(), {s.cell.differs: None for s in measured.states.values() if s.entries})
    shown = shown.assign(seeds=frame["seeds"], status=frame["status"], verdict=verdicts)
    said = ["the tables are run with what is taken"] if isinstance(table, Tuning) else []
    notes = [*measured.doubts(), *said, *table.notes, *(f"{row.label}: {row.note}" for row in table.rows if row.note)]
    lines = [
        f"# {table.title}",
        "",
        f"{table.caption} ({table.source}.) {_legend(table)}",
        "",
        markdown(shown),
        "",
        *reasons,
    ]
    if notes:
        lines += ["Notes:", "", *(f"- {note}" for note in notes), ""]
    return "\n".join([*lines, *(_commands(measured) if commands else [])])


def _legend(table: Table) -> str:
    if isinstance(table, Tuning):
        return "Ours ± 95% interval over seeds; the paper prints none."
    return "Ours ± 95% interval over seeds (paper's)."


def _lettered(verdicts: Sequence[str], reasons: Iterable[str]) -> tuple[list[str], list[str]]:
    """Verdicts with a letter for each reason that they name, and lines that explain the letters. Several reasons are joined by semicolons.

    >>> _lettered(["not comparable: data; vectors", "not comparable: data", "above"], ["data", "data; vectors", "quick"])
    (['not comparable (a, b)', 'not comparable (a)', 'above'], ['(a) data', '', '(b) vectors', ''])
    """
    named = [reason for reason in dict.fromkeys(reasons) if reason and any(f"{INCOMPARABLE}: {reason}" in verdict for verdict in verdicts)]
    single = dict.fromkeys(part for reason in named for part in reason.split("; "))
    letter = dict(zip(single, ascii_lowercase, strict=False))
    shown = list(verdicts)
    for reason in sorted(named, key=len, reverse=True):  # a shorter one may be the beginning of a longer
        letters = ", ".join(letter[part] for part in reason.split("; "))
        shown = [verdict.replace(f"{INCOMPARABLE}: {reason}", f"{INCOMPARABLE} ({letters})") for verdict in shown]
    return shown, [line for part in single for line in (f"({letter[part]}) {part}", "")]


def _commands(measured: Measured) -> list[str]:
    """What every row of a setting has, once, and then what is each row's own."""
    by_setting: dict[str, list[Cell]] = {}
    for (_, setting), state in measured.states.items():
        by_setting.setdefault(setting, []).append(state.cell)
    shared = {
        setting: [option for option in cells[0].overrides if all(option in cell.overrides for cell in cells)]
        for setting, cells in by_setting.items()
    }
    whole = f"whole commands are in `{measured.table.name}.csv`"
    lines = [f"`python -m qaexp`, then what every row has, then the row's own, then `seed=1`; {whole}.", ""]
    lines += [f"- every row{f' ({setting})' if len(shared) > 1 else ''}: `{' '.join(options)}`" for setting, options in shared.items()]
    for row in measured.table.rows:
        states = {name: measured.states[row.label, name] for name in measured.table.settings_of(row)}
        own = {name: " ".join(o for o in state.cell.overrides if o not in shared[name]) for name, state in states.items()}
        if own:
            options = f"`{text}`" if (text := by_setting_text(own)) else "nothing of its own"
            after = f", after `{state.cell.commands[0]}`" if len((state := next(iter(states.values()))).cell.commands) > 1 else ""
            lines.append(f"- {row.label}: {options}{after}")
    return [*lines, ""]


def as_latex(measured: Measured) -> str:
    """The table of `_latex` with ours, interval and the paper's number in one column, and in the caption what ours were measured on."""
    table = measured.table
    reasons = [reason for s in measured.states.values() if s.entries and s.cell.differs for reason in s.cell.differs.split("; ")]
    reasons += ["small, quick runs"] * (QUICK in measured.counts)
    said = f" Ours are not comparable: {'; '.join(dict.fromkeys(reasons))}." if reasons else ""
    return _latex(table, _compact(measured), f"{table.caption} ({table.source}.) {_legend(table)}{said}")


def _latex(table: Table | ConfigurationTable | StatisticsTable, shown: pd.DataFrame, caption: str) -> str:
    r"""A `table` environment with booktabs' rules; `\usepackage{booktabs}` is all it needs."""
    escaped = shown.rename(columns=_escape).map(_escape)
    return escaped.style.hide(axis="index").to_latex(
        hrules=True,
        column_format="l" + "r" * (len(shown.columns) - 1),
        caption=_escape(caption),
        label=f"tab:{table.paper}-{table.name.removeprefix('table')}",
        position="t",
        position_float="centering",
    )


def _compact(measured: Measured) -> pd.DataFrame:
    """`ours ± ci95 (paper's)`, each where there is one."""
    table, frame = measured.table, measured.frame
    return pd.DataFrame(
        {table.label: frame[table.label]}
        | {
            name: [
                " ".join(part for part in (ours, f"± {half}" if half and float(half) else "", printed and f"({printed})") if part)
                for ours, half, printed in zip(frame[name], frame[f"{name} ci95"], frame[f"{name} (paper)"], strict=True)
            ]
            for name in table.columns
        }
    )


LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"${sign}$" for sign in "|<>"},
    "±": r"$\pm$",
    "×": r"$\times$",
    "²": r"$^2$",
    "θ": r"$\theta$",
    "λ": r"$\lambda$",
    "§": r"\S",
    "–": "--",
}
"""What a character of ours is in LaTeX's own words."""


def _escape(text: str) -> str:
    r"""
    >>> _escape("S&M, 50% ± 1, |θ|M")
    'S\\&M, 50\\% $\\pm$ 1, $|$$\\theta$$|$M'
    """
    return "".join(LATEX.get(sign, sign) for sign in text)


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
    notes = [*table.notes, *(f"{row.label}: {row.note}" for row in table.rows if row.note)]
    caption = f"{table.caption} ({table.source}.) Ours beside the paper's."
    lines = [f"# {table.title}", "", caption, "", markdown(frame), ""]
    _write(folder / f"{table.name}.md", "\n".join([*lines, *(f"- {note}" for note in notes), ""]))
    if latex:
        _write(folder / f"{table.name}.tex", _latex(table, frame, caption))


def write_overview(
    tables: Sequence[Measured],
    figures: Sequence[Measured],
    tunings: Sequence[Measured],
    others: Sequence[ConfigurationTable | StatisticsTable],
    folder: Path,
    claims: Mapping[str, pd.DataFrame],
) -> None:
    """`README.md`: the state of every table, figure and tuning, of the claims, and all of them; of the `others`, where they are.

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
    _write(folder / "README.md", "\n".join([*head, *pages]))


def _made_by(entries: Iterable[Entry]) -> str:
    """On what machines runs were made, and by what code."""
    runs = {entry.key: entry for entry in entries}.values()
    machines = ", ".join(f"{count} on {machine}" for machine, count in Counter(entry.machine for entry in runs).most_common())
    changed = sum(entry.commit.endswith("+changes") for entry in runs)
    return (
        f"Of {len(runs)} runs: {machines}; seeds of one cell may be of several. {changed} were made by a commit with changes beside it "
        "(`commit` in the ledger ends in `+changes`): made again, such a run may differ by as much as another seed."
    )


def _states(what: str, listed: Sequence[tuple[Measured, str]]) -> pd.DataFrame:
    """What each is of and how far it is; its name is a link where there is a file of it."""
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
    notes = [*table.notes, *(f"{row.label}: {row.note}" for row in table.rows if row.note)]
    picture = f"![{table.caption}]({table.paper}/{table.name}.png)"
    return "\n".join([f"## {table.title}", "", f"{table.caption} ({table.source}.)", "", picture, "", *(f"- {note}" for note in notes), ""])


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
        _write(folder / f"{table.name}.tex", _latex(table, pd.DataFrame(shown), caption))
