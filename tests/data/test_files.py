"""Files that would fill the memory: long lines, endless faults, JSON that Python refuses."""

import gzip
import json
from pathlib import Path

import pytest

from qaexp.data import files
from qaexp.data.files import Faults, from_json, lines
from qaexp.errors import BadDataError


def test_a_line_without_end_is_a_fault_before_it_fills_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LINE", 1000)
    path = tmp_path / "train.tsv.gz"
    path.write_bytes(gzip.compress(b"a\n" + bytes(10**6)))
    read = []
    with pytest.raises(BadDataError, match="line 2: it has more than 1,000 bytes, and was read no further"), Faults(path, "") as faults:
        read += [line for _, line in lines(faults)]
    assert read == ["a"]


def test_faults_are_short_and_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_FAULTS", 50)
    seen = 0

    def add_all() -> None:
        nonlocal seen
        with Faults(tmp_path, "") as faults:
            for line in range(10**6):
                seen += 1
                faults.add(line, 5000 * "x")

    with pytest.raises(BadDataError) as told:
        add_all()
    assert seen == 51
    assert len(str(told.value)) < 10_000


@pytest.mark.parametrize(("text", "said"), [(10**5 * "[", "nested too deeply"), (5000 * "1", "too many digits"), ("{", "Expecting")])
def test_json_that_python_refuses_is_one_kind_of_error(text: str, said: str) -> None:
    with pytest.raises(json.JSONDecodeError, match=said):
        from_json(text)
