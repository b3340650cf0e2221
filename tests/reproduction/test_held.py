"""The papers' claims held against rows."""

from dataclasses import replace

import pytest
from small_table import TABLE, claim_of

from qaexp.reproduction.build import Measured
from qaexp.reproduction.held import held_against
from qaexp.reproduction.ledger import PARAMETERS
from qaexp.reproduction.spec import Column


def test_claims_are_held_against_the_rows(filled: Measured) -> None:
    """Eight questions, all in favour of the wide one: p is 2/256 by itself, and is doubled as two claims can be tested."""
    claims = [
        claim_of("wide is better", "MAP", above="CNN, wide", below="CNN"),
        claim_of("narrow is better", "P@1", above="CNN", below="CNN, wide"),
        claim_of("chance is worse", "MAP", above="CNN", below="Word Overlap", note="as ever"),
        claim_of("of a table that was not measured", "MAP", above="CNN", below="Word Overlap", table=8),
    ]
    found = held_against(claims, [filled])
    assert found["verdict"].tolist() == ["held", "reversed", "not measured", "not measured"]
    assert found["difference"].tolist() == ["+29.5", "-29.5", "", ""]
    assert float(found.loc[0, "p (Holm)"]) == pytest.approx(2 / 2**8, abs=5e-5), "one test, whichever way it is said"  # type: ignore[arg-type]
    assert found.loc[0, "seeds"] == "2; 3"
    assert found.loc[2, "note"] == "as ever"
    again = held_against([*claims, claims[0], claims[0]], [filled])
    assert again.loc[[0, 4, 5], "p (Holm)"].tolist() == [found.loc[0, "p (Holm)"]] * 3, "what is said again is no further test"


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
    ]
    found = held_against(claims, [Measured(table, states)])
    assert found["verdict"].tolist() == ["as counted", "not as counted", "not measured"]
    assert found[["difference", "p (Holm)"]].to_numpy().tolist() == [["+4.9K", ""], ["-4.9K", ""], ["", ""]]
