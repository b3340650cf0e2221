"""What is said of a record that cannot be read."""

from pathlib import Path

import pytest

from qaexp.errors import RecordError
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
