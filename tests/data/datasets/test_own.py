"""Own files: what a line says is what the corpus holds, faults are named by line, and models learn from them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hydra.utils import instantiate

from qaexp.config import compose
from qaexp.data.corpus_builder import text_names
from qaexp.data.datasets.own import OwnReader
from qaexp.data.tokenise import words_v1
from qaexp.errors import BadDataError, MissingDataError
from qaexp.runs.store import run_overrides

Make = Callable[..., OwnReader]

FILES = {
    "train": [
        "question\tcandidate\tlabel",
        "Who wrote it?\tShe wrote it.\t1",
        "Where?\tHere.\t1",
        "Who wrote it?\tA book.\t0",
        "Where?\tA book.\t0",
    ],
    "dev": ["When?\tIn 1,066.\t1", "When?\tHere.\t0"],
    "test": ["Who sold it?\tHere.\t0", "Who sold it?\tShe sold it.\t1"],
}


def test_a_tilde_is_the_home_folder(tmp_path: Path, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    for split, lines in FILES.items():
        write(tmp_path / "data" / "own" / f"{split}.tsv", lines)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("QAEXP_DATA", "~/data")
    reader = instantiate(compose(["dataset=own"]).dataset.reader)
    assert reader.files() == [tmp_path / "data" / "own" / f"{split}.tsv" for split in ("train", "dev", "test")]


@pytest.fixture
def own(tmp_path: Path, write: Callable[..., Path]) -> Make:
    """A reader of small files, any of which can be given other lines; None leaves it out."""

    def reader(**files: Any) -> OwnReader:
        for split, lines in (FILES | files).items():
            if lines is not None:
                write(tmp_path / "own" / f"{split}.tsv", lines, packed=split == "dev")
        return OwnReader(folder=str(tmp_path / "own"), tokenise=words_v1)

    return reader


def named(words: str, line: int) -> str:
    return f"{text_names([words.split()])[0]}-{line}"


def test_lines_of_one_question_are_its_pool(own: Make, pools: Any, spelled: Any) -> None:
    corpus = own().read()
    assert pools(corpus, corpus.splits["train"]) == {
        "Q2": ("who wrote it", [(named("she wrote it", 2), "she wrote it", 1), (named("a book", 4), "a book", 0)]),
        "Q3": ("where", [(named("here", 3), "here", 1), (named("a book", 5), "a book", 0)]),
    }
    assert pools(corpus, corpus.splits["dev"]) == {"Q1": ("when", [(named("in 1,066", 1), "in 1,066", 1), (named("here", 2), "here", 0)])}
    assert pools(corpus, corpus.splits["test"]) == {
        "Q1": ("who sold it", [(named("here", 1), "here", 0), (named("she sold it", 2), "she sold it", 1)])
    }
    assert spelled(corpus, corpus.answer_set) == ["she wrote it", "here", "a book"]


def test_equal_scores_are_not_decided_by_where_right_candidates_stand(own: Make) -> None:
    lines = [f"Who is {q}?\tIt is {(q, a)}.\t{int(a == 4)}" for q in range(200) for a in range(5)]
    table = own(test=lines).read().splits["test"]
    ids = table.candidate_ids.reshape(200, 5)
    assert 20 < (ids.argmax(axis=1) == 4).sum() < 60  # of 200, 40 by chance


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        (["Who?\tShe.\tyes"], "line 1: the label is 'yes', 0 or 1 expected"),
        (["Who?\tShe.\t1", "Who? He. 0"], "line 2: 1 field, 3 expected"),
        (["Who?\tShe.\t1", "Who?\tHe.\t0", "Who?\tShe.\t0"], "line 3: the label of this pair is 0, and in line 1 it is 1"),
        (["Who?\tShe.\t1", "", "Who?\tHe.\t0"], "line 2: 1 field, 3 expected"),
        (["question\tcandidate\tlabel"], "there is no question"),
        (["", ""], "the file is empty"),
        ("Who?\tShe.\t1\nWho?\tHe.\t0\n".encode("utf-16"), "the file has zero bytes, so it is UTF-16; save it as UTF-8"),
        ([], "the file is empty"),
    ],
)
def test_faults_are_named_with_the_layout(own: Make, lines: list[str] | bytes, fault: str) -> None:
    with pytest.raises(BadDataError) as error:
        own(test=lines).read()
    assert str(error.value).splitlines()[1:] == [
        f"  {fault}",
        "A line is a question, a candidate, and 1 if it is a right one, else 0, separated by tabs. A first line of headings ends in label.",
    ]


def test_a_pair_that_is_repeated_counts_once_and_is_noted(own: Make, pools: Any) -> None:
    corpus = own(test=["Who?\tShe.\t1", "Who?\tHe.\t0", "Who?\tShe.\t1", "Where?\tShe.\t1"]).read()
    assert pools(corpus, corpus.splits["test"]) == {
        "Q1": ("who", [(named("she", 1), "she", 1), (named("he", 2), "he", 0)]),
        "Q4": ("where", [(named("she", 4), "she", 1)]),
    }
    assert corpus.notes == {"test: repeated candidates (dropped)": 1}


def test_blank_lines_at_the_end_of_a_file_are_passed_over(own: Make, pools: Any) -> None:
    corpus = own(test=["Who?\tShe.\t1", "Who?\tHe.\t0", "", "\t\t", " "]).read()
    assert pools(corpus, corpus.splits["test"]) == {"Q1": ("who", [(named("she", 1), "she", 1), (named("he", 2), "he", 0)])}


def test_missing_files_are_named_with_the_remedy(own: Make, tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"dataset\.reader\.folder=FOLDER") as error:
        own(train=None, test=None).files()
    assert f"  {tmp_path}/own/train.tsv\n  {tmp_path}/own/test.tsv\n" in str(error.value)


def test_a_model_learns_from_them(own: Make, tmp_path: Path) -> None:
    own()
    places = [f"dataset.reader.folder={tmp_path}/own", f"cache_dir={tmp_path}/cache", "logger=none"]
    small = ["model=qa_cnn", "model.encoder.num_filters=4", "dataset/vectors=random", "dataset.vectors.dim=6", "trainer.max_epochs=1"]
    outcome = run_overrides(["dataset=own", *small, *places], tmp_path / "runs")
    assert outcome.record, outcome.error
    assert outcome.record.data["splits"]["train"]["pairs"] == 4
    assert outcome.record.metrics["test"]["mrr"] in (0.5, 1.0)


def test_files_that_say_little_of_a_model_are_told(own: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def told() -> str:
        caplog.clear()
        places = [f"dataset.reader.folder={tmp_path}/own", f"cache_dir={tmp_path}/cache", f"data_dir={tmp_path}"]
        _ = instantiate(compose(["dataset=own", "dataset/vectors=random", *places]).dataset).splits
        return caplog.text

    own()
    assert told() == ""
    own(dev=FILES["train"])
    assert "dataset=own: 2 of the 2 questions of dev are asked in train too, word for word" in told()
    own(train=["Who?\tShe.\t1", "Who?\tHe.\t1"], dev=FILES["dev"], test=["When?\tNow.\t1", "Why?\tHe.\t0", "Where?\tHere.\t1"])
    assert told().count("labelled 1") == 1
    assert "dataset=own: all 2 candidates of test are labelled 1, so any order is perfect there" in caplog.text


UNSEEN = ["Who wrote it? ", "Who wrote\u00a0it?", "\ufeffWho wrote it?", "who  wrote it?", "Who wrote it\u200b?", '"Who wrote it?"']


@pytest.mark.parametrize("question", UNSEEN)
def test_a_difference_that_nobody_sees_splits_no_pool(own: Make, pools: Any, question: str) -> None:
    lines = ["Who wrote it?\tShe.\t1", f"{question}\tHe.\t0", "Who wrote it?\tThey.\t0", f"{question}\tShe .\t1"]
    corpus = own(test=lines).read()
    assert pools(corpus, corpus.splits["test"]) == {
        "Q1": ("who wrote it", [(named(word, n), word, int(word == "she")) for n, word in POOL])
    }
    assert corpus.notes["test: questions that differ in nothing that is seen (joined)"] == 1


POOL = [(1, "she"), (2, "he"), (3, "they"), (4, "she")]


@pytest.mark.parametrize("candidate", ["She. ", "\ufeffShe.", "she."])
def test_a_sentence_with_two_labels_is_a_fault_whatever_nobody_sees(own: Make, candidate: str) -> None:
    with pytest.raises(BadDataError, match="line 2: the label of this pair is 0, and in line 1 it is 1"):
        own(test=["Who?\tShe.\t1", f"Who?\t{candidate}\t0"]).read()


def test_questions_that_differ_and_have_the_same_words_are_told(own: Make, pools: Any, caplog: pytest.LogCaptureFixture) -> None:
    corpus = own(test=["What is C?\tA letter.\t1", "Why?\tSo.\t1", "What is C#?\tA letter.\t0", "What is C#?\tA language.\t1"]).read()
    assert len(pools(corpus, corpus.splits["test"])) == 3
    assert "test.tsv: 1 questions have the same words as an earlier one, as in lines 1 and 3; each keeps its own" in caplog.text
