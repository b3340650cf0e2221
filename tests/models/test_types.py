"""The list of axis words in qaexp/models/types.py is the one that annotations draw from."""

import re
from pathlib import Path

from qaexp.models import types

PACKAGE = Path(types.__file__).parents[1]


def test_the_axis_words_of_annotations_are_those_that_are_listed() -> None:
    sources = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")]
    annotations = [axes for source in sources for axes in re.findall(r'\[(?:Tensor|np\.ndarray), "([^"]*)"\]', source)]
    used = {word for axes in annotations for word in re.findall(r"[a-z_]+", axes)}
    listed = {
        word for words in re.findall(r"^    ([a-z_, ]+)  ", types.__doc__ or "", re.MULTILINE) for word in re.findall(r"[a-z_]+", words)
    }
    assert used == listed, f"{types.__file__} lacks {sorted(used - listed)}; nothing uses {sorted(listed - used)}"
