"""Whether a finished run read the same files as a new one would."""

from typing import Any

import pytest

from qaexp.runs.sources import Sources, is_same_revision

DATA = {"fingerprint": "a", "vectors": {"files": ["b"]}, "written": "c", "weights": {"mini": "sha256:d sha256:e"}}
NOW: dict[str, Any] = {
    "fingerprint": "a",
    "vector_files": ["b"],
    "written": lambda: "c",
    "revision": lambda _: "sha256:d sha256:e",
    "pinned": lambda: {"init_from": {"weights": "f"}},
}
CONFIG = {"init_from": {"weights": "f"}}


def test_the_same_files_are_those_of_a_run_and_what_is_unknown_does_not_count() -> None:
    assert Sources(**NOW).match(DATA, CONFIG)
    assert Sources("a").match(DATA, CONFIG)
    assert Sources(**NOW).match({"fingerprint": "a", "weights": {"mini": "sha256:d"}}, {"init_from": {"key": "of an older record"}})


def test_what_costs_time_is_not_asked_for_a_run_that_did_not_read_it() -> None:
    def asked(*_: object) -> Any:
        pytest.fail("it was asked")

    assert Sources("a", ["b"], asked, asked, asked).match({"fingerprint": "a", "vectors": {}}, {})


def test_a_commit_of_the_hub_alone_is_no_change() -> None:
    assert is_same_revision("c1 sha256:d sha256:e", "c2 sha256:d sha256:e")
    assert not is_same_revision("c1 sha256:d sha256:e", "c1 sha256:d sha256:f")


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("fingerprint", "x"),
        ("vector_files", ["x"]),
        ("written", lambda: "x"),
        ("revision", lambda _: "sha256:x sha256:e"),
        ("revision", lambda _: "sha256:d sha256:x"),
        ("pinned", lambda: {"init_from": {"weights": "x"}}),
    ],
)
def test_other_files_are_noticed(part: str, other: Any) -> None:
    assert not Sources(**{**NOW, part: other}).match(DATA, CONFIG)
