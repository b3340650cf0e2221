"""QatarLiving: what XML and jsonl say is what the corpus holds, and what is wrong with a file is said with its line and remedy."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hydra.utils import instantiate

from qaexp.config import compose
from qaexp.data.datasets.qatarliving import QatarLivingReader
from qaexp.data.module import RankingDataModule
from qaexp.data.tokenise import lemmas_v1, words_v1
from qaexp.errors import BadDataError, MissingDataError

Make = Callable[..., QatarLivingReader]


def question(name: str, subject: str = "Best Bank.", body: str = "Which &amp; why?") -> list[str]:
    return [f'<RelQuestion RELQ_ID="{name}">', f"<RelQSubject>{subject}</RelQSubject><RelQBody>{body}</RelQBody>", "</RelQuestion>"]


def comment(name: str, label: str, text: str) -> str:
    return f'<RelComment RELC_ID="{name}" RELC_RELEVANCE2RELQ="{label}"><RelCText>{text}</RelCText></RelComment>'


def thread(*parts: str) -> list[str]:
    return ["<Thread>", *parts, "</Thread>"]


def xml(*threads: list[str]) -> list[str]:
    return ['<?xml version="1.0" encoding="utf-8"?>', "<xml>", *(line for lines in threads for line in lines), "</xml>"]


TWO = [comment("Q3_C1", "Bad", "None of them"), comment("Q3_C2", "Good", "Café bank")]
JSONL = {
    "id": "Q2",
    "subject": "massage oil",
    "body": "",
    "comments": [{"text": "", "label": "Bad"}, {"text": "body shop", "label": "Good"}],
}
FILES: dict[str, list[str]] = {
    "a.xml": xml(
        thread(*question("Q1"), comment("Q1_C1", "PotentiallyUseful", "Ask\nthem"), comment("Q1_C2", "Good", "Mine")),
        thread(*question("Q9", body="")),
    ),
    "b.jsonl": [json.dumps(JSONL)],
    "dev.xml": xml(thread(*question("Q3"), *TWO)),
    "test.xml": xml(thread(*question("Q4"), comment("Q4_C1", "Bad", "Mine"), comment("Q4_C2", "Bad", "!!!"))),
}


@pytest.fixture
def qatarliving(tmp_path: Path, write: Callable[..., Path]) -> Make:
    def reader(packed: bool = False, **files: Any) -> QatarLivingReader:
        for name, lines in (FILES | {name.replace("_", "."): lines for name, lines in files.items()}).items():
            if lines is not None:
                write(tmp_path / "qatarliving" / name, lines, packed)
        splits = {"train": ["a.xml", "b.jsonl"], "dev": ["dev.xml"], "test": ["test.xml"]}
        return QatarLivingReader(folder=str(tmp_path / "qatarliving"), splits=splits, num_comments=2, tokenise=words_v1)

    return reader


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
def test_a_small_corpus_is_read_exactly_and_in_order(qatarliving: Make, spelled: Any, pools: Any, packed: bool) -> None:
    corpus = qatarliving(packed=packed).read()
    assert pools(corpus, corpus.splits["train"]) == {
        "Q1": ("best bank which why", [("Q1_C1", "ask them", 0), ("Q1_C2", "mine", 1)]),
        "Q9": ("best bank", []),
        "Q2": ("massage oil", [("Q2_C1", "<unk>", 0), ("Q2_C2", "body shop", 1)]),
    }
    assert pools(corpus, corpus.splits["dev"]) == {"Q3": ("best bank which why", [("Q3_C1", "none of them", 0), ("Q3_C2", "café bank", 1)])}
    assert pools(corpus, corpus.splits["test"]) == {"Q4": ("best bank which why", [("Q4_C1", "mine", 0), ("Q4_C2", "<unk>", 0)])}
    assert spelled(corpus, corpus.answer_set) == ["ask them", "mine", "<unk>", "body shop"]
    assert corpus.notes == {
        "train: questions without a right candidate": 1,
        "train: questions without any candidate (left out)": 1,
        "test: questions without a right candidate": 1,
        "empty texts (read as one unknown word)": 2,
    }


NOT_WELL_FORMED = "the XML is not well-formed"
FAULTY: dict[str, tuple[str, Any, list[str]]] = {
    "other labels, lacking ones and too few comments, all at once": (
        "dev.xml",
        xml(
            thread(*question("Q3"), comment("Q3_C1", "Dialogue", "x"), '<RelComment RELC_ID="Q3_C2"/>'),
            thread(*question("Q5"), comment("Q5_C1", "Good", "x")),
        ),
        [
            "line 7: comment Q3_C1 is labelled 'Dialogue', Good, PotentiallyUseful, Bad expected",
            "line 8: comment Q3_C2 is labelled None, Good, PotentiallyUseful, Bad expected",
            "line 10: thread Q5 has 1 comment, 2 expected",
        ],
    ),
    "no question": ("dev.xml", xml(thread(*TWO)), ["line 3: the thread has 0 questions, 1 expected"]),
    "no ids": (
        "dev.xml",
        xml(thread(*question(""), TWO[0], TWO[1].replace("RELC_ID", "ID"))),
        ["line 3: the question has no id", "line 8: a comment of thread of line 3 has no id"],
    ),
    "a comment twice": ("dev.xml", xml(thread(*question("Q3"), TWO[0], TWO[0])), ["line 8: comment id Q3_C1 is used twice"]),
    "a thread twice": (
        "dev.xml",
        xml(thread(*question("Q3"), *TWO), thread(*question("Q3"), *TWO)),
        ["line 10: thread Q3 is already in dev.xml"],
    ),
    "a thread of another file of the split": (
        "b.jsonl",
        [json.dumps(JSONL | {"id": "Q1"})],
        ["line 1: thread Q1 is already in a.xml"],
    ),
    "cut off within a thread": (
        "dev.xml",
        xml(thread(*question("Q3"), TWO[0]), thread(*question("Q5"), *TWO))[:-3],
        ["line 3: thread Q3 has 1 comment, 2 expected", f"line 14: {NOT_WELL_FORMED}: no element found"],
    ),
    "a bare ampersand": (
        "dev.xml",
        xml(thread(*question("Q3", body="this & that"), *TWO)),
        [f"line 5: {NOT_WELL_FORMED}: not well-formed"],
    ),
    "another encoding": ("dev.xml", "\n".join(FILES["dev.xml"]).encode("latin-1"), [f"line 8: {NOT_WELL_FORMED}: not well-formed"]),
    "no thread": ("dev.xml", xml(), ["there is no thread in it"]),
    "an empty XML": ("dev.xml", b"", [f"line 1: {NOT_WELL_FORMED}: no element found"]),
    "an empty jsonl": ("b.jsonl", b"", ["the file is empty"]),
    "faulty jsonl": (
        "b.jsonl",
        [
            json.dumps(JSONL),
            '{"id": "Q5"',
            '{"id": "Q5"}',
            "[1]",
            json.dumps(JSONL | {"id": 5}),
            json.dumps(JSONL | {"id": "Q6", "comments": [{"text": "x", "label": "good"}]}),
        ],
        [
            "line 2: it is not JSON: Expecting ',' delimiter at column 12",
            "line 3: field comments is missing",
            "line 4: it is not an object with a list of comments, objects each",
            "line 5: id, subject, body, text and label must be strings",
            "line 6: comment Q6_C1 is labelled 'good', Good, PotentiallyUseful, Bad expected",
        ],
    ),
}


@pytest.mark.parametrize("case", FAULTY)
def test_every_fault_of_a_file_is_named_with_its_line(qatarliving: Make, tmp_path: Path, case: str) -> None:
    name, lines, faults = FAULTY[case]
    with pytest.raises(BadDataError) as error:
        qatarliving(**{name.replace(".", "_"): lines}).read()
    head, *listed, remedy = str(error.value).splitlines()
    assert head == f"{tmp_path}/qatarliving/{name}: {len(faults)} fault{'s' if len(faults) > 1 else ''}"
    assert len(listed) == len(faults)
    for line, fault in zip(listed, faults, strict=True):
        assert line.startswith(f"  {fault}")
    assert remedy.startswith("The file is not as it was published. qatarliving is published in")


def test_a_cut_off_gzip_is_a_fault_of_the_file(qatarliving: Make, tmp_path: Path) -> None:
    reader = qatarliving(dev_xml=None)
    packed = gzip.compress("\n".join(FILES["dev.xml"]).encode())
    (tmp_path / "qatarliving/dev.xml.gz").write_bytes(packed[:-20])
    with pytest.raises(BadDataError, match="the compressed file is cut off or corrupt"):
        reader.read()


def test_missing_files_are_all_named(qatarliving: Make, tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"fetch qatarliving` fetches it. A `.jsonl` is derived, not published") as error:
        qatarliving(a_xml=None, b_jsonl=None).files()
    assert f"  {tmp_path}/qatarliving/a.xml\n  {tmp_path}/qatarliving/b.jsonl\n" in str(error.value)


@pytest.fixture(scope="module")
def published(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], RankingDataModule]:
    """A configured data module that reads the published files."""
    cache = tmp_path_factory.mktemp("cache")
    if not (data_dir / "qatarliving").is_dir():
        pytest.skip(f"{data_dir / 'qatarliving'} is not at hand")

    def build(name: str) -> RankingDataModule:
        cfg = compose([f"dataset={name}", "dataset/vectors=random"])
        cfg.data_dir, cfg.cache_dir = str(data_dir), str(cache)
        return instantiate(cfg.dataset)

    return build


def test_published_counts(published: Callable[[str], RankingDataModule]) -> None:
    data = published("qatarliving_partial")
    train, dev, test = data.corpus.splits.values()
    assert [split.num_questions for split in (train, dev, test)] == [3_785, 244, 327]
    assert [split.num_pairs for split in (train, dev, test)] == [25_248, 2_440, 3_270]
    assert [split.labels.sum() for split in (train, dev, test)] == [1_277 + 1_364 + 7_418 + 813 + 946, 818, 1_329]
    assert [int((split.answers_per_question == 0).sum()) for split in (train, dev, test)] == [10 + 35 + 343 + 51 + 40, 33, 12]
    assert (np.diff(dev.offsets) == 10).all()
    assert (np.diff(test.offsets) == 10).all()
    starts = {name.decode(): q for q, name in enumerate(train.question_ids)}
    parts = np.diff(
        [0, starts["Q201_R26"], starts["Q1"], starts["Q2481"], starts["Q2772"], 3_785]
    )  # the files after the first begin with these
    assert parts.tolist() == [316, 379, 2_480, 291, 319]
    assert np.diff(train.offsets[[0, *np.cumsum(parts)]]).tolist() == [3_160, 3_790, 14_893, 1_529, 1_876]
    assert data.corpus.notes["train: questions without any candidate (left out)"] == 1
    assert data.partial_data


def test_the_lemmatised_threads_and_the_raw_ones_are_lemmatised_alike(published: Callable[[str], RankingDataModule]) -> None:
    """`lemmas_v1` changes next to nothing of what is published lemmatised, so a word is one word in train and in test."""
    corpus = published("qatarliving_partial").corpus
    train, test = corpus.splits["train"], corpus.splits["test"]
    lemmatised = next(q for q, name in enumerate(train.question_ids) if name == b"Q1")
    words = [word for q in train.questions[lemmatised : lemmatised + 200] for word in corpus.words(int(q))]
    assert np.mean([lemma == word for word in words for lemma in lemmas_v1(word)[:1]]) > 0.97
    assert not {"visas", "applied", "houses"} & {word for text in test.candidates for word in corpus.words(int(text))}


def test_the_raw_threads_alone_are_a_data_set(published: Callable[[str], RankingDataModule]) -> None:
    data = published("qatarliving_raw")
    assert data.corpus.splits["train"].num_questions == 316 + 379 + 291 + 319
    assert data.tokenise("Applied for visas") == ["applied", "for", "visas"]


def test_threads_keep_their_order_and_all_of_dev_and_test_is_ranked(published: Callable[[str], RankingDataModule]) -> None:
    data = published("qatarliving_partial")
    for split in ("dev", "test"):
        used = data.splits[split]
        assert used.num_questions == data.corpus.splits[split].num_questions
        assert [int(name.rpartition(b"_C")[2]) for name in used.candidate_ids] == list(range(1, 11)) * used.num_questions


def test_the_order_of_the_threads_scores_as_the_tasks_own_baseline(published: Callable[[str], RankingDataModule]) -> None:
    """The official scorer's line IR on the test set: MAP 0.5953, MRR 67.83, REC-1@01 53.21, "Baseline 1 (chronological)"."""
    data = published("qatarliving_partial")
    measured = data.metrics("test", torch.zeros(3_270)).compute()
    assert [round(100 * float(measured[name]), 2) for name in ("map", "mrr", "p@1")] == [59.53, 67.83, 53.21]


def test_the_whole_set_names_the_part_that_is_not_here(published: Callable[[str], RankingDataModule], data_dir: Path) -> None:
    lacking = data_dir / "qatarliving/SemEval2016-Task3-CQA-QL-train-part1-subtaskA.xml"
    if lacking.exists() or Path(f"{lacking}.gz").exists():
        train = published("qatarliving").corpus.splits["train"]
        assert (train.num_questions, train.num_pairs) == (4_880, 36_198)
        return
    with pytest.raises(MissingDataError) as error:
        _ = published("qatarliving").corpus
    assert [line.strip() for line in str(error.value).splitlines() if line.startswith("  ")] == [str(lacking)]
