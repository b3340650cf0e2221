"""A data card: the counts that a configuration expects of a data set, held against what was read."""

from collections.abc import Iterator, Mapping

from qaexp.data.corpus import RankingSplit
from qaexp.data.remotes import fetch_hint
from qaexp.errors import BadDataError, ConfigError

Card = Mapping[str, Mapping[str, int | None]]
"""Split to name of a count to number; null is not checked."""

COUNTS = ("questions", "pairs", "answers", "without_answer")
"""What a card speaks of: questions, pairs, right candidates, and questions without one."""


def counted(split: RankingSplit) -> dict[str, int]:
    """The numbers of a split that a card speaks of."""
    without = int((split.answers_per_question == 0).sum())
    return dict(zip(COUNTS, (split.num_questions, split.num_pairs, int(split.labels.sum()), without), strict=True))


def require(card: Card, name: str, splits: Mapping[str, RankingSplit]) -> None:
    """Splits that the card does not name are not checked.

    Raises:
        BadDataError: counts differ. Lists all that do.
        ConfigError: the card speaks of something that is not counted.
    """
    unknown = [f"{split}.{count}" for split, numbers in card.items() for count in numbers if count not in COUNTS]
    if unknown:
        raise ConfigError(f"dataset.expected.{unknown[0]} is not counted; a split's counts are {', '.join(COUNTS)}")
    if faults := list(_differences(card, splits)):
        remedy = f"The files, or the settings of their reader, are others. {fetch_hint(name)} Meant to differ? Set dataset.expected=null."
        raise BadDataError(f"data set {name}, as read", faults, remedy)


def _differences(card: Card, splits: Mapping[str, RankingSplit]) -> Iterator[str]:
    for split, numbers in card.items():
        if split not in splits:
            yield f"split {split}: expected, but there are only {', '.join(splits) or 'none'}"
            continue
        found = counted(splits[split])
        for count, expected in numbers.items():
            if expected not in (None, found[count]):
                yield f"split {split}, {count.replace('_', ' ')}: {found[count]:,} were read, {expected:,} expected"


def standing(card: Card | None) -> str:
    """What a record says of a card that `require` has passed.

    >>> standing(None), standing({"dev": {"questions": 2, "pairs": None}}), standing({"dev": dict.fromkeys(COUNTS, 2)})
    ('none', 'met where it states counts', 'met')
    """
    if card is None:
        return "none"
    whole = all(numbers.get(count) is not None for numbers in card.values() for count in COUNTS)
    return "met" if whole else "met where it states counts"
