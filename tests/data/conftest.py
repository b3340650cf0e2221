"""Small data sets in their published layouts, written by the tests that read them."""

import gzip
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from qaexp.data.corpus import RankingCorpus, RankingSplit
from qaexp.data.datasets.insuranceqa import InsuranceQAReader
from qaexp.data.datasets.wikiqa import COLUMNS, WikiQAReader
from qaexp.data.tokenise import words_v1

VOCABULARY = ["idx_1\tWhat", "idx_2\tis", "idx_3\tinsurance", "idx_4\tit", "idx_5\tdepends", "idx_6\ta", "idx_7\tcontract"]
ANSWERS = ["10\tidx_6 idx_7", "11\tidx_4 idx_5", "12\tidx_6 idx_7", "13\tidx_4 idx_2 idx_6 idx_7"]
INSURANCEQA = {
    "vocabulary": VOCABULARY,
    "answers": ANSWERS,
    "train": ["idx_1 idx_2 idx_3\t10 12", "idx_2 idx_4\t11"],
    "dev": ["11\tidx_1 idx_4\t13 11 10"],
    "test": ["10 13\tidx_1 idx_2 idx_7\t12 11 13 10"],
}
WIKIQA_HEADER = "\t".join(COLUMNS)
WIKIQA = {
    "train": [
        WIKIQA_HEADER,
        "Q1\tWho wrote it?\tD1\tBook\tD1-0\tShe wrote it.\t1",
        'Q1\tWho wrote it?\tD1\tBook\tD1-1\tA "book" was sold.\t0',
        "Q2\tWhere is it?\tD2\tTown\tD2-0\tIt burned.\t0",
    ],
    "dev": [
        WIKIQA_HEADER,
        "Q3\tWhen was it?\tD3\tYear\tD3-0\tIn 1,066.\t1",
        "Q3\tWhen was it?\tD3\tYear\tD3-1\tIt burned.\t0",
        "Q4\tWhy?\tD4\tNone\tD4-0\tIt burned.\t0",
    ],
    "test": [WIKIQA_HEADER, "Q5\tWho sold it?\tD5\tShop\tD5-0\tShe sold it.\t1", "Q5\tWho sold it?\tD5\tShop\tD5-1\tIt burned.\t0"],
}


def write_lines(path: Path, lines: Iterable[str] | bytes, packed: bool = False) -> Path:
    """Write lines or bytes, gzipped with `.gz` added if `packed`."""
    content = lines if isinstance(lines, bytes) else "".join(f"{line}\n" for line in lines).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path = Path(f"{path}.gz") if packed else path
    path.write_bytes(gzip.compress(content) if packed else content)
    return path


@pytest.fixture
def write() -> Callable[..., Path]:
    """`write_lines`."""
    return write_lines


@pytest.fixture
def insuranceqa(tmp_path: Path) -> Callable[..., InsuranceQAReader]:
    """A reader of the small InsuranceQA, any of whose files can be given other content; None leaves it out."""

    def reader(folder: str = "V1", packed: bool = False, **files: Any) -> InsuranceQAReader:
        for name, lines in (INSURANCEQA | files).items():
            if lines is not None:
                write_lines(tmp_path / folder / name, lines, packed)
        return InsuranceQAReader(
            name="insuranceqa",
            folder=str(tmp_path / folder),
            vocabulary=str(tmp_path / folder / "vocabulary"),
            answers="answers",
            train="train",
            pools={"dev": "dev", "test": "test"},
        )

    return reader


@pytest.fixture
def wikiqa(tmp_path: Path) -> Callable[..., WikiQAReader]:
    """The same for WikiQA."""

    def reader(folder: str = "wikiqa", packed: bool = False, **files: Any) -> WikiQAReader:
        for name, lines in (WIKIQA | files).items():
            if lines is not None:
                write_lines(tmp_path / folder / f"{name}.tsv", lines, packed)
        splits = {split: f"{split}.tsv" for split in WIKIQA}
        return WikiQAReader(folder=str(tmp_path / folder), splits=splits, tokenise=words_v1)

    return reader


@pytest.fixture
def spelled() -> Callable[[RankingCorpus, Any], list[str]]:
    """Texts of a corpus as strings."""

    def spell(corpus: RankingCorpus, texts: Any) -> list[str]:
        words, ids, offsets = corpus.vocabulary.words, corpus.texts.ids, corpus.texts.offsets
        return [" ".join(words[i] for i in ids[offsets[t] : offsets[t + 1]]) for t in texts]

    return spell


@pytest.fixture
def pools(spelled: Callable[[RankingCorpus, Any], list[str]]) -> Callable[[RankingCorpus, RankingSplit], dict[str, Any]]:
    """A split as {question id: (question, [(candidate id, candidate, label), ...])}."""

    def read(corpus: RankingCorpus, split: RankingSplit) -> dict[str, Any]:
        table = {}
        for q, (start, end) in enumerate(zip(split.offsets[:-1], split.offsets[1:], strict=True)):
            names = [name.decode() for name in split.candidate_ids[start:end]]
            candidates = zip(names, spelled(corpus, split.candidates[start:end]), split.labels[start:end].tolist(), strict=True)
            table[split.question_ids[q].decode()] = (spelled(corpus, split.questions[q : q + 1])[0], list(candidates))
        return table

    return read


@pytest.fixture
def told(pools: Any) -> Callable[..., list[Any]]:
    """A split as [(question, [(candidate, label)])]."""

    def tell(corpus: Any, split: str) -> list[Any]:
        table = pools(corpus, corpus.splits[split])
        return [(question, [(text, label) for _, text, label in pool]) for question, pool in table.values()]

    return tell
