"""Statistics of data sets, worked out by hand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qaexp.data.audit.card import MEASURES, askubuntu_pools, askubuntu_texts
from qaexp.data.corpus_builder import CorpusBuilder
from qaexp.errors import BadDataError

Make = Callable[..., Any]


def test_figures_by_hand() -> None:
    builder = CorpusBuilder()
    short, long, answer, wrong = (builder.text(text.split()) for text in ("who", "who was it then", "it was she", "no idea at all"))
    builder.question("train", "1", short, [("a", answer, 1), ("b", wrong, 0)])
    builder.question("train", "2", long, [("a", answer, 1)])
    builder.question("dev", "3", short, [("b", wrong, 1), ("a", answer, 0), ("c", short, 0)])
    corpus = builder.build()
    splits = list(corpus.splits.values())
    found = {name: function(corpus.texts, splits) for name, function in MEASURES.items()}
    assert found == {
        "questions": 3,
        "pairs": 6,
        "candidates per question": 2,
        "question length": pytest.approx((1 + 4 + 1) / 3),
        "candidate length": pytest.approx((3 + 4 + 1) / 3),
        "words": 9,
        "answer length / question length": pytest.approx((3 / 1 + 3 / 4 + 4 / 1) / 3),
    }


def test_askubuntu_by_hand(write: Make, tmp_path: Path) -> None:
    pools = write(tmp_path / "dev.txt", ["1\t5 6\t5 6 7\t3 2 1", "2\t\t8 9 7\t3 2 1"], packed=True)
    assert askubuntu_pools(pools) == {"questions": 2, "right pairs": 2, "pairs": 6, "answers per question": 1.0}
    texts = write(tmp_path / "texts.txt", ["1\ta title\tone body here", "2\tb\t"])
    assert askubuntu_texts(texts) == {"questions": 2, "title length": 1.5, "body length": 1.5}
    with pytest.raises(BadDataError, match="line 1: 2 fields, 3 expected"):
        askubuntu_texts(write(tmp_path / "cut.txt", ["1\ttitle"]))
    with pytest.raises(BadDataError, match="line 2: 1 field, at least 3 expected"):
        askubuntu_pools(write(tmp_path / "cut.txt", ["1\t2\t3", "4"]))
