"""Digests of what a run reads: whether a finished run has read the same files as a new run would read now."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qaexp.runs.other_runs import other_runs


@dataclass(frozen=True)
class Sources:
    """What a run would read now. A field that is None is unknown, and is not compared."""

    fingerprint: str
    """Of the texts."""
    vector_files: Sequence[str] | None = None
    """Digests of the files of word vectors."""
    written: Callable[[], str] | None = None
    """Gives the fingerprint of the texts as they are written. Only called if a run read them so."""
    revision: Callable[[str], str] | None = None
    """Gives the digest of the pretrained weights of a name, or nothing if they are not here. Only called if a run started from some."""
    pinned: Callable[[], Mapping[str, Any]] | None = None
    """Gives the configuration with pinned runs. Only called if a run started from another run or learned from one."""

    def match(self, data: Mapping[str, Any], config: Mapping[str, Any]) -> bool:
        """Whether a run with these `data` and `config` in its record read the same. Digests that an older record lacks are not compared."""
        if data.get("fingerprint") != self.fingerprint:
            return False
        files, written, weights = data.get("vectors", {}).get("files"), data.get("written"), data.get("weights", {})
        if self.vector_files is not None and files not in (None, self.vector_files):
            return False
        if self.written and written is not None and written != self.written():
            return False
        if self.revision and not all(is_same_revision(self.revision(name), digest) for name, digest in weights.items()):
            return False
        others = {option: run["weights"] for option, run in other_runs(config).items() if isinstance(run, Mapping) and "weights" in run}
        if not self.pinned or not others:
            return True
        present = other_runs(self.pinned())
        return all(present[option].get("weights", digest) == digest for option, digest in others.items())


def is_same_revision(one: str, other: str) -> bool:
    """Whether two digests of pretrained weights may be of the same files. A commit of the hub does not count: it may change a README alone.
    An older digest is the beginning of a newer one, or empty.

    >>> is_same_revision("sha256:a", "0123abc sha256:a sha256:b"), is_same_revision("sha256:a sha256:c", "sha256:a sha256:b")
    (True, False)
    """
    one, other = (text[max(0, text.find("sha256:")) :] for text in (one, other))
    return one.startswith(other) or other.startswith(one)
