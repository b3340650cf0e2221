"""From a string to tokens. A data set's YAML names its tokeniser; a change of behaviour is a new name (`_v2`)."""

import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Protocol, runtime_checkable
from unicodedata import category, normalize

_WORD = re.compile(r"[^\W_]\.(?:[^\W_]\.)+|[^\W_]+(?:['’.,][^\W_]+)*")

_UNSEEN = re.compile("[\u00ad\u2060\ufeff]")
"""Soft hyphen, word joiner, byte order mark."""


def words_v1(text: str) -> list[str]:
    """Lower-cased words and numbers; punctuation is dropped, hyphenated words are split, apostrophes and "u.s." stay whole.

    >>> words_v1("The U.S. dollar isn't worth 1,000 yen (long-term).")
    ['the', 'u.s.', 'dollar', "isn't", 'worth', '1,000', 'yen', 'long', 'term']
    """
    return _WORD.findall(text.lower().replace("’", "'"))


def lemmas_v1(text: str) -> list[str]:
    """The words of `words_v1`, each as its lemma by simplemma 2.0, a dictionary of English word forms. A lemma's lemma is itself.

    >>> lemmas_v1("Applying for visas was better.")
    ['apply', 'for', 'visa', 'be', 'good']
    """
    return [_lemma(word) for word in words_v1(text)]


@cache
def _lemma(word: str) -> str:
    from simplemma import lemmatize  # its dictionary takes seconds to load

    return lemmatize(word, lang="en").lower()


_UNSPACED = "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
"""Chinese characters, hiragana and katakana, which are written without blanks."""


@cache
def _word_with_marks() -> re.Pattern[str]:
    marks = "".join(chr(code) for code in [*range(0x300, 0x20000), *range(0xE0100, 0xE01F0)] if category(chr(code)).startswith("M"))
    letter = rf"(?![{_UNSPACED}])[^\W_][{marks}]*"
    letters = rf"{letter}(?:[\u200c\u200d]*{letter})*"
    return re.compile(rf"(?=[^\W_])[{_UNSPACED}][{marks}]*|{letter}\.(?:{letter}\.)+|{letters}(?:['’.,]{letters})*")


def words_v2(text: str) -> list[str]:
    """As `words_v1`, for any script: a word may hold combining marks, and joiners between its letters. Texts are composed (NFC) first, and
    soft hyphens and byte order marks, which nobody sees, are dropped.

    Each Chinese character and each kana is a word. Thai, Lao, Khmer and Burmese have blanks between phrases alone, and a
    phrase is one word: segment such texts first.

    >>> words_v2("The U.S. dollar isn't worth 1,000 yen (long-term).") == words_v1("The U.S. dollar isn't worth 1,000 yen (long-term).")
    True
    >>> words_v2("हिन्दी किताब, İstanbul in\u00adfor\u00admation, iPhoneの充電")
    ['हिन्दी', 'किताब', 'i̇stanbul', 'information', 'iphone', 'の', '充', '電']
    """
    if text.isascii():
        return words_v1(text)
    return _word_with_marks().findall(normalize("NFC", _UNSEEN.sub("", text).lower()).replace("’", "'"))


def bare(tokenise: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """The tokeniser without Hydra's `_partial_` wrapper, which is slow in loops because it checks its target at every call."""
    return tokenise.func if isinstance(tokenise, partial) and not (tokenise.args or tokenise.keywords) else tokenise


def published_tokens_v1(text: str) -> list[str]:
    """The tokens as the corpus publishes them, separated by white space, case kept.

    >>> published_tokens_v1("do Walmart offer Health Insurance")
    ['do', 'Walmart', 'offer', 'Health', 'Insurance']
    """
    return text.split()


def lower_tokens_v1(text: str) -> list[str]:
    """The published tokens in lower case, as Severyn & Moschitti (2015) and later papers use them.

    >>> lower_tokens_v1("When did Jean Harlow die ?")
    ['when', 'did', 'jean', 'harlow', 'die', '?']
    """
    return text.lower().split()


_BRACKETS = frozenset(f"-{side}{kind}b-" for side in "lr" for kind in "rsc")


def published_words_v1(text: str) -> list[str]:
    """The published tokens in lower case, without punctuation and without names of brackets (`-LRB-`).

    >>> published_words_v1("`` It 's <num> years old '' -LRB- he said -RRB- .")
    ['it', "'s", '<num>', 'years', 'old', 'he', 'said']
    """
    return [token for token in lower_tokens_v1(text) if token not in _BRACKETS and any(map(str.isalnum, token))]


@runtime_checkable
class TextReader(Protocol):
    """Reads texts in place of the data set's tokeniser, as the tokenizer of a pretrained model does."""

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of each text; they start at 1, since 0 is padding."""
        ...

    def words(self, text: str, limit: int) -> list[str]:
        """The tokens of a text as strings: one for each state of the model."""
        ...

    def of_words(self, words: Sequence[str]) -> list[int]:
        """The ids of the tokens that `words` gives as strings."""
        ...

    def limits(self, question: int, candidate: int) -> tuple[int, int]:
        """The most tokens of either side that the model takes, given the data set's limits."""
        ...
