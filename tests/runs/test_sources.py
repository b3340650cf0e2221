"""Whether a finished run read the same files as a new one would."""

from typing import Any

import pytest

from qaexp.runs.sources import Sources

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
    assert Sources(**NOW).are_those_of(DATA, CONFIG)
    assert Sources("a").are_those_of(DATA, CONFIG)
    assert Sources(**NOW).are_those_of({"fingerprint": "a", "weights": {"mini": "sha256:d"}}, {"init_from": {"key": "of an older record"}})


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
    assert not Sources(**{**NOW, part: other}).are_those_of(DATA, CONFIG)
