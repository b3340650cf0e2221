"""A table as Markdown and LaTeX."""

from dataclasses import replace
from pathlib import Path

import pandas as pd

from qaexp.reproduction.cells import Keys
from qaexp.reproduction.ledger import Ledger
from qaexp.reproduction.measured import Measured, measured
from qaexp.reproduction.page import _lettered, as_latex, as_markdown, write_table
from qaexp.reproduction.spec import tunings


def test_markdown_and_latex_show_each_number_once(filled: Measured, tmp_path: Path) -> None:
    text = as_markdown(filled)
    assert "| CNN | 52.0 ± 2.5 (50.0) |" in text
    assert "| Kelp | (75.1) |" in text
    assert "\nMeasured in 5 runs on " in text
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


def test_seeds_that_agree_have_an_interval_and_a_model_without_chance_has_none(filled: Measured) -> None:
    [state] = [state for (label, _), state in filled.states.items() if label == "CNN"]
    alike = replace(state, entries=[replace(entry, metrics=state.entries[0].metrics) for entry in state.entries])
    fixed = replace(alike, entries=[replace(entry, parameters=dict.fromkeys(entry.parameters, 0)) for entry in alike.entries])
    for found, cell in ((alike, "51.0 ± 0.0 (50.0)"), (fixed, "51.0 (50.0)")):
        assert f"| CNN | {cell} |" in as_markdown(Measured(filled.table, {**filled.states, ("CNN", "toy"): found}))


def test_more_reasons_than_letters_get_two_letters() -> None:
    reasons = [f"reason {number}" for number in range(28)]
    verdicts, lines = _lettered([f"not comparable: {reason}" for reason in reasons], reasons)
    assert verdicts[25:] == ["not comparable (z)", "not comparable (aa)", "not comparable (ab)"]
    assert lines[-2] == "(ab) reason 27"


def test_an_option_that_all_rows_have_is_written_once(tmp_path: Path, keys: Keys) -> None:
    table = next(tuning for tuning in tunings() if tuning.title == "ctrn, tuning on trecqa")
    empty = measured(table, Ledger(tmp_path), keys)
    lines = as_markdown(empty).splitlines()
    every = next(line for line in lines if line.startswith("- every row: "))
    assert "optimizer=adam" in every
    assert "hidden_dim" not in every
    assert "- every row (d 256): also `dataset.batch_size=64 model.encoder.hidden_dim=256`" in lines
    assert "- CTRN: `model=ctrn`" in lines
    whole = set(empty.states["CTRN", "d 256"].cell.overrides)
    assert set(every.split("`")[1].split()) | {"dataset.batch_size=64", "model.encoder.hidden_dim=256", "model=ctrn"} == whole
