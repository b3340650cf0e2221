"""TREC QA: every layout gives the same corpus, the published counts come out, and what is wrong with a file is said with its line."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hydra.utils import instantiate

from qaexp.config import compose
from qaexp.data.corpus_builder import text_names
from qaexp.data.datasets.trecqa import TrecQAJsonlReader, TrecQAReader, TrecQAToksReader, TrecQAXMLReader
from qaexp.data.tokenise import lower_tokens_v1, published_words_v1
from qaexp.errors import BadDataError, ConfigError, MissingDataError

Written = dict[str, list[str]]
SMALL = {
    "train": [("1", "Who wrote it ?", [("AT&T wrote <it> .", 1), ("It burned .", 0)])],
    "dev": [
        ("2", "When ?", [("In 1066 .", 1), ("In a year that nobody remembers .", 0), ("No .", 0)]),
        ("3", "Why ?", [("In a year that nobody remembers .", 1), ("No .", 0)]),
    ],
    "test": [("4", "Where ?", [("Here .", 1), ("No .", 0), ("No .", 0)]), ("5", "How ?", [("So .", 1)]), ("6", "What ?", [])],
}
"""Split to its questions, as (id, question, [(candidate, label)])."""

ANNOTATED = "NNP\tVBD\nSUB\tROOT\n2\t0\n-\tPERSON-B\n"


def block(tag: str, text: str) -> str:
    extra = "wrote\t\n2\t\n" if tag == "positive" else ""
    tokens = "\t".join(text.split())
    return f"<{tag}>\n{tokens}\n{ANNOTATED}{extra}</{tag}>\n"


def as_xml(questions: list[Any]) -> Written:
    text = ""
    for question_id, question, pool in questions:
        blocks = block("question", question) + "".join(block("positive" if label else "negative", candidate) for candidate, label in pool)
        text += f"<QApairs id='{question_id}'>\n{blocks}</QApairs>\n"
    return {".xml": text.splitlines()}


def as_jsonl(questions: list[Any]) -> Written:
    def line(question: str, pool: list[Any]) -> str:
        return json.dumps({"candidates": [{"label": label, "sentence": text} for text, label in pool], "question": question})

    return {".jsonl": [line(question, pool) for _, question, pool in questions]}


def as_toks(questions: list[Any]) -> Written:
    rows = [(question.lower(), text.lower(), name, str(label)) for name, question, pool in questions for text, label in pool]
    return {f"/{part}": list(column) for part, column in zip(TrecQAToksReader.parts, zip(*rows, strict=True), strict=True)}


LAYOUTS: dict[str, tuple[type[TrecQAReader], Callable[[list[Any]], Written], str]] = {
    "xml": (TrecQAXMLReader, as_xml, ".xml"),
    "jsonl": (TrecQAJsonlReader, as_jsonl, ".jsonl"),
    "toks": (TrecQAToksReader, as_toks, ""),
}


@pytest.fixture
def small(tmp_path: Path, write: Callable[..., Path]) -> Callable[..., TrecQAReader]:
    """A reader of the small corpus in a layout, any of whose files, named as `dev.xml`, can be given other content; None leaves it out."""

    def reader(
        layout: str,
        files: dict[str, Any] | None = None,
        longest: dict[str, int] | None = None,
        clean: tuple[str, ...] = (),
        packed: bool = False,
    ) -> TrecQAReader:
        make, written, ending = LAYOUTS[layout]
        contents = {f"{split}{name}": lines for split, questions in SMALL.items() for name, lines in written(questions).items()}
        for name, lines in (contents | (files or {})).items():
            if lines is not None:
                write(tmp_path / "trecqa" / name, lines, packed)
        splits = {split: f"{split}{ending}" for split in SMALL}
        folder = str(tmp_path / "trecqa")
        return make(folder=folder, splits=splits, longest=longest or {}, clean=clean, tokenise=lower_tokens_v1)

    return reader


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_small_corpus_is_read_exactly(small: Any, told: Any, spelled: Any, layout: str, packed: bool) -> None:
    corpus = small(layout, packed=packed).read()
    assert told(corpus, "train") == [("who wrote it ?", [("at&t wrote <it> .", 1), ("it burned .", 0)])]
    assert told(corpus, "dev") == [
        ("when ?", [("in 1066 .", 1), ("in a year that nobody remembers .", 0), ("no .", 0)]),
        ("why ?", [("in a year that nobody remembers .", 1), ("no .", 0)]),
    ]
    without_candidate = [] if layout == "toks" else [("what ?", [])]
    assert told(corpus, "test") == [("where ?", [("here .", 1), ("no .", 0), ("no .", 0)]), ("how ?", [("so .", 1)]), *without_candidate]
    assert spelled(corpus, corpus.answer_set) == ["at&t wrote <it> .", "it burned ."]
    ids = [name.decode() for split in corpus.splits.values() for name in split.question_ids]
    named = ["train-1", "dev-1", "dev-2", "test-1", "test-2", "test-3"] if layout == "jsonl" else ["1", "2", "3", "4", "5", "6"]
    assert ids == (named[:-1] if layout == "toks" else named)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_long_candidates_are_left_out_before_a_split_is_cleaned(small: Any, told: Any, layout: str) -> None:
    corpus = small(layout, longest={"dev": 5}, clean=("dev", "test")).read()
    assert told(corpus, "dev") == [("when ?", [("in 1066 .", 1), ("no .", 0)])]
    assert told(corpus, "test") == [("where ?", [("here .", 1), ("no .", 0), ("no .", 0)])]
    assert corpus.notes == {
        "dev: candidates of more than 5 tokens (left out)": 2,
        "dev: questions without a right or without a wrong candidate (left out)": 1,
        "test: questions without a right or without a wrong candidate (left out)": 1 if layout == "toks" else 2,
    }


@pytest.mark.parametrize("layout", LAYOUTS)
def test_another_tokeniser_reads_the_same_candidates(small: Any, layout: str) -> None:
    """The limit counts the tokens of the file, so that a variant of the data set does not depend on the tokeniser."""
    reader = small(layout, longest={"dev": 6}, clean=("dev",))
    published, words = (replace(reader, tokenise=tokenise).read() for tokenise in (lower_tokens_v1, published_words_v1))
    assert words.notes == published.notes
    assert words.splits["dev"].relevance.tolist() == published.splits["dev"].relevance.tolist() == [1, 0]
    assert "." in published.vocabulary.words
    assert "." not in words.vocabulary.words


def test_candidates_are_named_by_their_text_alone(small: Any) -> None:
    """So that no order of a file, all of which list right answers first, decides between equal scores."""
    corpus = small("xml").read()
    names = [name.decode() for name in corpus.splits["test"].candidate_ids]
    assert names == [*text_names([["here", "."], ["no", "."], ["no", "."]]), *text_names([["so", "."]])]
    assert names[2] == f"{names[1]}-2"


FAULTY: dict[str, tuple[str, str, Any, list[str]]] = {
    "an empty file": ("xml", "dev.xml", b"", ["the file is empty"]),
    "another format": (
        "xml",
        "dev.xml",
        ["When ?\tIn 1066 .\t1"],
        ["line 1: 'When ?\\tIn 1066 .\\t1' where <QApairs id='...'> is expected"],
    ),
    "a file that ends within a question": (
        "xml",
        "dev.xml",
        ["<QApairs id='2'>", "<question>", "When\t?", "</question>"],
        ["line 1: <QApairs id='2'> is not closed by the end of the file"],
    ),
    "blocks that are not closed, empty, or lacking": (
        "xml",
        "dev.xml",
        ["<QApairs id='2'>", "<question>", "When\t?", "<negative>", "</negative>", "x", "</QApairs>", "<QApairs id='2'>", "</QApairs>"],
        [
            "line 4: '<negative>' before </question>",
            "line 5: the block negative has no tokens",
            "line 6: 'x' where a block or </QApairs> is expected",
            "line 8: id 2 is used twice",
            "line 8: <QApairs id='2'> has 0 question blocks, 1 expected",
        ],
    ),
    "no JSON and other JSON": (
        "jsonl",
        "dev.jsonl",
        ['{"question": "When ?"', "[]", '{"question": 1, "candidates": []}'],
        [
            "line 1: it is not JSON: Expecting ',' delimiter at column 22",
            'line 2: an object with fields "question", a string, and "candidates", a list, is expected',
            'line 3: an object with fields "question", a string, and "candidates", a list, is expected',
        ],
    ),
    "candidates with other fields": (
        "jsonl",
        "dev.jsonl",
        ['{"question": "When ?", "candidates": [{"label": 2, "sentence": "No ."}, {"label": true, "text": "No ."}, 3]}'],
        [
            "line 1: field candidates[0].label is 2, 0 or 1 expected",
            "line 1: field candidates[1].sentence is None, a string expected",
            "line 1: field candidates[1].label is True, 0 or 1 expected",
            "line 1: field candidates[2].sentence is None, a string expected",
            "line 1: field candidates[2].label is None, 0 or 1 expected",
        ],
    ),
    "other labels": (
        "toks",
        "dev/sim.txt",
        ["1", "yes", "0", "", "1"],
        ["line 2: the label is 'yes', 0 or 1 expected", "line 4: the label is '', 0 or 1 expected"],
    ),
    "a line too few": ("toks", "dev/sim.txt", ["1", "0", "0", "1"], ["4 lines, but a.toks has 5"]),
    "an id for two questions": (
        "toks",
        "dev/id.txt",
        ["2", "2", "2", "2", "2"],
        ["line 4: id 2 appears again after another question's lines, or for another question"],
    ),
}


@pytest.mark.parametrize("case", FAULTY)
def test_every_fault_of_a_file_is_named_with_its_line(small: Any, tmp_path: Path, case: str) -> None:
    layout, name, lines, faults = FAULTY[case]
    with pytest.raises(BadDataError) as error:
        small(layout, files={name: lines}).read()
    head, *listed, remedy = str(error.value).splitlines()
    assert head == f"{tmp_path}/trecqa/{name}: {len(faults)} fault{'s' if len(faults) > 1 else ''}"
    assert listed == [f"  {fault}" for fault in faults]
    assert remedy.startswith("The file is not as it was published. ")
    assert f"`qaexp data fetch {'trecqa_toks' if layout == 'toks' else 'trecqa'}` fetches it" in remedy


@pytest.mark.parametrize(("layout", "name"), [("xml", "test.xml"), ("jsonl", "test.jsonl"), ("toks", "test/b.toks")])
def test_a_missing_file_is_named_with_where_it_is_published(small: Any, tmp_path: Path, layout: str, name: str) -> None:
    with pytest.raises(MissingDataError, match="is published in") as error:
        small(layout, files={name: None}).files()
    assert f"  {tmp_path}/trecqa/{name}\n" in str(error.value)


@pytest.fixture(scope="session")
def trecqa(data_dir: Path) -> Path:
    folder = data_dir / "trecqa"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not at hand")
    return folder


CLEAN, RAW = {"dev": (65, 1_117, 205), "test": (68, 1_442, 248)}, {"dev": (82, 1_148, 222), "test": (100, 1_517, 284)}
TRAIN, TRAIN_ALL = {"train": (94, 4_718, 348)}, {"train": (1_229, 53_417, 6_410)}
VARIANTS = {
    "trecqa": TRAIN | CLEAN,
    "trecqa_raw": TRAIN | RAW,
    "trecqa_xml": TRAIN | CLEAN,
    "trecqa_toks": {"train": (93, 4_718, 348)} | CLEAN,
    "trecqa_train_all": TRAIN_ALL | CLEAN,
    "trecqa_train_all_raw": TRAIN_ALL | RAW,
}
"""Split to questions, pairs, right candidates."""


@pytest.mark.parametrize("name", VARIANTS)
def test_published_counts(trecqa: Path, name: str) -> None:
    corpus = instantiate(compose([f"dataset={name}", f"data_dir={trecqa.parent}"]).dataset.reader).read()
    counts = {split: (table.num_questions, table.num_pairs, int(table.labels.sum())) for split, table in corpus.splits.items()}
    assert counts == VARIANTS[name]
    for table in corpus.splits.values():
        for start, end in zip(table.offsets[:-1], table.offsets[1:], strict=True):
            assert len(set(table.candidate_ids[start:end])) == end - start


def read(layout: type[TrecQAReader], folder: Path, longest: dict[str, int], **splits: str) -> Any:
    return layout(folder=str(folder), splits=splits, longest=longest, clean=[], tokenise=lower_tokens_v1).read()


@pytest.fixture(scope="session")
def xml(trecqa: Path) -> Any:
    return read(TrecQAXMLReader, trecqa / "jacana-xml", {}, train="train.xml", dev="dev.xml", test="test.xml")


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_toks_are_the_xml_in_lower_case(trecqa: Path, xml: Any, pools: Any, split: str) -> None:
    toks = read(TrecQAToksReader, trecqa / "toks", {}, train="train", dev="raw-dev", test="raw-test")
    ours, other = pools(xml, xml.splits[split]), pools(toks, toks.splits[split])
    assert other == {name: (question, pool) for name, (question, pool) in ours.items() if pool}
    assert ours.keys() - other.keys() == {"train": {"94"}, "dev": {"15.3"}, "test": {"41.3", "44.4", "58.1", "59.2", "64.3"}}[split]


@pytest.mark.parametrize("split", ["dev", "test"])
def test_the_clean_toks_are_the_raw_ones_cleaned(trecqa: Path, pools: Any, split: str) -> None:
    folder = str(trecqa / "toks")
    clean = read(TrecQAToksReader, trecqa / "toks", {}, **{split: f"clean-{split}"})
    cleaned = TrecQAToksReader(folder=folder, splits={split: f"raw-{split}"}, longest={}, clean=[split], tokenise=lower_tokens_v1).read()
    assert pools(cleaned, cleaned.splits[split]) == pools(clean, clean.splits[split])


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_jsonl_without_its_long_candidates_is_the_xml_but_for_numbers(trecqa: Path, xml: Any, told: Any, split: str) -> None:
    longest = {"train": 40, "dev": 40}
    jsonl = read(TrecQAJsonlReader, trecqa / "jsonl", longest, train="train.jsonl", dev="dev.jsonl", test="test.jsonl")

    def numberless(text: str) -> str:
        return " ".join("<num>" if any(letter.isdigit() for letter in word) else word for word in text.split())

    def plain(questions: list[Any]) -> list[Any]:
        return [(numberless(question), [(numberless(text), label) for text, label in pool]) for question, pool in questions]

    assert plain(told(jsonl, split)) == plain(told(xml, split))


@pytest.mark.parametrize("name", ["train-all", "dev", "test"])
def test_the_filtered_jsonl_is_the_whole_cleaned(trecqa: Path, told: Any, name: str) -> None:
    filtered = read(TrecQAJsonlReader, trecqa / "jsonl", {}, train=f"{name}-filtered.jsonl")
    reader = TrecQAJsonlReader(
        str(trecqa / "jsonl"), splits={"train": f"{name}.jsonl"}, longest={}, clean=["train"], tokenise=lower_tokens_v1
    )
    assert told(reader.read(), "train") == told(filtered, "train")


@pytest.mark.parametrize(("setting", "value"), [("longest", {"dve": 40}), ("clean", ["dve"])])
def test_a_setting_of_no_split_is_named(setting: str, value: Any) -> None:
    settings: dict[str, Any] = {"longest": {}, "clean": [], setting: value}
    with pytest.raises(ConfigError, match=rf"dataset.reader.{setting}: there is no 'dve'; did you mean dev\?"):
        TrecQAJsonlReader("anywhere", splits={"dev": "dev.jsonl"}, tokenise=lower_tokens_v1, **settings)
