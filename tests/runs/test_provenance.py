"""The commit and the versions that a record names."""

import subprocess
from pathlib import Path

from qaexp.runs.provenance import _version, commit_of


def test_a_record_says_whether_the_code_was_committed_whatever_tables_were_written_since(tmp_path: Path) -> None:
    def git(*command: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *command], cwd=tmp_path, check=True, capture_output=True)

    assert commit_of(tmp_path) == ""
    for name in ("qaexp/losses.py", "conf/config.yaml", "results/table4.md"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("as it was\n")
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    commit = commit_of(tmp_path)
    assert len(commit) == 40
    (tmp_path / "results/table4.md").write_text("a new number\n")
    (tmp_path / "results/run.json").write_text("{}\n")
    assert commit_of(tmp_path) == commit
    for name in ("qaexp/losses.py", "conf/new.yaml"):
        (tmp_path / name).write_text("changed\n")
        assert commit_of(tmp_path) == f"{commit}+changes"
        git("stash", "--include-untracked")


def test_a_library_that_is_not_installed_is_called_so() -> None:
    """A checkout may be run where it is not installed, and a run may do without some of the libraries."""
    assert _version("no-such-library") == "not installed"
    assert _version("torch")[0].isdigit()
