"""A table as Markdown and LaTeX."""

from pathlib import Path

import pandas as pd

from qaexp.reproduction.measured import Measured
from qaexp.reproduction.page import _lettered, as_latex, as_markdown, write_table


def test_markdown_and_latex_show_each_number_once(filled: Measured, tmp_path: Path) -> None:
    text = as_markdown(filled)
    assert "| CNN | 52.0 ± 2.5 (50.0) |" in text
    assert "| Kelp | (75.1) |" in text
    latex = as_latex(filled)
    assert r"\toprule" in latex
    assert r"CNN & 52.0 $\pm$ 2.5 (50.0)" in latex
    assert r"Made up \& small." in latex
    write_table(filled, tmp_path / "out", latex=True)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "table9.comparisons.csv",
        "table9.csv",
        "table9.md",
        "table9.tex",
    ]
    assert pd.read_csv(tmp_path / "out" / "table9.csv")["MAP"].isna().tolist() == [True, True, False, False]


def test_more_reasons_than_letters_get_two_letters() -> None:
    reasons = [f"reason {number}" for number in range(28)]
    verdicts, lines = _lettered([f"not comparable: {reason}" for reason in reasons], reasons)
    assert verdicts[25:] == ["not comparable (z)", "not comparable (aa)", "not comparable (ab)"]
    assert lines[-2] == "(ab) reason 27"
