"""WikiQA: what a file says is what the corpus holds, and what is wrong with a file is said with its line and remedy."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qaexp.data.datasets.wikiqa import COLUMNS, WikiQAReader
from qaexp.data.tokenise import words_v1
from qaexp.errors import BadDataError, MissingDataError

Make = Callable[..., WikiQAReader]
HEADER = "\t".join(COLUMNS)
ROW = "Q1\tWho?\tD1\tBook\tD1-0\tShe did.\t1"


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
def test_a_small_corpus_is_read_exactly(wikiqa: Make, spelled: Any, pools: Any, packed: bool) -> None:
    corpus = wikiqa(packed=packed).read()
    assert pools(corpus, corpus.splits["train"]) == {
        "Q1": ("who wrote it", [("D1-0", "she wrote it", 1), ("D1-1", "a book was sold", 0)]),
        "Q2": ("where is it", [("D2-0", "it burned", 0)]),
    }
    assert pools(corpus, corpus.splits["dev"]) == {
        "Q3": ("when was it", [("D3-0", "in 1,066", 1), ("D3-1", "it burned", 0)]),
        "Q4": ("why", [("D4-0", "it burned", 0)]),
    }
    assert pools(corpus, corpus.splits["test"]) == {"Q5": ("who sold it", [("D5-0", "she sold it", 1), ("D5-1", "it burned", 0)])}
    assert spelled(corpus, corpus.answer_set) == ["she wrote it", "a book was sold", "it burned"]
    assert corpus.vocabulary.words[:6] == ["<pad>", "<unk>", "who", "wrote", "it", "she"]
    assert corpus.notes == {"train: questions without a right candidate": 1, "dev: questions without a right candidate": 1}


def test_rows_of_a_question_need_not_be_together(wikiqa: Make, pools: Any) -> None:
    rows = [HEADER, ROW, "Q2\tWhere?\tD2\tTown\tD2-0\tHere.\t1", "Q1\tWho?\tD1\tBook\tD1-1\tHe did.\t0", ROW]
    corpus = wikiqa(test=rows).read()
    assert pools(corpus, corpus.splits["test"]) == {
        "Q1": ("who", [("D1-0", "she did", 1), ("D1-1", "he did", 0)]),
        "Q2": ("where", [("D2-0", "here", 1)]),
    }
    assert corpus.notes["test: repeated candidates (dropped)"] == 1


def test_texts_without_words_are_one_unknown_word(wikiqa: Make, pools: Any) -> None:
    corpus = wikiqa(test=[HEADER, "Q1\t???\tD1\tBook\tD1-0\t\t1"]).read()
    assert pools(corpus, corpus.splits["test"]) == {"Q1": ("<unk>", [("D1-0", "<unk>", 1)])}
    assert corpus.notes["empty texts (read as one unknown word)"] == 2


FAULTY: dict[str, tuple[Any, list[str]]] = {
    "another header": (["\t".join(["id", *COLUMNS[1:]]), ROW], [f"line 1: the header is not {' '.join(COLUMNS)}"]),
    "no header": ([ROW, ROW], [f"line 1: the header is not {' '.join(COLUMNS)}"]),
    "other labels": (
        [HEADER, ROW, ROW[:-1] + "2", ROW[:-1] + "yes"],
        ["line 3: field Label is '2', 0 or 1 expected", "line 4: field Label is 'yes', 0 or 1 expected"],
    ),
    "too few fields": ([HEADER, ROW, "Q1\tWho?"], ["line 3: 2 fields, 7 expected"]),
    "an id of two questions": (
        [HEADER, ROW, "Q1\tWhere?\tD2\tTown\tD2-0\tHere.\t1"],
        ["line 3: id Q1 already belongs to the question of line 2"],
    ),
    "a sentence with two labels": (
        [HEADER, ROW, ROW[:-1] + "0"],
        ["line 3: sentence D1-0 of question Q1 is labelled 0, and in line 2 1"],
    ),
    "a line cut in two": (
        [HEADER, "Q1\tWho?\tD1\tBo", "ok\tD1-0\tShe did.\t1"],
        ["line 2: 4 fields, 7 expected", "line 3: 4 fields, 7 expected"],
    ),
    "another encoding": (
        f"{HEADER}\n{ROW}\n{ROW.replace('She', 'Zoë')}\n".encode("latin-1"),
        ["line 3: byte 24 is not UTF-8 (invalid continuation byte)"],
    ),
    "an empty file": (b"", ["the file is empty"]),
    "a header and nothing else": ([HEADER], ["there is no question below the header"]),
}


@pytest.mark.parametrize("case", FAULTY)
def test_every_fault_of_a_file_is_named_with_its_line(wikiqa: Make, tmp_path: Path, case: str) -> None:
    lines, faults = FAULTY[case]
    with pytest.raises(BadDataError) as error:
        wikiqa(dev=lines).read()
    head, *listed, remedy = str(error.value).splitlines()
    assert head == f"{tmp_path}/wikiqa/dev.tsv: {len(faults)} fault{'s' if len(faults) > 1 else ''}"
    assert listed == [f"  {fault}" for fault in faults]
    assert remedy.startswith("The file is not as it was published. wikiqa is published in")
    assert "`qaexp data fetch wikiqa` fetches it" in remedy


def test_missing_files_are_all_named(wikiqa: Make, tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="fetch wikiqa` fetches it") as error:
        wikiqa(train=None, test=None).files()
    assert f"  {tmp_path}/wikiqa/train.tsv\n  {tmp_path}/wikiqa/test.tsv\n" in str(error.value)


def test_published_counts(data_dir: Path) -> None:
    folder = data_dir / "wikiqa"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not at hand")
    splits = {split: f"WikiQA-{split}.tsv" for split in ("train", "dev", "test")}
    corpus = WikiQAReader(folder=str(folder), splits=splits, tokenise=words_v1).read()
    train, dev, test = corpus.splits.values()
    assert [train.num_pairs, dev.num_pairs, test.num_pairs] == [20_360, 2_733, 6_165]
    assert [train.num_questions, dev.num_questions, test.num_questions] == [2_118, 296, 633]
    assert [split.labels.sum() for split in (train, dev, test)] == [1_040, 140, 293]
    answered = {name: int((split.answers_per_question > 0).sum()) for name, split in corpus.splits.items()}
    assert answered == {"train": 873, "dev": 126, "test": 243}
    assert corpus.notes == {
        "train: questions without a right candidate": 2_118 - 873,
        "dev: questions without a right candidate": 296 - 126,
        "test: questions without a right candidate": 633 - 243,
    }
