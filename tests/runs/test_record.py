"""What a record says of its run, and what is said of one that cannot be read."""

from pathlib import Path

import pytest

from qaexp.errors import ConfigError, RecordError
from qaexp.runs.record import RunRecord
from qaexp.runs.sources import Sources

WHOLE = '{"key": "k", "config": {}, "seed": 1, "command": ""'


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"key": ',
        b'{"colour": "green"}',
        b'{"key": "\351\351"}',
        b"[1, 2]",
        b"[" * 100_000,
        *(f"{WHOLE}, {other}}}".encode() for other in ('"history": 5', '"history": [{"epoch": "1"}]', '"metrics": [1]', '"data": null')),
        WHOLE.replace("{}", "[]").encode() + b"}",
        WHOLE.replace("1", 5000 * "9").encode() + b"}",
        WHOLE.replace("1", 4000 * "9").encode() + b"}",
        WHOLE.replace("{}", 100 * '{"a": ' + "1" + 100 * "}").encode() + b"}",
        WHOLE.replace('"k"', '"../../k"').encode() + b"}",
        f'{WHOLE}, "metrics": {{"../test": {{"map": 1}}}}}}'.encode(),
        f'{WHOLE}, "metrics": {{"{300 * "t"}": {{"map": 1}}}}}}'.encode(),
        f'{WHOLE}, "data": {{"fingerprint": "/etc/passwd"}}}}'.encode(),
        *(
            f'{WHOLE}, "data": {{{part}}}}}'.encode()
            for part in ('"splits": {"test": {"cut questions": null}}', '"notes": [1]', '"vectors": {"source": 1}')
        ),
    ],
    ids=lambda content: content[:60].decode(errors="replace"),
)
def test_a_file_that_is_no_record_is_named_with_the_remedy(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "record.json").write_bytes(content)
    with pytest.raises(RecordError, match=r"record\.json is not a run's record .*; delete its folder"):
        RunRecord.load(tmp_path)
    assert RunRecord.with_status(tmp_path, "finished") is None


def test_a_record_without_end_is_not_read_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "record.json").open("wb") as file:
        file.truncate(3 << 30)
    with pytest.raises(RecordError, match="it has more than 67,108,864 bytes"):
        RunRecord.load(tmp_path)
    (tmp_path / "record.json").unlink()
    for endless in ("/dev/zero", "/dev/stdin"):
        (tmp_path / "record.json").symlink_to(endless)
        with pytest.raises(RecordError, match=r"it is not a file|No such"):
            RunRecord.load(tmp_path)
        (tmp_path / "record.json").unlink()


def test_a_configuration_without_places_is_compared_as_it_is() -> None:
    assert RunRecord("k", {"seed": 1, "data_dir": None}, 1, "").is_of({"seed": 1, "data_dir": [1]})


def test_a_folder_without_a_record_is_no_finished_run(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"has no record\.json, so it is not a run's folder; name one"):
        RunRecord.load(tmp_path)
    assert RunRecord.with_status(tmp_path, "finished") is None


def test_a_run_that_began_on_other_data_does_not_go_on() -> None:
    record = RunRecord(key="k", config={"dataset": {"name": "own"}}, seed=1, command="")
    vectors = {"source": "glove.txt", "files": ["c" * 16]}
    record.note_data({"fingerprint": "a" * 64, "vectors": vectors}, "trec")
    record.note_data({"fingerprint": "a" * 64, "vectors": vectors}, "trec")
    with pytest.raises(ConfigError, match=r"the data of own have changed since this run started \(aaaaaaaa then, bbbbbbbb now\)"):
        record.note_data({"fingerprint": "b" * 64, "vectors": vectors}, "trec")
    with pytest.raises(ConfigError, match=r"the word vectors of glove\.txt have changed since this run started; put the old file back"):
        record.note_data({"fingerprint": "a" * 64, "vectors": {**vectors, "files": ["d" * 16]}}, "trec")
    record.note_written_texts("e" * 64)
    record.note_data({"fingerprint": "a" * 64, "vectors": vectors}, "trec")
    record.note_written_texts("e" * 64)
    with pytest.raises(ConfigError, match="the texts of own are written differently than when this run started"):
        record.note_written_texts("f" * 64)
    assert record.has_read(Sources("a" * 64, written=lambda: "e" * 64))
    assert not record.has_read(Sources("a" * 64, written=lambda: "f" * 64))


def test_a_run_that_continues_with_other_code_or_hardware_says_from_which_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def go_on() -> RunRecord:
        record = RunRecord.resumed(tmp_path)
        record.add_epoch(len(record.history) + 1, {"dev/map": 0.5})
        record.save(tmp_path)
        return record

    of = "qaexp.runs.record"
    monkeypatch.setattr(f"{of}.git_commit", lambda: "a" * 40)
    begun = RunRecord.begin({"seed": 1, "dataset": {"selection_metric": "dev/map"}, "data_dir": "/data", "cache_dir": "/cache"}, "")
    begun.save(tmp_path)
    assert go_on().continued == []
    monkeypatch.setattr(f"{of}.hardware", lambda: {**begun.hardware, "processor": "another"})
    [elsewhere] = go_on().continued
    assert (elsewhere["from_epoch"], elsewhere["commit"], elsewhere["hardware"]["processor"]) == (2, begun.commit, "another")
    assert not caplog.messages
    monkeypatch.setattr(f"{of}.git_commit", lambda: "b" * 40 + "+changes")
    monkeypatch.setattr(f"{of}.versions", lambda: {**begun.versions, "torch": "0.1"})
    go_on()
    _, changed = go_on().continued
    assert (changed["from_epoch"], changed["commit"], changed["versions"]["torch"]) == (3, "b" * 40 + "+changes", "0.1")
    [told] = caplog.messages
    assert f"commit {'a' * 40} before, {'b' * 40}+changes now; torch {begun.versions['torch']} before, 0.1 now" in told
    record = RunRecord.load(tmp_path)
    record.add_epoch(2, {"dev/map": 0.5})  # again: it was measured, and had no checkpoint
    assert [process["from_epoch"] for process in record.continued] == [2, 2]
    assert (record.commit, record.versions, record.hardware) == (begun.commit, begun.versions, begun.hardware)


def test_a_configuration_is_a_runs_own_wherever_its_folders_are_and_whatever_table_it_is_for() -> None:
    config = {"seed": 1, "dataset": {"folder": "/data/own"}, "data_dir": "/data", "cache_dir": "/cache", "labels": {"table": "table4"}}
    record = RunRecord(key="", config=config, seed=1, command="")
    assert record.is_of({**config, "labels": {"table": "table5"}, "logger": None})
    assert record.is_of({**config, "data_dir": "/elsewhere", "dataset": {"folder": "/elsewhere/own"}})
    for other in ({**config, "seed": 2}, {**config, "dataset": {"folder": "/elsewhere/own"}}, {"seed": 1}):
        assert not record.is_of(other)


def test_the_first_of_equal_epochs_is_the_best_as_for_its_checkpoint() -> None:
    record = RunRecord(key="", config={"dataset": {"selection_metric": "dev/map"}}, seed=1, command="")
    for epoch, value in enumerate((0.1, 0.5, 0.5), start=1):
        record.add_epoch(epoch, {"dev/map": value})
    assert record.best_epoch == 2


def test_in_the_source_of_word_vectors_only_paths_lose_their_places() -> None:
    config = {"data_dir": "data", "cache_dir": "data/cache"}
    for path, placeless in (("data/data.txt", "data_dir/data.txt"), ("data/cache/a.txt", "cache_dir/a.txt"), ("metadata/a", "metadata/a")):
        source = f"PublishedVectors(name='my data', path={path!r}, scale=1.0)"
        record = RunRecord(key="", config=config, seed=1, command="", data={"vectors": {"source": source}})
        assert record.vectors == f"PublishedVectors(name='my data', path={placeless!r}, scale=1.0)"
