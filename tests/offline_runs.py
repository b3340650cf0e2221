"""Reads offline W&B runs back: what a run logged, from its file `run-<id>.wandb`.

The file is a log in LevelDB's framing: 7 bytes of header, then blocks of 32 KiB with fragments of records. A fragment has its checksum
(4 bytes), length (2) and type (1: whole, 2: first, 3: middle, 4: last). Records are W&B's protocol buffers.
"""

import json
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wandb.proto.wandb_internal_pb2 import Record

from qaexp.tracking.sync import offline_runs

HEADER = 7
FRAGMENT = struct.Struct("<IHB")
BLOCK = 32 * 1024
WHOLE, LAST = 1, 4


@dataclass
class OfflineRun:
    """What was logged, in order. `folder` holds the files that media in `history` and `summary` name by `path`."""

    folder: Path
    id: str = ""
    project: str = ""
    group: str = ""
    name: str = ""
    tags: list[str] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)
    artifacts: list[dict[str, bytes]] = field(default_factory=list)
    """The files of each artifact that was logged, by name."""
    exit_code: int | None = None
    """None as long as the run is open."""

    def logged(self, key: str) -> list[Any]:
        """The values of one key, in the order in which they were logged."""
        return [line[key] for line in self.history if key in line]

    def table(self, key: str) -> dict[str, Any]:
        """The columns and data of a table that was logged."""
        return json.loads((self.folder / self.logged(key)[-1]["path"]).read_text(encoding="utf-8"))


def closed_runs(folder: Path) -> list[OfflineRun]:
    """The runs below a folder, once W&B's process has written their ends, a moment after `finish`."""
    for _ in range(100):
        runs = [read_run(run) for run in offline_runs(folder)]
        if all(run.exit_code is not None for run in runs):
            return runs
        time.sleep(0.1)
    raise AssertionError("a run has no end after ten seconds")


def read_run(folder: Path) -> OfflineRun:
    """The run in a folder `wandb/offline-run-<time>-<id>`."""
    [path] = folder.glob("run-*.wandb")
    read = OfflineRun(folder / "files")
    for content in _records(path.read_bytes()):
        record = Record.FromString(content)
        match record.WhichOneof("record_type"):
            case "run":
                run = record.run
                read.id, read.project, read.group, read.name = run.run_id, run.project, run.run_group, run.display_name
                read.tags = list(run.tags)
                _update(read.config, run.config.update)
            case "config":
                _update(read.config, record.config.update)
            case "history":
                _update(line := {}, record.history.item)
                read.history.append(line)
                read.summary |= line
            case "summary":
                _update(read.summary, record.summary.update)
            case "request" if record.request.WhichOneof("request_type") == "log_artifact":
                files = record.request.log_artifact.artifact.manifest.contents
                read.artifacts.append({file.path: Path(file.local_path).read_bytes() for file in files if file.local_path})
            case "artifact":
                files = record.artifact.manifest.contents
                read.artifacts.append({file.path: Path(file.local_path).read_bytes() for file in files if file.local_path})
            case "exit":
                read.exit_code = record.exit.exit_code
    return read


def _update(values: dict[str, Any], items: Any) -> None:
    for item in items:
        [*above, key] = item.nested_key or [item.key]
        place = values
        for name in above:
            place = place.setdefault(name, {})
        place[key] = json.loads(item.value_json)


def _records(log: bytes) -> Iterator[bytes]:
    """The whole records of a log, without one that is being written."""
    place, parts = HEADER, b""
    while len(log) - place >= FRAGMENT.size:
        if BLOCK - place % BLOCK < FRAGMENT.size:  # the rest of a block is too short for a fragment
            place += BLOCK - place % BLOCK
            continue
        _, length, kind = FRAGMENT.unpack_from(log, place)
        end = place + FRAGMENT.size + length
        if end > len(log):
            return
        parts += log[place + FRAGMENT.size : end]
        if kind in (WHOLE, LAST):
            yield parts
            parts = b""
        place = end
