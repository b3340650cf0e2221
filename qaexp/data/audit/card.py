"""A data card: the counts that a configuration expects of a data set, compared with what was read."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from qaexp.data.corpus import RankingCorpus, RankingSplit
from qaexp.data.fetch.remotes import fetch_hint
from qaexp.errors import BadDataError, ConfigError

Card = Mapping[str, Mapping[str, int | None]]
"""Maps a split and the name of a count to the expected number. None is not checked."""

Counts = Mapping[str, int]
"""Maps the name of a count to the number, for one split."""


def as_expected(corpus: RankingCorpus, card: Card | None, name: str, classes: Sequence[str] = ()) -> RankingCorpus:
    """The corpus, if its counts are those of its card.

    Raises:
        BadDataError, ConfigError: as `require`.
    """
    if card is not None:
        require(card, name, {split: counted(table, classes) for split, table in corpus.splits.items()})
    return corpus


def counted(split: RankingSplit, classes: Sequence[str] = ()) -> Counts:
    """The counts of a split: questions, pairs, right candidates, and questions without one; of pairs with classes, how many are of each."""
    if classes:
        of_class = np.bincount(split.labels, minlength=len(classes)).tolist()
        return {"pairs": split.num_pairs, **dict(zip(classes, of_class, strict=True))}
    return {
        "questions": split.num_questions,
        "pairs": split.num_pairs,
        "answers": int(split.labels.sum()),
        "without_answer": int((split.answers_per_question == 0).sum()),
    }


def require(card: Card, name: str, splits: Mapping[str, Counts]) -> None:
    """Compare the counts of splits with a card. Splits that the card does not name are not checked.

    Raises:
        BadDataError: counts differ, or a split is missing. Lists all differences.
        ConfigError: the card names an unknown count.
    """
    for split, numbers in card.items():
        for count in numbers:
            if split in splits and count not in splits[split]:
                raise ConfigError(f"dataset.expected.{split}.{count} is not counted; a split's counts are {', '.join(splits[split])}")
    if faults := list(_differences(card, splits)):
        remedy = f"The files or the settings of their reader differ. {fetch_hint(name)} If this is intended, set dataset.expected=null."
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
