"""Numbers on the command lines of programs other than a run's; argparse says what is wrong with one."""

import math
from argparse import ArgumentTypeError


def count(text: str) -> int:
    """A whole number from 1.

    >>> count("3")
    3
    """
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)


def from_zero(text: str) -> int:
    """A whole number from 0, such as a seed."""
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is no whole number from 0")
    return int(text)


def seconds(text: str) -> float:
    """From 0, which is no wait at all."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise ArgumentTypeError(f"{text!r} is no number of seconds from 0")
    return number


def time_limit(text: str) -> float:
    """Seconds, more than 0."""
    if not (number := seconds(text)):
        raise ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return number


def several(text: str) -> list[int]:
    """Whole numbers from 0, such as seeds.

    >>> several("1, 2")
    [1, 2]
    """
    try:
        return [from_zero(part.strip()) for part in text.split(",")]
    except ArgumentTypeError as error:
        raise ArgumentTypeError(f"{text!r} is no list of whole numbers such as 1,2") from error
