"""What the papers claim of their tables and figures is what they print, and a claim about nothing is named."""

from pathlib import Path
from shutil import copytree

import pytest

from qaexp.errors import ConfigError
from qaexp.reproduction.claims import claims
from qaexp.reproduction.paper_table import EXPERIMENTS
from qaexp.reproduction.read import result_figures, result_tables
from qaexp.reproduction.spec import UNPRINTED

PAPERS = ["ap", "clstm", "ctrn", "ggsa", "rcnn"]


@pytest.mark.parametrize("paper", PAPERS)
def test_the_printed_numbers_bear_every_claim_out(paper: str) -> None:
    places = {each.title: each for each in [*result_tables(), *result_figures()]}
    found = claims(paper)
    assert len(found) >= 5
    for claim in found:
        place = places[f"{paper}, {claim.said.place}"]
        column = list(place.columns).index(claim.column)
        printed = {row.label: row.published[column] for row in place.rows}
        above, below = printed[claim.above], printed[claim.below]
        if place.columns[claim.column].unit == "K":
            above, below = (float(str(number).removesuffix("K")) for number in (above, below))
        if claim.said.place.startswith("Figure") and UNPRINTED in (above, below):
            continue  # drawn, without a number
        assert above > below, claim  # type: ignore[operator]


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("below: [QA-CNN]", "below: [QA-DNN]", "ap, Table 3 has no row 'QA-DNN'"),
        ("Test1]", "Test3]", "ap, Table 3 has no column 'Test3'"),
        ("below: [QA-CNN]", "below: QA-CNN", "below: 'QA-CNN' is not a list; write [QA-CNN]"),
        ("table: 3", "table: 1", "the paper has no Table 1 of runs"),
        ("table: 3", "figure: 5", "the paper has no Figure 5 of runs"),
        ("table: 3", "", "it needs a table or a figure, and not both"),
        ("table: 3", "table: 3\n  figure: 3", "it needs a table or a figure, and not both"),
        ("where:", "place:", "it is not a list of statements: nothing reads 'place' in a statement"),
    ],
)
def test_a_claim_about_nothing_is_named(before: str, after: str, fault: str, tmp_path: Path) -> None:
    folder = tmp_path / "experiments"
    copytree(EXPERIMENTS, folder)
    path = folder / "ap" / "claims.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace(before, after, 1), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"claims\.yaml") as raised:
        claims("ap", folder)
    assert fault in str(raised.value)


def test_a_file_that_is_not_yaml_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "experiments"
    copytree(EXPERIMENTS, folder)
    (folder / "ap" / "claims.yaml").write_text("- claim: [", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"claims\.yaml: "):
        claims("ap", folder)


def test_a_table_of_ones_own_needs_no_claims(tmp_path: Path) -> None:
    assert claims("mine", tmp_path) == []
