"""A table of ours as LaTeX, with booktabs' rules."""

import pandas as pd

from qaexp.reproduction.build import Measured
from qaexp.reproduction.configuration import ConfigurationTable
from qaexp.reproduction.page import compact, legend
from qaexp.reproduction.spec import Table
from qaexp.reproduction.state import QUICK
from qaexp.reproduction.statistics import StatisticsTable

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


def as_latex(measured: Measured) -> str:
    """The table of `booktabs` with ours, interval and the paper's number in one column, and in the caption what ours were measured on."""
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
