"""What is said of a record that cannot be read."""

from pathlib import Path

import pytest

from qaexp.errors import ConfigError, RecordError
from qaexp.results.record import RunRecord


@pytest.mark.parametrize("content", ["", '{"key": ', '{"colour": "green"}'])
def test_a_file_that_is_no_record_is_named_with_the_remedy(content: str, tmp_path: Path) -> None:
    (tmp_path / "record.json").write_text(content)
    with pytest.raises(RecordError, match=r"record\.json is no run's record .*; delete its folder"):
        RunRecord.load(tmp_path)
    assert RunRecord.with_status(tmp_path, "finished") is None


def test_a_folder_without_a_record_is_no_finished_run(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="No such file"):
        RunRecord.load(tmp_path)
    assert RunRecord.with_status(tmp_path, "finished") is None


def test_a_run_that_began_on_other_data_does_not_go_on() -> None:
    record = RunRecord(key="k", config={"dataset": {"name": "own"}}, seed=1, command="")
    record.of_data({"fingerprint": "a" * 64}, "trec")
    record.of_data({"fingerprint": "a" * 64}, "trec")
    with pytest.raises(ConfigError, match=r"the data of own are others than when this run began \(aaaaaaaa then, bbbbbbbb now\)"):
        record.of_data({"fingerprint": "b" * 64}, "trec")
