"""Statistics of data sets, worked out by hand."""

import gzip
from pathlib import Path

import pytest

from qaexp.data.corpus_builder import CorpusBuilder
from qaexp.errors import BadDataError
from qaexp.reproduction.counts import MEASURES, askubuntu_pools, askubuntu_texts


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


def test_askubuntu_by_hand(tmp_path: Path) -> None:
    pools, texts, cut = tmp_path / "dev.txt.gz", tmp_path / "texts.txt", tmp_path / "cut.txt"
    pools.write_bytes(gzip.compress(b"1\t5 6\t5 6 7\t3 2 1\n2\t\t8 9 7\t3 2 1\n"))
    assert askubuntu_pools(pools) == {"questions": 2, "right pairs": 2, "pairs": 6, "answers per question": 1.0}
    texts.write_text("1\ta title\tone body here\n2\tb\t\n")
    assert askubuntu_texts(texts) == {"questions": 2, "title length": 1.5, "body length": 1.5}
    cut.write_text("1\ttitle\n")
    with pytest.raises(BadDataError, match="line 1: 2 fields, 3 expected"):
        askubuntu_texts(cut)
    cut.write_text("1\t2\t3\n4\n")
    with pytest.raises(BadDataError, match="line 2: 1 field, at least 3 expected"):
        askubuntu_pools(cut)
