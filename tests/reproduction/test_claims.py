"""Claims: how they are read, the tests that compare two rows, and the verdicts."""

from dataclasses import replace
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from scipy import stats
from small_table import TABLE, claim_of, over

from qaexp.errors import ConfigError
from qaexp.evaluation.significance import detectable, welch_error
from qaexp.reproduction.claims import Comparison, claim_verdicts, claims, compare, comparisons, holm_corrected
from qaexp.reproduction.content import EXPERIMENTS
from qaexp.reproduction.ledger import PARAMETERS, Entry
from qaexp.reproduction.measured import Measured
from qaexp.reproduction.spec import UNPRINTED, Column, result_figures, result_tables

PAPERS = ["ap", "clstm", "ctrn", "ggsa", "rcnn"]


@pytest.mark.parametrize("paper", PAPERS)
def test_printed_numbers_agree_with_every_claim(paper: str) -> None:
    places = {each.title: each for each in [*result_tables(), *result_figures()]}
    found = claims(paper)
    assert len(found) >= 5
    for claim in found:
        place = places[f"{paper}, {claim.statement.place}"]
        column = list(place.columns).index(claim.column)
        printed = {row.label: row.published[column] for row in place.rows}
        above, below = printed[claim.above], printed[claim.below]
        if place.columns[claim.column].unit == "K":
            above, below = (float(str(number).removesuffix("K")) for number in (above, below))
        if UNPRINTED in (above, below):
            continue  # drawn without a number, or a row of ours beside the paper's
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
        ("below: [QA-CNN]", "below:", "'below' is empty in a statement; fill it in, or leave it out"),
        ("below: [QA-CNN]", "below: 3", "it is not a list of statements"),
        ("where:", "place:", "it is not a list of statements: nothing reads 'place' in a statement"),
    ],
)
def test_a_claim_about_something_missing_is_named(before: str, after: str, fault: str, tmp_path: Path) -> None:
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


def test_claims_in_the_current_folder_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They were not, while tables were."""
    (tmp_path / "experiments" / "mine").mkdir(parents=True)
    (tmp_path / "experiments" / "mine" / "table1.yaml").write_text("{source: Mine, like: ../ap/table5, caption: Mine.}")
    said = "- {claim: better, where: here, table: 1, columns: [MAP], above: [AP-CNN], below: [QA-CNN]}"
    (tmp_path / "experiments" / "mine" / "claims.yaml").write_text(said)
    monkeypatch.chdir(tmp_path)
    assert [(claim.above, claim.below) for claim in claims("mine")] == [("AP-CNN", "QA-CNN")]


def test_own_tables_need_no_claims(tmp_path: Path) -> None:
    assert claims("mine", tmp_path) == []


def test_rows_with_the_same_questions_are_compared(filled: Measured) -> None:
    found = comparisons(filled).set_index("column")
    assert found.loc["MAP", "row"] == "CNN"
    assert found.loc["MAP", "against"] == "CNN, wide"
    assert found.loc["MAP", "difference"] == "-29.5"
    assert found.loc["MAP", "seeds"] == "3; 2"
    assert float(found.loc["MAP", "p (questions)"]) == pytest.approx(2 / 2**8, abs=5e-5)
    of_seeds = stats.ttest_ind([0.51, 0.52, 0.53], [0.81, 0.82], equal_var=False).pvalue
    assert float(found.loc["MAP", "p (seeds)"]) == pytest.approx(of_seeds, abs=5e-5)
    assert float(found.loc["MAP", "p (Holm)"]) == pytest.approx(2 / 2**8, abs=5e-5)  # the larger of the two
    assert found.loc["MAP", "significant"] == "yes"


def test_one_seed_decides_nothing(filled: Measured) -> None:
    states = {place: replace(state, entries=state.entries[:1]) for place, state in filled.states.items()}
    alone = Measured(TABLE, states)
    line = comparisons(alone).set_index("column").loc["MAP"]
    assert line[["p (questions)", "p (seeds)", "p (Holm)", "significant"]].tolist() == ["0.00781", "", "", "unknown"]
    [claim] = claim_verdicts([claim_of("wide is better", "MAP", above="CNN, wide", below="CNN")], [alone]).to_dict("records")
    assert (claim["verdict"], claim["seeds"], claim["p (Holm)"]) == ("undecided", "1; 1", "")
    assert claim["80% power from"] == ""


def test_rows_that_share_a_run_make_one_test_with_a_third_row() -> None:
    """Of a, b and a again: a − b and b − a are one test, and a − a is none."""
    differences = np.array([0.0] + [-1.0] * 6)  # minus 0.0 is -0.0, other bytes for the same number
    of = [Comparison(each, (5, 5), 0.01, (0.02, 8.0)) for each in (differences, np.zeros(7), -differences)]
    assert holm_corrected(of) == pytest.approx([2 / 2**6, 1.0, 2 / 2**6])


def test_rows_over_other_pools_or_by_another_convention_are_not_compared(filled: Measured) -> None:
    one, other = (filled.scored(label, "MAP") for label in ("CNN", "CNN, wide"))
    assert one is not None
    assert other is not None
    assert compare(one, other) is not None
    for measured_as in (("trec", 81), ("lei16", 80)):
        assert compare(one, replace(other, measured_as=measured_as)) is None
    assert compare(one, replace(other, data=(other.data[0], "e" * 64))) is None
    assert compare(one, replace(other, data=("another", "e" * 64))) is not None


def test_rows_with_other_questions_are_neither_compared_nor_give_a_verdict(filled: Measured) -> None:
    others = over(filled, "CNN", "others")
    assert comparisons(others).empty
    wide = claim_of("wide is better", "MAP", above="CNN, wide", below="CNN")
    assert claim_verdicts([wide], [others])["verdict"].tolist() == ["not measured"]


def test_the_larger_p_counts_and_the_worse_of_two_powers() -> None:
    differences = np.array([0.3, -0.1, 0.2, 0.4, 0.0, 0.1])
    assert Comparison(differences, (2, 2), 0.9, (0.01, 8.0)).p == 0.9
    found = Comparison(differences, (2, 2), 1e-6, (1e-9, 8.0))
    assert found.p == found.p_questions > 0.05
    assert found.detectable == pytest.approx(detectable(float(stats.sem(differences)), 5.0))


def test_a_claim_that_only_some_questions_favour_is_undecided(filled: Measured) -> None:
    mixed = {
        place: replace(state, entries=[_with_mixed_questions(entry) for entry in state.entries]) for place, state in filled.states.items()
    }
    [line] = claim_verdicts([claim_of("wide is better", "MAP", above="CNN, wide", below="CNN")], [Measured(TABLE, mixed)]).to_dict(
        "records"
    )
    assert float(line["p (Holm)"]) > 0.05
    assert line["verdict"] == "undecided"


def _with_mixed_questions(entry: Entry) -> Entry:
    """The entry with half of its questions' values exchanged for what is missing to 1."""
    of_test = dict(entry.questions["test"])
    of_test["map"] = [value if place % 2 else 1 - value for place, value in enumerate(of_test["map"])]
    return replace(entry, questions={**entry.questions, "test": of_test})


def test_verdicts_of_claims(filled: Measured) -> None:
    """Eight questions, all in favour of the wide one: p is 2/256 by itself, and is doubled as two claims can be tested."""
    claims = [
        claim_of("wide is better", "MAP", above="CNN, wide", below="CNN"),
        claim_of("narrow is better", "P@1", above="CNN", below="CNN, wide"),
        claim_of("chance is worse", "MAP", above="CNN", below="Word Overlap", note="as ever"),
        claim_of("of a table that was not measured", "MAP", above="CNN", below="Word Overlap", table=8),
    ]
    found = claim_verdicts(claims, [filled])
    assert found["verdict"].tolist() == ["held", "reversed", "not measured", "not measured"]
    assert found["difference"].tolist() == ["+29.5", "-29.5", "", ""]
    assert float(found.loc[0, "p (Holm)"]) == pytest.approx(2 / 2**8, abs=5e-5), "one test, whichever way it is said"  # type: ignore[arg-type]
    assert found.loc[0, "seeds"] == "2; 3"
    by_seed = [0.51, 0.52, 0.53], [0.81, 0.82]
    seeds = detectable(*welch_error(*by_seed, (True, True)))
    differences = np.array(filled.scored("CNN, wide", "MAP").questions.values) - filled.scored("CNN", "MAP").questions.values  # type: ignore[union-attr]
    questions = detectable(float(stats.sem(differences)), len(differences) - 1.0)
    assert (found.loc[0, "80% power from"], found.loc[2, "80% power from"]) == (f"{100 * max(seeds, questions):.1f}", "")
    assert found.loc[2, "note"] == "as ever"
    again = claim_verdicts([*claims, claims[0], claims[0]], [filled])
    assert again.loc[[0, 4, 5], "p (Holm)"].tolist() == [found.loc[0, "p (Holm)"]] * 3, "what is said again is not a further test"


def test_claims_of_parameters_are_counted_without_a_test(filled: Measured) -> None:
    rows = [replace(row, published=[*row.published, 1.0]) for row in TABLE.rows]
    table = replace(TABLE, columns={**TABLE.columns, "size": Column(PARAMETERS, "toy", 1, 0.001, "K")}, rows=rows)
    states = {place: replace(state, cell=replace(state.cell, table=table)) for place, state in filled.states.items()}
    small = states["CNN", "toy"]
    states["CNN", "toy"] = replace(
        small, entries=[replace(entry, parameters={"trainable without word embeddings": 4900}) for entry in small.entries]
    )
    claims = [
        claim_of("the smaller is larger", "size", above="CNN", below="CNN, wide"),
        claim_of("the larger is larger", "size", above="CNN, wide", below="CNN"),
        claim_of("words need none", "size", above="CNN", below="Word Overlap"),
        claim_of("one is larger than itself", "size", above="CNN", below="CNN"),
    ]
    found = claim_verdicts(claims, [Measured(table, states)])
    assert found["verdict"].tolist() == ["as counted", "not as counted", "not measured", "not as counted"]
    assert found[["difference", "p (Holm)"]].to_numpy().tolist() == [["+4.9K", ""], ["-4.9K", ""], ["", ""], ["+0.0K", ""]]
