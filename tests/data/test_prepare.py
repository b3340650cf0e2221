"""The cache: filled once, memory-mapped after, shared by processes, mended when damaged, and clear about what it cannot write."""

import errno
import json
import os
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qaexp.data import prepare
from qaexp.data.corpus import RankingCorpus, WrittenTexts
from qaexp.data.corpus_builder import CorpusBuilder
from qaexp.data.datasets.insuranceqa import InsuranceQAReader
from qaexp.data.datasets.toy import ToyReader
from qaexp.data.datasets.wikiqa import WikiQAReader
from qaexp.data.files import digest
from qaexp.data.prepare import cached, prepared
from qaexp.data.tokenise import published_tokens_v1, words_v1
from qaexp.errors import BadDataError, ConfigError, MissingDataError, OutputError

Make = Callable[..., Any]


@pytest.fixture
def num_reads(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How often the readers have read since."""
    reads: list[str] = []
    for reader in (InsuranceQAReader, WikiQAReader):
        original = reader.read

        def read(self: Any, original: Callable[[Any], RankingCorpus] = original) -> RankingCorpus:
            reads.append(type(self).__name__)
            return original(self)

        monkeypatch.setattr(reader, "read", read)
    return lambda: len(reads)


def test_a_corpus_is_read_once_and_memory_mapped_after(insuranceqa: Make, cache_dir: Path, num_reads: Callable[[], int]) -> None:
    reader = insuranceqa()
    first, second = prepared(reader, cache_dir), prepared(reader, cache_dir)
    assert num_reads() == 1
    as_read = reader.read()
    for corpus in (first, second):
        assert corpus.fingerprint == as_read.fingerprint == corpus.compute_fingerprint()
        assert corpus.vocabulary.words == as_read.vocabulary.words
        assert corpus.notes == as_read.notes
        assert list(corpus.splits) == ["train", "dev", "test"]
        arrays = [corpus.texts.ids, corpus.texts.offsets, corpus.answer_set, corpus.splits["dev"].candidates, corpus.splits["dev"].labels]
        assert all(isinstance(array, np.memmap) for array in arrays)
        np.testing.assert_array_equal(corpus.texts.ids, as_read.texts.ids)


def test_changed_files_or_settings_are_prepared_anew(wikiqa: Make, cache_dir: Path, num_reads: Callable[[], int]) -> None:
    old = prepared(wikiqa(), cache_dir)
    rows = ["\t".join(["Q9", "Who?", "D", "T", "S", "He did.", "1"])]
    header = Path(wikiqa().folder, "dev.tsv").read_text().splitlines()[0]
    changed = wikiqa(dev=[header, *rows])
    new = prepared(changed, cache_dir)
    assert num_reads() == 2
    assert new.fingerprint != old.fingerprint
    assert new.splits["dev"].question_ids.tolist() == [b"Q9"]
    settings = {"folder": changed.folder, "splits": changed.splits}
    prepared(WikiQAReader(**settings, tokenise=published_tokens_v1), cache_dir)
    assert num_reads() == 3
    prepared(WikiQAReader(**settings, tokenise=partial(words_v1)), cache_dir)  # the same function, as Hydra hands it over
    assert num_reads() == 3


def test_a_moved_folder_is_the_same_data(insuranceqa: Make, cache_dir: Path, num_reads: Callable[[], int]) -> None:
    prepared(insuranceqa("here"), cache_dir)
    moved = prepared(insuranceqa("there"), cache_dir)
    assert num_reads() == 1
    packed = prepared(insuranceqa("packed", packed=True), cache_dir)
    assert num_reads() == 2
    assert packed.fingerprint == moved.fingerprint


@pytest.mark.parametrize("damage", ["deleted", "cut", "emptied", "no manifest", "bad manifest"])
def test_a_damaged_entry_is_made_again(insuranceqa: Make, cache_dir: Path, num_reads: Callable[[], int], damage: str, caplog: Any) -> None:
    reader = insuranceqa()
    whole = prepared(reader, cache_dir).fingerprint
    [folder] = (cache_dir / "corpora").iterdir()
    words, manifest = folder / "vocabulary.txt", folder / "manifest.json"
    {
        "deleted": lambda: (folder / "dev.labels.npy").unlink(),
        "cut": lambda: words.write_bytes(words.read_bytes()[:-3]),
        "emptied": lambda: (folder / "tokens.npy").write_bytes(b""),
        "no manifest": manifest.unlink,
        "bad manifest": lambda: manifest.write_text("{"),
    }[damage]()
    with caplog.at_level("WARNING"):
        assert prepared(reader, cache_dir).compute_fingerprint() == whole
    assert num_reads() == 2
    assert f"{folder} is damaged" in caplog.text
    prepared(reader, cache_dir)
    assert num_reads() == 2
    assert list((cache_dir / "corpora").iterdir()) == [folder]


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_of_several_at_once_one_makes_the_entry_for_all(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / ".entry-killed" / "new").mkdir(parents=True)  # what a killed process has left
    makers: list[int] = []

    def one(number: int) -> str:
        def make() -> str:
            makers.append(number)
            wait_for(lambda: caplog.text.count("another process is making") == 3)
            return "the same for all"

        return cached(tmp_path / "entry", lambda folder: (folder / "content").read_text(), make, save)

    def save(content: str, folder: Path) -> None:
        folder.mkdir()
        (folder / "content").write_text(content)

    with caplog.at_level("INFO"), ThreadPoolExecutor(4) as threads:
        assert list(threads.map(one, range(4))) == ["the same for all"] * 4
    assert len(makers) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["entry"]


def test_if_one_process_fails_to_make_an_entry_the_next_one_makes_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def fails() -> str:
        wait_for(lambda: "another process is making" in caplog.text)
        raise BadDataError("file", ["a fault"], "mend it")

    def save(content: str, folder: Path) -> None:
        folder.mkdir()
        (folder / "content").write_text(content)

    make = partial(cached, tmp_path / "entry", lambda folder: (folder / "content").read_text(), save=save)
    with caplog.at_level("INFO"), ThreadPoolExecutor(2) as threads:
        first = threads.submit(make, fails)
        wait_for(lambda: any(tmp_path.glob(".entry-*")))
        second = threads.submit(make, lambda: "made")
        assert second.result(timeout=30) == "made"
        with pytest.raises(BadDataError):
            first.result(timeout=30)


TWO_PROCESSES = """
import sys, time
from pathlib import Path
from qaexp.data.datasets.toy import ToyReader
from qaexp.data.vectors.sources import OwnTextVectors
from qaexp.data.prepare import prepared
from qaexp.data.tokenise import words_v1

me, other, cache = map(Path, sys.argv[1:])
me.touch()
while not other.exists():
    time.sleep(0.002)
reader = ToyReader(generator_seed=7, num_train=60, num_dev=10, num_test=10, num_candidates=5, tokenise=words_v1)
corpus = prepared(reader, cache)
source = OwnTextVectors(dim=8, window=3, negative=4, epochs=2, min_count=2, skip_gram=True, mean_length=3.0)
vectors = source.build(corpus, Path(f"{me}-vectors"), seed=5)
sys.stdout.write(f"{corpus.compute_fingerprint()} {vectors.matrix.tobytes().hex()} {vectors.known.tolist()}")
"""


def test_two_processes_prepare_at_once_and_train_the_same_vectors(tmp_path: Path, cache_dir: Path) -> None:
    names = [str(tmp_path / name) for name in ("one", "two")]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", TWO_PROCESSES, *pair, str(cache_dir)],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1"},
        )
        for pair, seed in ((names, "1"), (names[::-1], "2"))
    ]
    said = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert said[0] == said[1]
    reader = ToyReader(generator_seed=7, num_train=60, num_dev=10, num_test=10, num_candidates=5, tokenise=words_v1)
    assert said[0].startswith(f"{reader.read().fingerprint} ")
    assert len(list((cache_dir / "corpora").iterdir())) == 1


def test_a_cache_that_cannot_be_made_is_named_before_anything_is_read(
    insuranceqa: Make, tmp_path: Path, num_reads: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="is a file, and a folder is needed there") as error:
        prepared(insuranceqa(), tmp_path / "file" / "cache")
    assert str(error.value).startswith(f"cannot write {tmp_path}/file/cache/corpora/insuranceqa-")
    assert str(error.value).endswith("; name another place with cache_dir=FOLDER")

    def read_only(*_: Any, **__: Any) -> str:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(tempfile, "mkdtemp", read_only)
    with pytest.raises(OutputError, match="Permission denied"):
        prepared(insuranceqa(), tmp_path / "cache")
    assert num_reads() == 0


def test_a_full_disk_is_named_and_leaves_nothing_behind(
    insuranceqa: Make, cache_dir: Path, monkeypatch: pytest.MonkeyPatch, num_reads: Callable[[], int]
) -> None:
    with monkeypatch.context() as disk:

        def full(*_: Any, **__: Any) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        disk.setattr(np, "save", full)
        with pytest.raises(
            OutputError, match=r"No space left on device; free some space there, or name another place with cache_dir=FOLDER"
        ):
            prepared(insuranceqa(), cache_dir)
    assert list((cache_dir / "corpora").iterdir()) == []
    prepared(insuranceqa(), cache_dir)
    assert num_reads() == 2


def test_bad_data_leave_nothing_behind(insuranceqa: Make, cache_dir: Path) -> None:
    with pytest.raises(BadDataError):
        prepared(insuranceqa(train=["no tab"]), cache_dir)
    assert list((cache_dir / "corpora").iterdir()) == []


def test_a_source_file_that_may_not_be_read_is_named(insuranceqa: Make, cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = insuranceqa()
    opened = Path.open

    def guarded(self: Path, *args: Any, **options: Any) -> Any:
        if self.name == "train":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return opened(self, *args, **options)

    monkeypatch.setattr(Path, "open", guarded)
    with pytest.raises(BadDataError, match=r"V1/train: 1 fault\n  it cannot be read: Permission denied\nCheck the file's permissions"):
        prepared(reader, cache_dir)


def test_the_manifest_lists_every_file(insuranceqa: Make, cache_dir: Path) -> None:
    prepared(insuranceqa(), cache_dir)
    [folder] = (cache_dir / "corpora").iterdir()
    files = [path for path in folder.iterdir() if path.name != "manifest.json"]
    facts = {path.name: {"bytes": path.stat().st_size, "crc32": zlib.crc32(path.read_bytes())} for path in files}
    assert json.loads((folder / "manifest.json").read_text()) == facts


def test_texts_as_written_change_no_fingerprint_and_are_not_read_before_one_is_asked_for(wikiqa: Make, cache_dir: Path) -> None:
    corpus = prepared(wikiqa(), cache_dir)
    train = corpus.splits["train"]
    assert [corpus.written(int(text)) for text in train.candidates] == ["She wrote it.", 'A "book" was sold.', "It burned."]
    assert corpus.fingerprint == replace(corpus, as_written=None).compute_fingerprint()
    assert replace(corpus, as_written=None).written(int(train.candidates[0])) == "she wrote it"
    [file] = (cache_dir / "corpora").rglob("written.npy")
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    again = prepared(wikiqa(), cache_dir)
    assert isinstance(again.as_written, WrittenTexts)
    assert isinstance(again.as_written.utf8, np.memmap)
    with pytest.raises(BadDataError, match=rf"written.npy.*\n.*another checksum.*\nDelete {file.parent}, and it is made again"):
        again.written(0)


@pytest.mark.parametrize("name", ["tokens.npy", "dev.labels.npy", "vocabulary.txt", "facts.json", "manifest.json"])
def test_a_flipped_byte_is_seen_and_the_entry_made_again(
    insuranceqa: Make, cache_dir: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    whole = prepared(insuranceqa(), cache_dir)
    [folder] = (cache_dir / "corpora").iterdir()
    content = bytearray((folder / name).read_bytes())
    content[-3] ^= 1
    (folder / name).write_bytes(content)
    again = prepared(insuranceqa(), cache_dir)
    assert again.compute_fingerprint() == whole.fingerprint
    assert f"{folder} is damaged" in caplog.text
    assert f"({name} has another checksum than when it was written)" in caplog.text or name == "manifest.json"
    caplog.clear()
    prepared(insuranceqa(), cache_dir)
    assert caplog.text == ""


def test_the_digest_of_a_large_file_is_remembered_until_it_changes(
    tmp_path: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, computed = tmp_path / "large", list[Path]()
    monkeypatch.setattr(prepare, "digest", lambda file: (computed.append(file), digest(file))[1])
    path.write_bytes(b"one")
    os.utime(path, ns=(10**18, 10**18))
    assert digest(path) == "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
    assert prepare.remembered_digest(path, cache_dir) == prepare.remembered_digest(path, cache_dir) == digest(path)
    assert len(computed) == 2, "small files are not worth it"
    monkeypatch.setattr(prepare, "LARGE", 3)
    assert {prepare.remembered_digest(path, cache_dir) for _ in range(3)} == {digest(path)}
    assert len(computed) == 3
    path.write_bytes(b"two")
    for calls in (4, 5):  # it was changed a moment ago, and could be changed again without a trace
        assert prepare.remembered_digest(path, cache_dir) == digest(path)
        assert len(computed) == calls
    os.utime(path, ns=(10**18 + 1, 10**18 + 1))
    assert {prepare.remembered_digest(path, cache_dir) for _ in range(3)} == {digest(path)}
    assert len(computed) == 6


def test_a_digest_that_cannot_be_cached_is_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "LARGE", 0)
    (tmp_path / "cache").write_text("no folder")
    (tmp_path / "file").write_bytes(b"one")
    os.utime(tmp_path / "file", ns=(10**18, 10**18))
    assert prepare.remembered_digest(tmp_path / "file", tmp_path / "cache") == digest(tmp_path / "file")


@dataclass(frozen=True)
class SpelledReader:
    """Its settings are all that it reads."""

    folder: str = "nowhere"
    words: Any = ()
    version = 1

    def files(self) -> list[Path]:
        return []

    def read(self) -> RankingCorpus:
        builder = CorpusBuilder()
        builder.question("dev", "q", builder.text([self.folder, *self.words]), [("a", builder.text(["so"]), 1)])
        return builder.build()


def test_readers_of_one_name_and_settings_that_are_no_places_are_told_apart(cache_dir: Path) -> None:
    namesake = type("SpelledReader", (SpelledReader,), {"__module__": "mine", "read": lambda self: SpelledReader("mine").read()})
    made = [prepared(each, cache_dir) for each in (SpelledReader(), SpelledReader("elsewhere"), SpelledReader(words=["a"]), namesake())]
    assert [corpus.words(0) for corpus in made] == [["nowhere"], ["elsewhere"], ["nowhere", "a"], ["mine"]]


def test_a_file_that_a_reader_of_ones_own_lacks_is_named(cache_dir: Path) -> None:
    lacking = type("SpelledReader", (SpelledReader,), {"files": lambda self: [Path("nowhere/train.txt")]})
    with pytest.raises(MissingDataError, match=r"SpelledReader reads nowhere/train\.txt, and there is no such file"):
        prepared(lacking(), cache_dir)


def test_a_setting_that_has_no_name_is_refused(cache_dir: Path) -> None:
    with pytest.raises(ConfigError, match="a reader's setting is a object: numbers, words"):
        prepared(SpelledReader(words=[object()]), cache_dir)
