"""A file is whole or as it was, and what stands in its way is said with the option that names another place."""

from contextlib import suppress
from pathlib import Path

import pytest

from qaexp.errors import OutputError
from qaexp.files import FIGURES_REMEDY, atomic_write, atomic_write_text, remove_staging
from qaexp.reproduction.cells import Keys, cells_of
from qaexp.reproduction.spec import result_tables


def test_folders_are_made_and_nothing_else_is_left(tmp_path: Path) -> None:
    atomic_write_text(tmp_path / "new" / "folder" / "table.csv", "a,b\n")
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")] == ["new/folder/table.csv"]
    assert (tmp_path / "new" / "folder" / "table.csv").read_bytes() == b"a,b\n"


def test_what_was_there_stays_when_writing_breaks_off(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text("before")

    def break_off() -> None:
        with atomic_write(path) as staging:
            staging.write_text("half")
            raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match=r"cannot write .*record\.json: No space left on device; free some space there, or name another"):
        break_off()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_in_the_way_of_a_folder_is_named_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(
        OutputError,
        match=r"cannot write .*/file/line\.csv: .*/file is a file, and a folder is needed there; name another place with --to FOLDER$",
    ):
        atomic_write_text(tmp_path / "file" / "line.csv", "", FIGURES_REMEDY)


def test_a_place_without_a_name_of_its_own_is_a_folder() -> None:
    with pytest.raises(OutputError, match=r"cannot write \.: it is a folder; name a file in it"):
        atomic_write_text(Path(), "text")


def test_keys_that_cannot_be_kept_are_composed_again(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cell = next(cells_of(result_tables()[0]))
    keys = Keys(tmp_path / "file" / "plans")
    found = keys.of(cell, [1])
    keys.save()
    assert Keys(tmp_path / "file" / "plans").of(cell, [1]) == found


def test_two_writers_with_the_same_pid_do_not_write_into_one_another(tmp_path: Path) -> None:
    """As the processes of two containers that share a disk."""
    with atomic_write(tmp_path / "table.csv") as mine:
        mine.write_text("mine")
        atomic_write_text(tmp_path / "table.csv", "another process's")
        assert mine.read_text() == "mine"


def test_half_written_files_are_removed_and_no_others(tmp_path: Path) -> None:
    with suppress(KeyboardInterrupt), atomic_write(tmp_path / "record.json") as staging:
        name = staging.name
        raise KeyboardInterrupt
    kept = ["record.json", ".claim", ".hydra", ".notes.txt"]
    for each in (name, ".last.ckpt.0123456789abcdef", *kept):
        (tmp_path / each).touch()
    (tmp_path / ".model.fedcba9876543210").mkdir()
    (tmp_path / ".model.fedcba9876543210" / "config.json").touch()
    remove_staging(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)
