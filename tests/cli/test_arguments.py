"""Numbers on command lines: whole ones, seconds, lists; anything else is named."""

from argparse import ArgumentTypeError
from collections.abc import Callable

import pytest

from qaexp.cli.arguments import count, from_zero, seconds, several, time_limit


@pytest.mark.parametrize(
    ("kind", "text", "number"),
    [
        (count, "3", 3),
        (from_zero, "0", 0),
        (seconds, "0.5", 0.5),
        (seconds, "0", 0.0),
        (time_limit, "2", 2.0),
        (several, "1", [1]),
        (several, "3, 1", [3, 1]),
    ],
)
def test_numbers_are_read(kind: Callable[[str], object], text: str, number: object) -> None:
    assert kind(text) == number


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *((count, text) for text in ("0", "-1", "1.5", "two", "")),
        *((from_zero, text) for text in ("-1", "0.5", "")),
        *((seconds, text) for text in ("-1", "nan", "inf", "soon")),
        *((time_limit, text) for text in ("0", "-1", "nan", "inf", "soon")),
        *((several, text) for text in ("1,", "1,a", "-1", "")),
    ],
)
def test_what_is_no_such_number_is_named(kind: Callable[[str], object], text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=f"^'{text}' is no "):
        kind(text)
