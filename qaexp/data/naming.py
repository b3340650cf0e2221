"""Names for candidates that were published without one, which say nothing of their label."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence


def text_names(texts: Iterable[Sequence[str]]) -> list[str]:
    """A digest of each text of a pool; a text's further occurrences are numbered.

    Files list the right candidates first, or last. Numbered in that order, equal scores would be decided by the labels wherever
    a convention looks at the candidate's id (`trec` does).

    >>> text_names([["it", "burned"], ["no"], ["it", "burned"]])
    ['2cbb8e1f85', 'faa280dc35', '2cbb8e1f85-2']
    """
    seen: Counter[str] = Counter()
    names = []
    for text in texts:
        name = hashlib.blake2s(" ".join(text).encode(), digest_size=5).hexdigest()
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return names
