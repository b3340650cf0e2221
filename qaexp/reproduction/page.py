"""The files of a measured table and of claims: Markdown, CSV and LaTeX."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from string import ascii_lowercase

import pandas as pd

from qaexp.config import join_options
from qaexp.errors import plural
from qaexp.evaluation.significance import INCOMPARABLE
from qaexp.files import RESULTS_REMEDY, atomic_write_text, csv_text
from qaexp.reproduction.cells import Cell
from qaexp.reproduction.claims import POINTS, comparisons
from qaexp.reproduction.measured import QUICK, Measured
from qaexp.reproduction.settings import ConfigurationTable
from qaexp.reproduction.spec import UNPRINTED, Table, Tuning
from qaexp.reproduction.statistics import MeasuredRow, StatisticsTable, cell_of
from qaexp.reproduction.statistics import frame as statistics_frame
from qaexp.runs.table import markdown

LETTERS = (*ascii_lowercase, *map("".join, product(ascii_lowercase, repeat=2)))
"""Names of the reasons under a table."""


def as_markdown(measured: Measured) -> str:
    """The table as a page: cells are `ours ± ci95 (paper)`, and reasons, notes and commands follow."""
    table, frame = measured.table, measured.frame
    shown = compact(measured)
    verdicts, reasons = _lettered(frame["verdict"].tolist(), {s.cell.differs: None for s in measured.states.values() if s.entries})
    shown = shown.assign(seeds=frame["seeds"], status=frame["status"], verdict=verdicts)
    said = ["the tables run with the values that are taken"] if isinstance(table, Tuning) else []
    notes = [*measured.doubts(), *said, *notes_of(table)]
    lines = [
        f"# {table.title}",
        "",
        f"{table.caption} ({table.source}.) {legend(table)}",
        "",
        markdown(shown),
        "",
        *reasons,
    ]
    lines += _listed(notes)
    return "\n".join([*lines, *_machines(measured), *_commands(measured)])


def _listed(notes: Sequence[str]) -> list[str]:
    return ["Notes:", "", *(f"- {note}" for note in notes), ""] if notes else []


def notes_of(table: Table | ConfigurationTable) -> list[str]:
    """The table's own notes, and those of its rows."""
    return [*table.notes, *(f"{row.label}: {row.note}" for row in table.rows if row.note)]


def legend(table: Table) -> str:
    """What its cells show."""
    if all(printed == UNPRINTED for row in table.rows for printed in row.published):
        return "Mean over seeds ± half the width of its 95% confidence interval; one seed has none."
    return "Ours ± 95% interval over seeds (paper's)."


def _lettered(verdicts: Sequence[str], reasons: Iterable[str]) -> tuple[list[str], list[str]]:
    """Verdicts with a letter in place of each reason, and lines that explain the letters. Several reasons are joined by semicolons.

    >>> _lettered(["not comparable: data; vectors", "not comparable: data", "above"], ["data", "data; vectors", "quick"])
    (['not comparable (a, b)', 'not comparable (a)', 'above'], ['(a) data', '', '(b) vectors', ''])
    """
    named = [reason for reason in dict.fromkeys(reasons) if reason and any(f"{INCOMPARABLE}: {reason}" in verdict for verdict in verdicts)]
    single = dict.fromkeys(part for reason in named for part in reason.split("; "))
    letter = dict(zip(single, LETTERS, strict=False))
    shown = list(verdicts)
    for reason in sorted(named, key=len, reverse=True):  # a reason may be the beginning of a longer one
        letters = ", ".join(letter[part] for part in reason.split("; "))
        shown = [verdict.replace(f"{INCOMPARABLE}: {reason}", f"{INCOMPARABLE} ({letters})") for verdict in shown]
    return shown, [line for part in single for line in (f"({letter[part]}) {part}", "")]


def _commands(measured: Measured) -> list[str]:
    """The options that all rows share, those that a setting adds, then each row's own."""
    by_setting: dict[str, list[Cell]] = {}
    for (_, setting), state in measured.states.items():
        by_setting.setdefault(setting, []).append(state.cell)
    shared = {setting: _in_all(cell.overrides for cell in cells) for setting, cells in by_setting.items()}
    everywhere = _in_all(shared.values())
    whole = f"whole commands are in `{measured.table.name}.csv`"
    lines = [
        f"`qaexp`, then what every row has, then the row's own, then `seed=1`; {whole}, with the files of `ledger/` that have each run.",
        "",
    ]
    if everywhere:
        lines.append(f"- every row: `{join_options(everywhere)}`")
    for setting, options in shared.items():
        if added := join_options(option for option in options if option not in everywhere):
            lines.append(f"- every row ({setting}): also `{added}`")
    for row in measured.table.rows:
        states = {name: measured.states[row.label, name] for name in measured.table.settings_of(row)}
        own = {name: [option for option in state.cell.overrides if option not in shared[name]] for name, state in states.items()}
        if own:
            options = _own_options(own)
            first, *others = next(iter(states.values())).cell.commands
            then = f" and, as `{'init_from' if row.pretrain else 'loss.teacher'}=FOLDER`, the folder of `{first}`" if others else ""
            lines.append(f"- {row.label}: {options}{then}")
    return [*lines, ""]


def _own_options(by_setting: Mapping[str, Sequence[str]]) -> str:
    """A row's options, then what some settings add.

    >>> _own_options({"TRAIN": ["model=ctrn", "seed=1"], "TRAIN-ALL": ["model=ctrn", "seed=2"]})
    '`model=ctrn`; TRAIN: also `seed=1`; TRAIN-ALL: also `seed=2`'
    """
    common = _in_all(by_setting.values())
    added = {name: join_options(option for option in options if option not in common) for name, options in by_setting.items()}
    parts = [f"`{join_options(common)}`"] if common else []
    parts += [f"{name}: {'also ' if common else ''}`{options}`" for name, options in added.items() if options]
    return "; ".join(parts) or "nothing of its own"


def _machines(measured: Measured) -> list[str]:
    """How many runs each kind of machine made."""
    runs = {entry.file_key: entry for state in measured.states.values() for entry in state.entries}
    counts = Counter(entry.machine for entry in runs.values())
    named = [f"{plural(count, 'run')} on {machine}" for machine, count in counts.most_common()]
    return [f"Measured in {'; '.join(named)}.", ""] if named else []


def _in_all(of_each: Iterable[Sequence[str]]) -> list[str]:
    """The options that all commands share, in the order of the first command."""
    first, *others = [*of_each] or [()]
    return [option for option in first if all(option in other for other in others)]


def compact(measured: Measured) -> pd.DataFrame:
    """Cells as `ours ± ci95 (paper's)`, without the parts that do not exist."""
    table, frame = measured.table, measured.frame

    def cell(ours: str, half: str, printed: str) -> str:
        return " ".join(part for part in (ours, half and f"± {half}", printed and f"({printed})") if part)

    return pd.DataFrame(
        {table.label: frame[table.label]}
        | {
            name: [
                cell(ours, half, printed)
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
"""Characters to LaTeX."""


def as_latex(measured: Measured) -> str:
    """The table with booktabs' rules. The caption says why our numbers cannot be compared with the paper's, if so."""
    table = measured.table
    reasons = [reason for s in measured.states.values() if s.entries and s.cell.differs for reason in s.cell.differs.split("; ")]
    reasons += ["small, quick runs"] * (QUICK in measured.counts)
    said = f" Ours are not comparable: {'; '.join(dict.fromkeys(reasons))}." if reasons else ""
    return booktabs(table, compact(measured), f"{table.caption} ({table.source}.) {legend(table)}{said}")


def booktabs(table: Table | ConfigurationTable | StatisticsTable, shown: pd.DataFrame, caption: str) -> str:
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


def _escape(text: str) -> str:
    r"""
    >>> _escape("S&M, 50% ± 1, |θ|M")
    'S\\&M, 50\\% $\\pm$ 1, $|$$\\theta$$|$M'
    """
    return "".join(LATEX.get(sign, sign) for sign in text)


_write = partial(atomic_write_text, remedy=RESULTS_REMEDY)

CLAIMS_EXPLAINED = """\
Claims are what a paper says about one model against another. Two tests compare the two rows on our runs: a paired randomisation test \
over questions (on means over seeds), and Welch's t-test over seeds. The larger p counts, Holm-corrected over all claims of the paper \
that could be tested. At 5% a claim is `held`, `reversed` or `undecided`, on the data that the line names; with one seed it is \
undecided. `80% power from` is the smallest true difference that each test detects with a probability of 80%, before the correction: \
our runs can hardly decide a claim of less. Numbers of parameters are only compared: `as counted` or not."""


def write_table(measured: Measured, folder: Path, latex: bool) -> None:
    """`table<N>.csv`, `.md`, `.comparisons.csv` and, if asked for, `.tex` in a folder.

    Raises:
        OutputError: the folder cannot be written.
    """
    table, frame = measured.table, measured.frame
    _write(folder / f"{table.name}.csv", csv_text(frame))
    _write(folder / f"{table.name}.md", as_markdown(measured))
    pairs = pd.DataFrame() if isinstance(table, Tuning) else comparisons(measured)
    path = folder / f"{table.name}.comparisons.csv"
    if len(pairs):
        _write(path, csv_text(pairs))
    else:
        path.unlink(missing_ok=True)
    if latex:
        _write(folder / f"{table.name}.tex", as_latex(measured))


def write_claims(paper: str, claims: pd.DataFrame, folder: Path) -> None:
    """`claims.csv` and `claims.md` in a paper's folder.

    Raises:
        OutputError: the folder cannot be written.
    """
    _write(folder / "claims.csv", csv_text(claims))
    noted = dict.fromkeys(f"- {claim}: {note}" for claim, note in zip(claims["claim"], claims["note"], strict=True) if note)
    shown, said = claims.drop(columns=[POINTS, "note"]), ["claim", "where", "of"]
    shown.loc[shown[said].eq(shown[said].shift()).all(axis=1), said] = ""  # the same sentence as in the line before
    lines = [f"# Claims of {paper}", "", CLAIMS_EXPLAINED, "", markdown(shown), "", *noted]
    _write(folder / "claims.md", "\n".join(lines).rstrip() + "\n")


def write_configuration(table: ConfigurationTable, folder: Path, latex: bool) -> None:
    """A table of settings as CSV, Markdown and, if asked for, LaTeX.

    Raises:
        OutputError: the folder cannot be written.
    """
    frame = table.frame()
    _write(folder / f"{table.name}.csv", csv_text(frame))
    caption = f"{table.caption} ({table.source}.) Ours beside the paper's."
    lines = [f"# {table.title}", "", caption, "", markdown(frame), ""]
    _write(folder / f"{table.name}.md", "\n".join([*lines, *_listed(notes_of(table))]))
    if latex:
        _write(folder / f"{table.name}.tex", booktabs(table, frame, caption))


def write_statistics(table: StatisticsTable, rows: Sequence[MeasuredRow], folder: Path, latex: bool) -> None:
    """A table of data statistics as CSV, Markdown and, if asked for, LaTeX; a line for each statistic.

    Raises:
        OutputError: the folder cannot be written.
    """
    _write(folder / f"{table.name}.csv", csv_text(statistics_frame(table, rows)))
    shown = {"": [*table.columns, "status", "counted on"]}
    for row in rows:
        shown[row.row.label] = [*(cell_of(row, place) for place in range(len(table.columns))), row.status, row.measured_on]
    caption = f"Questions {table.questions}: ours (paper's). ({table.source}.)"
    lines = [f"# {table.title}", "", caption, "", markdown(pd.DataFrame(shown)), ""]
    lines += _listed(table.notes)
    _write(folder / f"{table.name}.md", "\n".join(lines))
    if latex:
        _write(folder / f"{table.name}.tex", booktabs(table, pd.DataFrame(shown), caption))
