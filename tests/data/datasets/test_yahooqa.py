"""YahooQA: a pickle is read without running anything, and the text files give pools of five, split by question."""

import pickle
import resource
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hydra.utils import instantiate

from qaexp.config import compose
from qaexp.data.datasets.yahooqa import YahooQAReader, YahooQATextReader
from qaexp.data.tokenise import words_v1
from qaexp.errors import BadDataError, MissingDataError

ENV = {
    "train": {"who wrote it": [["she did", 1], ["it burned", 0], ["it burned", 0]]},
    "dev": {"where is it": [["here", 1], ["it burned", 0]]},
    "test": {"when was it": [["yesterday", 0], ["in 1066", 1]], ("why", "not"): [(["no", "idea"], 1), ["it burned", 0.0]]},
}


@pytest.fixture
def pickled(tmp_path: Path) -> Callable[..., YahooQAReader]:
    """A reader of a zip that holds the bytes, or the pickle of any other value."""

    def reader(value: Any, names: tuple[str, ...] = ("env.pkl",), protocol: int = 2) -> YahooQAReader:
        with zipfile.ZipFile(tmp_path / "env.pkl.zip", "w") as archive:
            for name in names:
                archive.writestr(name, value if isinstance(value, bytes) else pickle.dumps(value, protocol=protocol))
        splits = {split: split for split in ("train", "dev", "test")}
        return YahooQAReader(folder=str(tmp_path), file="env.pkl.zip", splits=splits, tokenise=words_v1)

    return reader


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_as_its_readme_describes_is_read_exactly(pickled: Any, told: Any, spelled: Any, protocol: int) -> None:
    corpus = pickled(ENV, names=("data/env.pkl", "__MACOSX/._env.pkl"), protocol=protocol).read()
    assert told(corpus, "train") == [("who wrote it", [("she did", 1), ("it burned", 0), ("it burned", 0)])]
    assert told(corpus, "dev") == [("where is it", [("here", 1), ("it burned", 0)])]
    assert told(corpus, "test") == [
        ("when was it", [("yesterday", 0), ("in 1066", 1)]),
        ("why not", [("no idea", 1), ("it burned", 0)]),
    ]
    assert spelled(corpus, corpus.answer_set) == ["she did", "it burned"]
    assert corpus.splits["test"].question_ids.tolist() == [b"test-1", b"test-2"]


def test_byte_strings_of_python_2_are_read_and_broken_ones_counted(pickled: Any, told: Any) -> None:
    written = b"(dS'%s'\n(dS'who'\n(lp1\n(lp2\nS'zo\\xc3\\xab'\naI1\naa(lp3\nS'zo\\xeb'\naI0\naass."
    split = written[2:-1]
    whole = b"(d" + b"".join(split % name for name in (b"train", b"dev", b"test")) + b"."
    corpus = pickled(whole).read()
    assert told(corpus, "dev") == [("who", [("zoë", 1), ("zo", 0)])]
    assert corpus.notes == {"pools with bytes that are not UTF-8 (replaced)": 3}


class Hostile:
    """Unpickled freely, it creates a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> Any:
        return (open, (str(self._path), "w"))


def test_a_hostile_pickle_is_refused_and_nothing_runs(pickled: Any, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    payload = pickle.dumps(ENV | {"more": Hostile(victim)})
    pickle.loads(payload)["more"].close()
    assert victim.exists(), "the pickle is not hostile, so this test would show nothing"
    victim.unlink()
    with pytest.raises(BadDataError, match=r"env.pkl: it names the global _?io\.open: only builtin containers, strings"):
        pickled(payload).read()
    assert not victim.exists()


STOPPED = {
    "a shell": (b"cos\nsystem\n(S'true'\ntR.", "os.system"),
    "a shell by its other name": (b"cposix\nsystem\n(S'true'\ntR.", "posix.system"),
    "eval": (b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93\x8c\x011\x85R.", "builtins.eval"),
    "eval of Python 2": (b"c__builtin__\neval\n(S'1'\ntR.", "__builtin__.eval"),
    "getattr": (b"cbuiltins\ngetattr\n.", "builtins.getattr"),
    "a path through an admitted name": (b"\x80\x04\x8c\x08builtins\x8c\x0dset.__class__\x93.", "builtins.set.__class__"),
    "a class by INST": (b"(S'true'\nios\nsystem\n.", "os.system"),
    "a standard container that is not a builtin": (pickle.dumps(OrderedDict(train={})), "collections.OrderedDict"),
    "an array": (pickle.dumps(np.zeros(2)), "numpy"),
}


@pytest.mark.parametrize("case", STOPPED)
def test_every_other_global_is_refused_by_its_name(pickled: Any, case: str) -> None:
    payload, name = STOPPED[case]
    with pytest.raises(BadDataError) as error:
        pickled(payload).read()
    assert f"it names the global {name}" in str(error.value)
    assert "was not opened further" in str(error.value)


def test_a_small_pickle_with_a_large_index_takes_little_memory(pickled: Any) -> None:
    """Pickle's LONG_BINPUT names a place of the memo, for which the unpickler in C would allocate 16 GB here."""
    payload = b"\x80\x02}r" + (1 << 30).to_bytes(4, "little") + b"."
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(BadDataError, match="a dict of 0"):
        pickled(payload).read()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 17  # kilobytes


DAMAGED = {"empty": b"", "text": b"no pickle", "cut": pickle.dumps(ENV)[:-9], "extension code": b"\x82\x01.", "persistent id": b"Pid\n."}


@pytest.mark.parametrize("payload", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_pickle_is_refused(pickled: Any, payload: bytes) -> None:
    with pytest.raises(BadDataError, match=r"env\.pkl\.zip: 1 fault\n  env\.pkl: "):
        pickled(payload).read()


def test_a_zip_without_one_pickle_is_refused(pickled: Any, tmp_path: Path) -> None:
    with pytest.raises(BadDataError, match=r"one \.pkl file is expected in it; there is a\.pkl, b\.pkl"):
        pickled(ENV, names=("a.pkl", "b.pkl")).read()
    reader = pickled(ENV)
    (tmp_path / "env.pkl.zip").write_bytes((tmp_path / "env.pkl.zip").read_bytes()[:-30])
    with pytest.raises(BadDataError, match="it is not a whole zip file"):
        reader.read()
    with zipfile.ZipFile(tmp_path / "env.pkl.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("env.pkl", pickle.dumps(ENV))
        begin = archive.infolist()[0].header_offset + len("env.pkl") + 30
    content = (tmp_path / "env.pkl.zip").read_bytes()
    (tmp_path / "env.pkl.zip").write_bytes(content[:begin] + b"\xff" + content[begin + 1 :])
    with pytest.raises(BadDataError, match=r"it is not a whole zip file \(Error -3 while decompressing"):
        reader.read()


def test_other_keys_are_shown_and_can_be_named(pickled: Any, told: Any) -> None:
    reader = pickled({f"{split}_QA": table for split, table in ENV.items()} | {"words": ["a"]})
    with pytest.raises(BadDataError) as error:
        reader.read()
    found = "a dict of 4 with the keys 'train_QA' (a dict of 1), 'dev_QA' (a dict of 1), 'test_QA' (a dict of 2), 'words' (a list of 1)"
    assert str(error.value).splitlines()[1:] == [
        *(f"  split {split}: no dictionary of questions under the key {split!r}; there is {found}" for split in ENV),
        "The pickle is not laid out as its readme says. If only its keys differ, name them in dataset.reader.splits.",
    ]
    corpus = replace(reader, splits={split: f"{split}_QA" for split in ENV}).read()
    assert told(corpus, "dev") == [("where is it", [("here", 1), ("it burned", 0)])]


def test_every_pool_in_another_layout_is_named(pickled: Any) -> None:
    dev = {"who": [["she", 1], ["he"], ["it", 2]], "why": {"no": 0}, 7: [["no", "0"]]}
    with pytest.raises(BadDataError) as error:
        pickled(ENV | {"dev": dev}).read()
    assert str(error.value).splitlines()[1:-1] == [
        "  question 1 of 'dev': candidate 1 is ['he'], [text, label] expected",
        "  question 1 of 'dev': candidate 2: the label is 2, 0 or 1 expected",
        "  question 2 of 'dev': the pool is a dict of 1 with the keys 'no' (an int), a list expected",
        "  question 3 of 'dev': the question is an int, a text expected",
        "  question 3 of 'dev': candidate 0: the label is '0', 0 or 1 expected",
    ]


def pool(question: str, right: int = 4, start: int = 0) -> list[str]:
    return [f"{question}|answer {chr(97 + start + place)}|{int(place == right)}" for place in range(5)]


HASH = [*pool("Who?"), *pool("Where is it?", start=5), *pool("Where is it?", start=10)]
TAB = [*pool("why", right=0), *pool("who", right=1, start=5), "when did"]


@pytest.fixture
def texts(tmp_path: Path, write: Callable[..., Path]) -> Callable[..., YahooQATextReader]:
    """A reader of two small text files, written here with `|` between their fields; None leaves one out."""

    def reader(hashed: list[str] | None = HASH, tabbed: list[str] | None = TAB, packed: bool = False) -> YahooQATextReader:
        for name, lines, separator in (("hash", hashed, "#"), ("tab", tabbed, "\t")):
            if lines is not None:
                write(tmp_path / f"{name}.txt", [line.replace("|", separator) for line in lines], packed)
        return YahooQATextReader(
            folder=str(tmp_path),
            hash_separated="hash.txt",
            tab_separated="tab.txt",
            tokenise=words_v1,
            split_seed=1,
            dev_share=0.0,
            test_share=0.0,
        )

    return reader


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
def test_text_files_are_read_exactly(texts: Any, pools: Any, packed: bool) -> None:
    corpus = texts(packed=packed).read()
    table = {
        name: (question, [text[-1] for _, text, _ in pool], [label for *_, label in pool])
        for name, (question, pool) in pools(corpus, corpus.splits["train"]).items()
    }
    assert table == {
        "hash-1": ("who", list("abcde"), [0, 0, 0, 0, 1]),
        "hash-6": ("where is it", list("fghij"), [0, 0, 0, 0, 1]),
        "hash-11": ("where is it", list("klmno"), [0, 0, 0, 0, 1]),
        "tab-1": ("why", list("abcde"), [1, 0, 0, 0, 0]),
        "tab-6": ("who", list("fghij"), [0, 1, 0, 0, 0]),
    }
    assert corpus.notes == {"last lines that are cut off (left out)": 1}


def test_mixed_lines_of_a_question_are_dealt_to_pools(texts: Any, told: Any) -> None:
    mixed = ["who|a|0", "who|a|0", "who|b|0", "who|b|0", "who|c|1", "who|d|0", "who|d|0", "who|e|1", "who|f|0", "who|f|0"]
    assert told(texts(hashed=pool("why"), tabbed=mixed).read(), "train")[1:] == [
        ("who", [("c", 1), ("a", 0), ("b", 0), ("d", 0), ("f", 0)]),
        ("who", [("e", 1), ("a", 0), ("b", 0), ("d", 0), ("f", 0)]),
    ]


def test_pools_with_a_text_in_common_are_on_one_side_of_the_split(texts: Any, told: Any) -> None:
    chain = [*pool("who"), *pool("why", start=4), *pool("when", right=0, start=8)]  # "answer e" is in two pools, "answer i" in two
    others = [*pool("where is it", start=13), *pool("how", start=18), "Where is it?|x|1", *(f"Where is it?|{a} z|0" for a in "abcd")]
    seen = set()
    for seed in range(8):
        reader = replace(texts(hashed=chain, tabbed=others), split_seed=seed, dev_share=0.34, test_share=0.34)
        corpus = reader.read()
        asked = {split: [question for question, _ in told(corpus, split)] for split in ("train", "dev", "test")}
        assert asked["train"] == ["who", "why", "when"]
        assert sorted([asked["dev"], asked["test"]]) == [["how"], ["where is it", "where is it"]]
        assert reader.read().fingerprint == corpus.fingerprint
        seen.add(tuple(asked["dev"]))
    assert len(seen) == 2


def test_every_fault_of_a_text_file_is_named_with_its_line(texts: Any, tmp_path: Path) -> None:
    with pytest.raises(BadDataError) as error:
        texts(hashed=["a|b", *pool("who"), *pool("why")[1:], "x|y|2", *pool("what")]).read()
    head, *listed, remedy = str(error.value).splitlines()
    assert head == f"{tmp_path}/hash.txt: 3 faults"
    assert listed == [
        "  line 1: 2 fields, 3 expected",
        "  line 7: 4 lines of 'why' with 1 right, 1 in 5 expected",
        "  line 11: the label is '2', 0 or 1 expected",
    ]
    assert "dataset=yahooqa" in remedy


def test_missing_files_are_named(texts: Any, tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="fetch yahooqa` fetches it"):
        YahooQAReader(folder=str(tmp_path), file="env.pkl.zip", splits={}, tokenise=words_v1).files()
    with pytest.raises(MissingDataError, match="wabyking/qnn") as error:
        texts(tabbed=None).files()
    assert f"  {tmp_path}/tab.txt\n" in str(error.value)


@pytest.fixture(scope="module")
def partial(data_dir: Path) -> Any:
    if not (data_dir / "yahooqa").is_dir():
        pytest.skip(f"{data_dir / 'yahooqa'} is not at hand")
    return instantiate(compose(["dataset=yahooqa_partial", f"data_dir={data_dir}"]).dataset.reader).read()


def test_the_counts_of_the_stored_excerpts(partial: Any) -> None:
    assert {name: table.num_questions for name, table in partial.splits.items()} == {"train": 3_146, "dev": 393, "test": 393}
    names = [name.decode() for table in partial.splits.values() for name in table.question_ids]
    assert len(set(names)) == len(names)
    assert Counter(name.partition("-")[0] for name in names) == {"hash": 1_760, "tab": 2_172}
    for table in partial.splits.values():
        assert set(np.diff(table.offsets)) == {5}
        assert set(table.answers_per_question) == {1}
    assert partial.notes == {"last lines that are cut off (left out)": 1}


def test_no_text_of_the_excerpts_is_in_two_splits(partial: Any) -> None:
    train, dev, test = (set(table.questions.tolist()) | set(table.candidates.tolist()) for table in partial.splits.values())
    assert not train & dev
    assert not train & test
    assert not dev & test
    assert [len(set(table.questions.tolist())) for table in partial.splits.values()] == [3_088, 392, 392]


def test_partial_data_say_so() -> None:
    assert compose(["dataset=yahooqa_partial"]).dataset.partial_data
    assert not compose(["dataset=yahooqa"]).dataset.partial_data
