"""From a string to tokens. A data set's YAML names its tokeniser; a change of behaviour is a new name (`_v2`)."""

import re
from collections.abc import Callable
from functools import cache, partial

_WORD = re.compile(r"[^\W_]\.(?:[^\W_]\.)+|[^\W_]+(?:['’.,][^\W_]+)*")


def words_v1(text: str) -> list[str]:
    """Lower-cased words and numbers; punctuation is dropped, hyphenated words are split, apostrophes and "u.s." stay whole.

    >>> words_v1("The U.S. dollar isn't worth 1,000 yen (long-term).")
    ['the', 'u.s.', 'dollar', "isn't", 'worth', '1,000', 'yen', 'long', 'term']
    """
    return _WORD.findall(text.lower().replace("’", "'"))


def lemmas_v1(text: str) -> list[str]:
    """The words of `words_v1`, each as its lemma by simplemma 2.0, a dictionary of English word forms. A lemma's lemma is itself.

    >>> lemmas_v1("Applying for visas was better in the 1990s.")
    ['apply', 'for', 'visa', 'be', 'good', 'in', 'the', '1990s']
    """
    return [_lemma(word) for word in words_v1(text)]


@cache
def _lemma(word: str) -> str:
    from simplemma import lemmatize  # its dictionary takes seconds to load

    return lemmatize(word, lang="en").lower()


def bare(tokenise: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """The tokeniser without Hydra's `_partial_` wrapper, which checks its target at every call and so is slow in loops."""
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
