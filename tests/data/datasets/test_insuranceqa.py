"""InsuranceQA: what a file says is what the corpus holds, and what is wrong with a file is said with its line and remedy."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qaexp.data.datasets.insuranceqa import InsuranceQAReader
from qaexp.errors import BadDataError, MissingDataError

Make = Callable[..., InsuranceQAReader]
FETCH = "`qaexp data fetch insuranceqa` fetches it"


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
def test_a_small_corpus_is_read_exactly(insuranceqa: Make, spelled: Any, pools: Any, packed: bool) -> None:
    corpus = insuranceqa(packed=packed).read()
    assert corpus.vocabulary.words == ["<pad>", "<unk>", "What", "is", "insurance", "it", "depends", "a", "contract"]
    assert spelled(corpus, range(len(corpus.texts))) == [
        "a contract",  # of answers 10 and 12
        "it depends",
        "it is a contract",
        "What is insurance",
        "is it",
        "What it",
        "What is contract",
    ]
    assert corpus.answer_set.tolist() == [0, 1, 2]
    assert list(corpus.splits) == ["train", "dev", "test"]
    assert pools(corpus, corpus.splits["train"]) == {
        "train-1": ("What is insurance", [("10", "a contract", 1), ("12", "a contract", 1)]),
        "train-2": ("is it", [("11", "it depends", 1)]),
    }
    assert pools(corpus, corpus.splits["dev"]) == {
        "dev-1": ("What it", [("13", "it is a contract", 0), ("11", "it depends", 1), ("10", "a contract", 0)])
    }
    assert pools(corpus, corpus.splits["test"]) == {
        "test-1": (
            "What is contract",
            [("12", "a contract", 0), ("11", "it depends", 0), ("13", "it is a contract", 1), ("10", "a contract", 1)],
        )
    }
    assert corpus.notes == {}


def test_plain_and_gzipped_files_have_one_fingerprint(insuranceqa: Make) -> None:
    plain, packed = insuranceqa("plain").read(), insuranceqa("packed", packed=True).read()
    assert plain.fingerprint == packed.fingerprint
    assert plain.fingerprint != insuranceqa("other", dev=["10\tidx_1 idx_4\t13 11 10"]).read().fingerprint


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(insuranceqa: Make) -> None:
    windows = insuranceqa("windows", train="\ufeffidx_1 idx_2 idx_3\t10 12\r\nidx_2 idx_4\t11\r\n".encode())
    assert windows.read().fingerprint == insuranceqa("plain").read().fingerprint


def test_irregularities_are_counted(insuranceqa: Make, pools: Any) -> None:
    corpus = insuranceqa(
        answers=["10\tidx_6 idx_7", "11\t", "12\tidx_6", "13\tidx_4"],
        train=["idx_1\t10 10", "\t12"],
        dev=["11\tidx_1 idx_4\t13 11 10 11 11", "\tidx_2\t13", "12\tidx_3\t10", "\tidx_3\t"],
    ).read()
    assert corpus.notes == {
        "empty texts (read as one unknown word)": 2,
        "train: repeated candidates (dropped)": 1,
        "dev: repeated candidates (dropped)": 2,
        "dev: right answers outside their pool (not ranked)": 1,
        "dev: questions without a right candidate": 3,
        "dev: questions without any candidate (left out)": 1,
    }
    assert pools(corpus, corpus.splits["train"])["train-2"] == ("<unk>", [("12", "a", 1)])
    dev = pools(corpus, corpus.splits["dev"])
    assert dev["dev-1"] == ("What it", [("13", "it", 0), ("11", "<unk>", 1), ("10", "a contract", 0)])
    assert dev["dev-4"] == ("insurance", [])


def test_missing_files_are_all_named_with_their_source(insuranceqa: Make, tmp_path: Path) -> None:
    with pytest.raises(MissingDataError) as error:
        insuranceqa(answers=None, dev=None).read()
    assert str(error.value).splitlines()[:3] == ["missing (plain or .gz):", f"  {tmp_path}/V1/answers", f"  {tmp_path}/V1/dev"]
    assert "insuranceqa is published in shuzi/insuranceQA @ " in str(error.value)
    assert FETCH in str(error.value)


FAULTY: dict[str, tuple[dict[str, Any], str, list[str]]] = {
    "too few fields": (
        {"answers": ["10\tidx_6", "11", "12\tidx_6", "13\tidx_4\tidx_5"]},
        "answers",
        ["line 2: 1 field, 2 expected", "line 4: 3 fields, 2 expected"],
    ),
    "too few fields in a pool": ({"dev": ["11\tidx_1 idx_4"]}, "dev", ["line 1: 2 fields, 3 expected"]),
    "labels without an answer": (
        {"dev": ["11\tidx_1\t13 11", "11 99\tidx_1\t98 97 96 95 94 11"]},
        "dev",
        ["line 2: no answer has the id 99, 98, 97, 96, 95 ..."],
    ),
    "a training label without an answer": ({"train": ["idx_1\t10", "idx_1\t77"]}, "train", ["line 2: no answer has the id 77"]),
    "a word outside the vocabulary": ({"train": ["idx_1 idx_99 idx_98\t10"]}, "train", ["line 1: the vocabulary has no idx_99"]),
    "an answer twice": ({"answers": ["10\tidx_6", "10\tidx_7"]}, "answers", ["line 2: answer id 10 is used twice"]),
    "a word id twice": ({"vocabulary": ["idx_1\ta", "idx_1\tb"]}, "vocabulary", ["line 2: idx_1 is used twice"]),
    "another encoding": (
        {"vocabulary": "idx_1\twhat\nidx_2\tcafé\nidx_3\tnaïve\n".encode("latin-1")},
        "vocabulary",
        ["line 2: byte 10 is not UTF-8 (invalid continuation byte)", "line 3: byte 9 is not UTF-8 (invalid continuation byte)"],
    ),
    "an empty file": ({"train": b""}, "train", ["the file is empty"]),
    "faults of several kinds": (
        {"dev": b"11\tidx_1\t11\n\xff\n11\tidx_99\t11\n11\n11\tidx_1\t12345\n"},
        "dev",
        [
            "line 2: byte 1 is not UTF-8 (invalid start byte)",
            "line 3: the vocabulary has no idx_99",
            "line 4: 1 field, 3 expected",
            "line 5: no answer has the id 12345",
        ],
    ),
}


@pytest.mark.parametrize("case", FAULTY)
def test_every_fault_of_a_file_is_named_with_its_line(insuranceqa: Make, tmp_path: Path, case: str) -> None:
    files, faulty, faults = FAULTY[case]
    with pytest.raises(BadDataError) as error:
        insuranceqa(**files).read()
    head, *listed, remedy = str(error.value).splitlines()
    assert head == f"{tmp_path}/V1/{faulty}: {len(faults)} fault{'s' if len(faults) > 1 else ''}"
    assert listed == [f"  {fault}" for fault in faults]
    assert remedy.startswith("The file is not as it was published. insuranceqa is published in")
    assert FETCH in remedy


def test_a_long_list_of_faults_is_cut_and_counted(insuranceqa: Make) -> None:
    with pytest.raises(BadDataError) as error:
        insuranceqa(train=["no tab"] * 50).read()
    assert "train: 50 faults" in str(error.value)
    assert str(error.value).splitlines()[-2] == "  ... and 30 more"


@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_a_damaged_gzip_file_says_so(insuranceqa: Make, tmp_path: Path, damage: str) -> None:
    reader = insuranceqa(packed=True, answers=[f"{i}\tidx_6 idx_{i % 7 + 1}" for i in range(10, 5000)])
    path = tmp_path / "V1" / "answers.gz"
    whole = path.read_bytes()
    middle = len(whole) // 2
    damaged = {"cut": whole[:middle], "flipped": whole[:middle] + bytes(100) + whole[middle + 100 :]}
    path.write_bytes(damaged[damage])
    with pytest.raises(BadDataError) as error:
        reader.read()
    head, first, *_, remedy = str(error.value).splitlines()
    assert head.startswith(f"{path}: ")
    assert re.match(r"  after line \d+: the compressed file is cut off or corrupt \(", first)
    assert FETCH in remedy


def test_the_subset_has_its_published_counts(data_dir: Path) -> None:
    folder = data_dir / "insuranceqa"
    if not (folder / "V1_subset").is_dir():
        pytest.skip(f"{folder / 'V1_subset'} is not at hand")
    reader = InsuranceQAReader(
        name="insuranceqa_subset",
        folder=str(folder / "V1_subset"),
        vocabulary=str(folder / "V1" / "vocabulary"),
        answers="answers.label.token_idx",
        train="question.train.token_idx.label",
        pools={"dev": "question.dev.label.token_idx.pool", "test": "question.test.label.token_idx.pool"},
    )
    corpus = reader.read()
    train, dev, test = corpus.splits.values()
    assert [train.num_questions, dev.num_questions, test.num_questions] == [3_756, 261, 836]
    assert [train.num_pairs, train.labels.sum(), test.labels.sum()] == [4_249, 4_249, 914]
    assert len(corpus.vocabulary) == 22_352 + 2
    assert len(corpus.answer_set) == len(np.unique(corpus.answer_set)) == 8_690  # no two texts are equal
    sizes = np.diff(dev.offsets)
    assert (sizes.min(), sizes.max()) == (19, 56)
    assert sizes.mean() == pytest.approx(37.9, abs=0.05)
    assert set(np.diff(test.offsets)) == {500}
    assert corpus.notes == {}
    assert np.mean(np.diff(corpus.texts.offsets)[corpus.answer_set]) == pytest.approx(94.8, abs=0.5)
    assert np.diff(corpus.texts.offsets).max() == 801
