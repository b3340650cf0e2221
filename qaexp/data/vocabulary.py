"""Words and their ids."""

from collections.abc import Iterable, Sequence

PADDING, UNKNOWN = 0, 1
"""Ids of padding and of every unknown word."""
SPECIAL_WORDS = ("<pad>", "<unk>")


class Vocabulary:
    """A fixed list of words, numbered from 2.

    >>> vocabulary = Vocabulary.of_words(["is", "soup", "hot"])
    >>> vocabulary.ids(["soup", "is", "cold"])
    [3, 2, 1]

    A token in a text that looks like padding or `<unk>` is an unknown word.

    >>> vocabulary.ids(["<pad>", "<unk>"])
    [1, 1]
    """

    def __init__(self, words: Sequence[str]) -> None:
        if tuple(words[: len(SPECIAL_WORDS)]) != SPECIAL_WORDS:
            raise ValueError(f"a vocabulary begins with {SPECIAL_WORDS}, not {tuple(words[:2])}")
        self.words = list(words)
        self._id_of = {word: number for number, word in enumerate(words)}
        if len(self._id_of) != len(self.words):
            raise ValueError("a vocabulary lists each word once")
        self._id_of[SPECIAL_WORDS[0]] = UNKNOWN

    @classmethod
    def of_words(cls, words: Iterable[str]) -> "Vocabulary":
        """The vocabulary of `words` in their order of first appearance."""
        return cls(list(dict.fromkeys([*SPECIAL_WORDS, *words])))

    def __len__(self) -> int:
        return len(self.words)

    def known(self, words: Iterable[str]) -> list[str]:
        """The given words that are in the vocabulary, in the given order."""
        return [word for word in words if self._id_of.get(word, UNKNOWN) != UNKNOWN]

    def ids(self, words: Iterable[str]) -> list[int]:
        """The id of each word; unknown words get `UNKNOWN`."""
        return [self._id_of.get(word, UNKNOWN) for word in words]
