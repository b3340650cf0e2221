"""Own files: what a line says is what the corpus holds, faults are named by line, and models learn from them."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hydra.utils import instantiate

from qaexp.config import compose
from qaexp.data.corpus_builder import text_names
from qaexp.data.datasets.own import LAYOUT, OwnReader
from qaexp.data.prepare import prepared
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
        (["Who?\tShe.\tyes"], "line 1: the label is 'yes', a whole number from 0 to 127 expected"),
        (["Who?\tShe.\t1", "Who? He. 0"], "line 2: 1 field, 3 expected"),
        (["Who?\tShe.\t1", "Who?\tHe.\t0", "Who?\tShe.\t0"], "line 3: the label of this pair is 0, and in line 1 it is 1"),
        (["Who?\tShe.\t1", "", "Who?\tHe.\t0"], "line 2: it is blank"),
        (["question\tcandidate\tlabel"], "there is no question"),
        (["Who?\tShe.\t0.5"], "line 1: the label is '0.5', a whole number from 0 to 127 expected"),
        (["Who?\tShe.\t-1"], "line 1: the label is '-1', a whole number from 0 to 127 expected"),
        (["Who?\tShe.\t0"], "test has no right candidate, one with a label above 0, so there is nothing to learn or measure"),
        (["asked\tanswer\tby\tlabel"], "line 1: there is no column of the question; there are: asked, answer, by, label"),
        (
            ["qid\tquestion\tanswer\tlabel", "1\tWho?\tShe.\t1", "1\tWhy?\tSo.\t1"],
            "line 3: id 1 already belongs to the question of line 2",
        ),
        (
            ["question\tanswer\tanswer_id\tlabel", "Who?\tShe.\ta\t1", "Who?\tHe.\ta\t1"],
            "line 3: candidate a has another text than in line 2",
        ),
        (["", ""], "the file is empty"),
        ("Who?\tShe.\t1\nWho?\tHe.\t0\n".encode("utf-16"), "the file has zero bytes, so it is UTF-16; save it as UTF-8"),
        ([], "the file is empty"),
    ],
)
def test_faults_are_named_with_the_layout(own: Make, lines: list[str] | bytes, fault: str) -> None:
    with pytest.raises(BadDataError) as error:
        own(test=lines).read()
    assert str(error.value).splitlines()[1:] == [f"  {fault}", LAYOUT]


def test_a_file_of_another_format_is_not_called_missing(tmp_path: Path) -> None:
    (tmp_path / "faq.json").write_text("[]")
    with pytest.raises(BadDataError, match=r"its name does not end in one of \.tsv, \.csv, \.jsonl, \.parquet"):
        OwnReader(folder=str(tmp_path / "faq.json"), tokenise=words_v1).files()


def test_a_label_of_hundreds_of_digits_is_a_fault(own: Make, tmp_path: Path) -> None:
    path = tmp_path / "faq.jsonl"
    path.write_text('{"question": "Who?", "candidate": "She.", "label": 1' + "0" * 400 + "}\n")
    with pytest.raises(BadDataError, match="line 1: the label is 1000"):
        OwnReader(str(path), words_v1).read()


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
        own(train=None, dev=None, test=None).files()
    assert f"  {tmp_path}/own/train.tsv\n  {tmp_path}/own/dev.tsv\n  {tmp_path}/own/test.tsv\n" in str(error.value)
    with pytest.raises(MissingDataError, match=r"mine\.csv"):
        replace(own(), folder=str(tmp_path / "mine.csv")).files()


def test_two_files_of_a_split_are_refused(own: Make, tmp_path: Path, write: Callable[..., Path]) -> None:
    reader = own()
    write(tmp_path / "own" / "validation.jsonl", [], packed=True)
    with pytest.raises(BadDataError, match=r"2 files of dev: dev\.tsv\.gz, validation\.jsonl\.gz"):
        reader.files()


GRADED = [("Who wrote it?", "She wrote it.", 2), ("Who wrote it?", "A book.", 0), ("Where?", "Here.", 1), ("Where?", 'A, "book".', 0)]
AS_READ = {
    "Q1": ("who wrote it", [("she wrote it", 1), ("a book", 0)]),
    "Q2": ("where", [("here", 1), ("a book", 0)]),
}


def written(form: str, path: Path) -> None:
    """`GRADED` in a format of files."""
    names = ("Query", "Sentence", "relevance")
    if form == "tsv":
        path.write_text("\n".join("\t".join(map(str, row)) for row in [("nr", *names), *((7, *row) for row in GRADED)]))
    elif form == "csv":
        pd.DataFrame(GRADED, columns=names).to_csv(path, index=False)
    elif form == "csv;":
        pd.DataFrame(GRADED, columns=names).to_csv(path, index=False, sep=";")
    elif form == "parquet":
        pd.DataFrame(GRADED, columns=names).to_parquet(path)
    elif form == "jsonl":
        pd.DataFrame(GRADED, columns=names).to_json(path, orient="records", lines=True)
    else:
        pools: dict[str, list[Any]] = {}
        for question, candidate, label in GRADED:
            pools.setdefault(question, []).append({"text": candidate, "label": label})
        lines: list[Any] = [{"question": question, "candidates": pool} for question, pool in pools.items()]
        if form == "jsonl of lists":
            lines = [
                {"question": line["question"], **{f"{name}s": [each[key] for each in line["candidates"]] for name, key in SIDES}}
                for line in lines
            ]
        path.write_text("\n".join(map(json.dumps, lines)))


SIDES = (("answer", "text"), ("label", "label"))


@pytest.mark.parametrize("form", ["tsv", "csv", "csv;", "parquet", "jsonl", "jsonl of pools", "jsonl of lists"])
def test_every_format_gives_the_same_pools_and_grades(form: str, tmp_path: Path, pools: Any) -> None:
    if form == "parquet":
        pytest.importorskip("fastparquet")
    path = tmp_path / f"test.{form.partition(' ')[0].rstrip(';')}"
    written(form, path)
    corpus = OwnReader(folder=str(tmp_path), tokenise=words_v1).read()
    test = corpus.splits["test"]
    assert list(corpus.splits) == ["test"]
    as_read = [(question, [(text, label) for _, text, label in pool]) for question, pool in pools(corpus, test).values()]
    assert as_read == list(AS_READ.values())
    assert test.relevance.tolist() == [2, 0, 1, 0]
    assert corpus.written(int(test.candidates[0])) == "She wrote it."
    assert all(len(set(each.candidate_ids.tolist())) == 4 for each in (test, test.shuffled(1)))


def test_pools_in_parquet_may_have_numbers_of_numpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"question": "Who?", "candidates": ["She.", "He."], "labels": np.array([np.int64(2), np.int64(0)], dtype=object)}
    monkeypatch.setattr(pd, "read_parquet", lambda _: pd.DataFrame([row]))
    (tmp_path / "test.parquet").touch()
    assert OwnReader(folder=str(tmp_path), tokenise=words_v1).read().splits["test"].relevance.tolist() == [2, 0]


def test_ids_of_the_file_are_kept_and_tell_questions_apart(tmp_path: Path, pools: Any) -> None:
    lines = ["qid,question,answer,answer_id,label", "7,Who?,She.,a,1", "8,Who?,He.,a,1", "7,Who?,He.,b,0"]
    (tmp_path / "dev.csv").write_text("\n".join(lines))
    corpus = OwnReader(folder=str(tmp_path), tokenise=words_v1).read()
    assert pools(corpus, corpus.splits["dev"]) == {"7": ("who", [("a", "she", 1), ("b", "he", 0)]), "8": ("who", [("a", "he", 1)])}


def test_one_file_has_its_splits_in_a_column_and_without_it_is_a_test_split(tmp_path: Path, pools: Any) -> None:
    rows = [("test2", "Who?", "She.", 1), ("validation", "Who?", "He.", 1), ("train", "Why?", "So.", 1), ("train", "Why?", "No.", 0)]
    table = pd.DataFrame(rows, columns=["split", "question", "antwort", "label"])
    table.to_csv(tmp_path / "mine.csv", index=False)
    table.drop(columns="split").to_csv(tmp_path / "bare.csv", index=False)
    whole, bare = (
        OwnReader(folder=str(tmp_path / name), tokenise=words_v1, columns={"candidate": "antwort", "label": None}).read()
        for name in ("mine.csv", "bare.csv")
    )
    assert {name: split.num_pairs for name, split in whole.splits.items()} == {"train": 2, "dev": 1, "test2": 1}
    assert len(whole.answer_set) == 2
    assert {name: split.num_pairs for name, split in bare.splits.items()} == {"test": 4}
    with pytest.raises(BadDataError, match=r"no column 'text', which is named for the candidate; there are: split, question, ant"):
        OwnReader(folder=str(tmp_path / "mine.csv"), tokenise=words_v1, columns={"candidate": "text"}).read()
    (tmp_path / "mine.csv").write_text("split,question,answer,label\n,Who?,She.,1\n")
    with pytest.raises(BadDataError, match="line 2: the split is '': train, dev or test is expected"):
        OwnReader(folder=str(tmp_path / "mine.csv"), tokenise=words_v1).read()


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ("[1]", "line 1: it is a list: an object is expected"),
        ('{"question": "Who?", "candidate": "She."}', "line 1: there is no column of the label; there are: question, candidate"),
        ('{"question": null, "candidate": "She.", "label": 1}', "line 1: the question is missing, a text expected"),
        ('{"question": "Who?", "candidates": ["a", 2], "label": [1, 0]}', "line 1: the candidate is of type int, a text expected"),
        ('{"question": "Who?", "candidates": ["a", "b"], "label": [1]}', "line 1: there are 2 candidates, and 1 in the list of label"),
        ('{"question": "Who?"', "line 1: it is not JSON: Expecting ',' delimiter at column 20"),
    ],
)
def test_faults_of_json_lines_are_named(lines: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "test.jsonl").write_text(lines)
    with pytest.raises(BadDataError) as error:
        OwnReader(folder=str(tmp_path), tokenise=words_v1).read()
    assert fault in str(error.value).splitlines()[1]


def test_a_quoted_field_of_csv_may_hold_a_line_break_and_faults_name_its_first_line(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text('question,answer,label\n"Who\nis it?","She, ""it""",1\nWhy?,So.,x\n')
    with pytest.raises(BadDataError, match="line 4: the label is 'x'"):
        OwnReader(folder=str(tmp_path), tokenise=words_v1).read()
    (tmp_path / "test.csv").write_text('question,answer,label\n"Who\nis it?","She, ""it""",1\n')
    corpus = OwnReader(folder=str(tmp_path), tokenise=words_v1).read()
    assert [corpus.written(text) for text in range(2)] == ['She, "it"', "Who\nis it?"]
    (tmp_path / "test.csv").write_text('question,answer,label\nWho?,"She,1\n')
    with pytest.raises(BadDataError, match="line 2: it is not CSV"):
        OwnReader(folder=str(tmp_path), tokenise=words_v1).read()


def test_a_folder_of_the_library_datasets_is_read(tmp_path: Path, pools: Any) -> None:
    datasets = pytest.importorskip("datasets", reason="the library datasets is not installed")
    table = datasets.Dataset.from_list([{"question": q, "answer": a, "label": label} for q, a, label in GRADED])
    datasets.DatasetDict({"train": table, "validation": table}).save_to_disk(str(tmp_path / "saved"))
    reader = OwnReader(folder=str(tmp_path / "saved"), tokenise=words_v1)
    corpus = reader.read()
    assert list(corpus.splits) == ["train", "dev"]
    assert corpus.splits["dev"].relevance.tolist() == [2, 0, 1, 0]
    assert all(path.is_file() for path in reader.files())


def test_each_split_of_a_saved_data_set_keeps_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two test splits were read as one."""
    (tmp_path / "dataset_dict.json").write_text("{}")
    table = [{"question": q, "answer": a, "label": label} for q, a, label in GRADED]
    named = {"train": table, "validation": table, "test_seen": table, "test_unseen": table}
    for tables, splits in ((named, ["train", "dev", "test_seen", "test_unseen"]), ({"": table}, ["test"])):
        monkeypatch.setattr("qaexp.data.datasets.own.tables_of_datasets", lambda _, tables=tables: tables)
        assert list(OwnReader(folder=str(tmp_path), tokenise=words_v1).read().splits) == splits


@pytest.mark.parametrize("first", ["qid", "split", "Frage"])
def test_a_heading_in_the_place_of_another_column_shows_that_one_is_missing(first: str, tmp_path: Path) -> None:
    """The first column was read as the question, and the question as its candidate."""
    (tmp_path / "test.csv").write_text(f"{first},question,label\nQ1,Who?,1\nQ1,Why?,0\n")
    with pytest.raises(BadDataError, match=f"there is no column of the candidate; there are: {first}, question, label"):
        OwnReader(folder=str(tmp_path), tokenise=words_v1).read()


def test_columns_with_numbers_for_names_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text("0,1,2\nWho?,She.,1\nWho?,He.,0\n")
    columns: dict[str, Any] = {"question": 0, "candidate": 1, "label": 2}  # as Hydra reads them
    assert OwnReader(folder=str(tmp_path), tokenise=words_v1, columns=columns).read().splits["test"].num_pairs == 2


def test_without_that_library_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["test"]}')
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingDataError, match=r"pip install 'qaexp\[datasets\]'"):
        OwnReader(folder=str(tmp_path), tokenise=words_v1).read()


def test_a_test_split_alone_is_ranked_and_nothing_is_trained_on_it(tmp_path: Path) -> None:
    written("csv", tmp_path / "questions.csv")
    data = ["dataset=own", f"dataset.reader.folder={tmp_path}/questions.csv", "dataset/vectors=random", "logger=none"]
    data += [f"cache_dir={tmp_path}/cache"]
    outcome = run_overrides([*data, "model=bm25"], tmp_path / "runs")
    assert outcome.record, outcome.error
    assert list(outcome.record.metrics) == ["test"]
    assert outcome.record.metrics["test"]["map"] == 1.0
    qrels = (outcome.folder / "test.qrels").read_text().split()
    assert sorted(qrels[3::4]) == ["0", "0", "1", "2"]
    outcome = run_overrides([*data, "model=qa_cnn"], tmp_path / "runs")
    assert outcome.error is not None
    assert "dataset=own has test, and nothing to train on" in str(outcome.error)


def test_the_cache_has_grades_and_tells_equal_files_of_other_splits_apart(tmp_path: Path, cache_dir: Path) -> None:
    for name in ("test", "dev"):
        written("csv", tmp_path / f"{name}.csv")
        for _ in range(2):
            corpus = prepared(OwnReader(folder=str(tmp_path / f"{name}.csv"), tokenise=words_v1), cache_dir)
            assert corpus.splits[name].grades.tolist() == [2, 0, 1, 0]
    (tmp_path / "test.csv").unlink()
    assert list(prepared(OwnReader(folder=str(tmp_path), tokenise=words_v1), cache_dir).splits) == ["dev"]


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
    assert corpus.notes["test: questions that look the same (joined)"] == 1


POOL = [(1, "she"), (2, "he"), (3, "they"), (4, "she")]


@pytest.mark.parametrize("candidate", ["She. ", "\ufeffShe.", "she."])
def test_a_sentence_with_two_labels_is_a_fault_whatever_nobody_sees(own: Make, candidate: str) -> None:
    with pytest.raises(BadDataError, match="line 2: the label of this pair is 0, and in line 1 it is 1"):
        own(test=["Who?\tShe.\t1", f"Who?\t{candidate}\t0"]).read()


def test_questions_that_differ_and_have_the_same_words_are_told(own: Make, pools: Any, caplog: pytest.LogCaptureFixture) -> None:
    corpus = own(test=["What is C?\tA letter.\t1", "Why?\tSo.\t1", "What is C#?\tA letter.\t0", "What is C#?\tA language.\t1"]).read()
    assert len(pools(corpus, corpus.splits["test"])) == 3
    assert "test.tsv: 1 questions have the same words as an earlier one, as in lines 1 and 3; each keeps its own" in caplog.text
