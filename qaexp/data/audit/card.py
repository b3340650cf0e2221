"""A data card: the counts that a configuration expects of a data set, held against what was read."""

from collections.abc import Iterator, Mapping

from qaexp.data.corpus import RankingSplit
from qaexp.data.fetch.remotes import fetch_hint
from qaexp.errors import BadDataError, ConfigError

Card = Mapping[str, Mapping[str, int | None]]
"""Split to name of a count to number; null is not checked."""

Counts = Mapping[str, int]
"""Name of a count to number, of one split."""


def counted(split: RankingSplit) -> Counts:
    """What a card of a ranking data set speaks of: questions, pairs, right candidates, and questions without one."""
    return {
        "questions": split.num_questions,
        "pairs": split.num_pairs,
        "answers": int(split.labels.sum()),
        "without_answer": int((split.answers_per_question == 0).sum()),
    }


def require(card: Card, name: str, splits: Mapping[str, Counts]) -> None:
    """Splits that the card does not name are not checked.

    Raises:
        BadDataError: counts differ. Lists all that do.
        ConfigError: the card speaks of something that is not counted.
    """
    for split, numbers in card.items():
        for count in numbers:
            if split in splits and count not in splits[split]:
                raise ConfigError(f"dataset.expected.{split}.{count} is not counted; a split's counts are {', '.join(splits[split])}")
    if faults := list(_differences(card, splits)):
        remedy = f"The files, or the settings of their reader, are others. {fetch_hint(name)} Meant to differ? Set dataset.expected=null."
        raise BadDataError(f"data set {name}, as read", faults, remedy)


def _differences(card: Card, splits: Mapping[str, Counts]) -> Iterator[str]:
    for split, numbers in card.items():
        if split not in splits:
            yield f"split {split}: expected, but there are only {', '.join(splits) or 'none'}"
            continue
        for count, expected in numbers.items():
            found = splits[split][count]
            if expected not in (None, found):
                yield f"split {split}, {count.replace('_', ' ')}: {found:,} were read, {expected:,} expected"


def standing(card: Card | None) -> str:
    """What a record says of a card that `require` has passed.

    >>> standing(None), standing({"dev": {"questions": 2, "pairs": None}}), standing({"dev": {"questions": 2, "pairs": 9}})
    ('none', 'met where it states counts', 'met')
    """
    if card is None:
        return "none"
    return "met" if all(None not in numbers.values() for numbers in card.values()) else "met where it states counts"
