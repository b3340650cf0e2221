"""A measured table as a page of Markdown."""

from collections.abc import Iterable, Sequence
from string import ascii_lowercase

import pandas as pd

from qaexp.config import join_options
from qaexp.evaluation.significance import INCOMPARABLE
from qaexp.reproduction.build import Measured, by_setting_text
from qaexp.reproduction.cells import Cell
from qaexp.reproduction.configuration import ConfigurationTable
from qaexp.reproduction.spec import Table, Tuning
from qaexp.runs.table import markdown


def as_markdown(measured: Measured, commands: bool = True) -> str:
    """The table as it reads on a page: each number once, `ours ± ci95 (paper)`, and what else must be known below it."""
    table, frame = measured.table, measured.frame
    shown = compact(measured)
    verdicts, reasons = _lettered(frame["verdict"].tolist(), {s.cell.differs: None for s in measured.states.values() if s.entries})
    shown = shown.assign(seeds=frame["seeds"], status=frame["status"], verdict=verdicts)
    said = ["the tables are run with what is taken"] if isinstance(table, Tuning) else []
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
    if notes:
        lines += ["Notes:", "", *(f"- {note}" for note in notes), ""]
    return "\n".join([*lines, *(_commands(measured) if commands else [])])


def notes_of(table: Table | ConfigurationTable) -> list[str]:
    """The table's own, and those of its rows."""
    return [*table.notes, *(f"{row.label}: {row.note}" for row in table.rows if row.note)]


def legend(table: Table) -> str:
    """What stands in its cells."""
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
    lines += [f"- every row{f' ({setting})' if len(shared) > 1 else ''}: `{join_options(options)}`" for setting, options in shared.items()]
    for row in measured.table.rows:
        states = {name: measured.states[row.label, name] for name in measured.table.settings_of(row)}
        own = {name: join_options(o for o in state.cell.overrides if o not in shared[name]) for name, state in states.items()}
        if own:
            options = f"`{text}`" if (text := by_setting_text(own)) else "nothing of its own"
            after = f", after `{state.cell.commands[0]}`" if len((state := next(iter(states.values()))).cell.commands) > 1 else ""
            lines.append(f"- {row.label}: {options}{after}")
    return [*lines, ""]


def compact(measured: Measured) -> pd.DataFrame:
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
