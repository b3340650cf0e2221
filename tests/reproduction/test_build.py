"""A table's lines: rows in the paper's order, numbers in its unit and rounding, ours beside theirs."""

from qaexp.reproduction.build import Measured


def test_rows_are_the_papers_and_numbers_ours(filled: Measured) -> None:
    frame = filled.frame
    assert frame["Model"].tolist() == ["Kelp", "Word Overlap", "CNN", "CNN, wide"]
    assert list(frame.columns[:4]) == ["Model", "MAP", "MAP (paper)", "MAP ci95"]
    assert list(frame.columns[-4:]) == ["seeds", "status", "verdict", "command"]
    assert frame["MAP (paper)"].tolist() == ["75.1", "20.0", "50.0", "50.0"]
    assert frame["MAP"].tolist() == ["", "", "52.0", "81.5"]
    assert frame["MAP ci95"].tolist() == ["", "", "2.5", "6.4"]
    assert frame["status"].tolist() == ["published only", "toy: not run; absent: data missing", "measured", "measured"]
    assert frame["seeds"].tolist() == ["", "0", "3", "2"]
    assert filled.runs == "5 of 12"
    assert frame.loc[2, "verdict"] == "reproduced"
    assert frame.loc[3, "verdict"] == "above"
    assert frame.loc[0, "command"] == ""
    assert frame.loc[2, "command"].startswith("python -m qaexp dataset=toy ")
    assert "seed=" not in frame.loc[2, "command"]
