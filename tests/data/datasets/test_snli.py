"""SNLI: published tokens, classes, pairs without a gold label, and what is wrong with a file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qaexp.data.datasets.snli import SNLIReader, leaves
from qaexp.data.tokenise import lower_tokens_v1
from qaexp.errors import BadDataError, MissingDataError

CLASSES = ["entailment", "neutral", "contradiction"]


def line(pair_id: str, label: str, first: str, second: str) -> str:
    parses = {"sentence1_binary_parse": f"( {first} )", "sentence2_binary_parse": f"( {second} )"}
    return json.dumps({"gold_label": label, "pairID": pair_id, **parses})


TRAIN = [line("1", "neutral", "Two dogs run .", "( They ) race"), line("2", "contradiction", "Two dogs run .", "They sleep")]
MORE = [
    line("2", "contradiction", "Two dogs run .", "They sleep"),
    line("3", "-", "A man", "A boy"),
    line("4", "entailment", "A man", "He"),
]


@pytest.fixture
def snli(tmp_path: Path, write: Callable[..., Path]) -> Callable[..., SNLIReader]:
    def reader(train: Any = TRAIN, more: Any = MORE, dev: Any = TRAIN[:1], packed: bool = False) -> SNLIReader:
        for name, content in (("train", train), ("more", more), ("dev", dev)):
            write(tmp_path / "snli" / f"{name}.jsonl", content, packed)
        splits = {"train": ["train.jsonl", "more.jsonl"], "dev": ["dev.jsonl"]}
        return SNLIReader(folder=str(tmp_path / "snli"), splits=splits, classes=CLASSES, tokenise=lower_tokens_v1)

    return reader


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
def test_pairs_are_questions_with_a_pool_of_one(snli: Callable[..., SNLIReader], pools: Any, packed: bool) -> None:
    corpus = snli(packed=packed).read()
    assert pools(corpus, corpus.splits["train"]) == {
        "1": ("two dogs run .", [("1", "they race", 1)]),
        "2": ("two dogs run .", [("2", "they sleep", 2)]),
        "4": ("a man", [("4", "he", 0)]),
    }
    assert corpus.splits["dev"].labels.tolist() == [1]
    assert corpus.notes == {"train: pairs without a gold label (left out)": 1, "train: repeated pairs (dropped)": 1}


def test_the_leaves_of_a_parse_are_the_published_tokens() -> None:
    assert leaves("( ( A man -LRB- left -RRB- ) ( ( is n't ) . ) )") == "A man ( left ) is n't ."


def test_all_faults_of_a_file_are_named(snli: Callable[..., SNLIReader]) -> None:
    bad = ["{", '["a list"]', json.dumps({"pairID": "1", "gold_label": "neutral"}), line("5", "unsure", "A", "B"), TRAIN[0]]
    with pytest.raises(BadDataError) as error:
        snli(train=bad).read()
    message = str(error.value)
    assert "line 1: it is not JSON" in message
    assert "line 2: no text in field gold_label, pairID, sentence1_binary_parse, sentence2_binary_parse" in message
    assert "line 3: no text in field sentence1_binary_parse, sentence2_binary_parse" in message
    assert "line 4: field gold_label is 'unsure', entailment, neutral, contradiction or - expected" in message
    assert "fetch snli" in message


def test_a_missing_file_is_named_with_where_to_get_it(snli: Callable[..., SNLIReader]) -> None:
    reader = snli()
    Path(reader.folder, "more.jsonl").unlink()
    with pytest.raises(MissingDataError, match=r"more\.jsonl[\s\S]*fetch snli"):
        reader.read()


def test_half_an_emoji_is_replaced_and_a_blank_line_at_the_end_says_nothing(snli: Callable[..., SNLIReader]) -> None:
    half = line("9\ud83d", "neutral", "hi \ud83d", "a\udcffb")
    assert "\\ud83d" in half
    corpus = snli(dev=[half, "", ""]).read()
    split = corpus.splits["dev"]
    assert [corpus.words(int(text)) for text in (*split.questions, *split.candidates)] == [["hi", "\ufffd"], ["a\ufffdb"]]
    assert split.question_ids.tolist() == ["9\ufffd".encode()]
    assert corpus.notes["words with half of a character (replaced)"] == 2
