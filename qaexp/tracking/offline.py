"""What an offline W&B run holds, read from its own file (`run-<id>.wandb`), without a server.

The file is a log in LevelDB's framing: after 7 bytes of header, blocks of 32 KiB, each with fragments of records; a fragment has its
checksum (4 bytes, of type and content), length (2) and type (1: whole, 2: first, 3: middle, 4: last). Records are W&B's protocol buffers.
"""

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qaexp.errors import BadDataError

HEADER = struct.Struct("<4sHB")
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
    exit_code: int | None = None
    """None while the run goes on, and where it was killed."""

    def logged(self, key: str) -> list[Any]:
        """The values of one key, in the order in which they were logged."""
        return [line[key] for line in self.history if key in line]

    def table(self, key: str) -> dict[str, Any]:
        """The columns and data of a table that was logged."""
        return json.loads((self.folder / self.logged(key)[-1]["path"]).read_text(encoding="utf-8"))


def offline_runs(folder: Path) -> list[Path]:
    """The offline runs anywhere below a folder, oldest first."""
    return sorted((path.parent for path in folder.rglob("offline-run-*/run-*.wandb")), key=lambda path: path.name)


def read_offline(run: Path) -> OfflineRun:
    """The run in a folder `wandb/offline-run-<time>-<id>`.

    Raises:
        BadDataError: its file is damaged.
    """
    from wandb.proto.wandb_internal_pb2 import Record  # pyright: ignore[reportAttributeAccessIssue]  # made at run time

    [path] = run.glob("run-*.wandb")
    read = OfflineRun(run / "files")
    for content in _records(path):
        record = Record.FromString(content)
        match record.WhichOneof("record_type"):
            case "run":
                read.id, read.project, read.group, read.name = (
                    record.run.run_id,
                    record.run.project,
                    record.run.run_group,
                    record.run.display_name,
                )
                read.tags = list(record.run.tags)
                _update(read.config, record.run.config.update)
            case "config":
                _update(read.config, record.config.update)
            case "history":
                _update(line := {}, record.history.item)
                read.history.append(line)
                read.summary |= line
            case "summary":
                _update(read.summary, record.summary.update)
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


def _records(path: Path) -> Iterator[bytes]:
    """The records of a log; one that was cut off at the end, as by a power cut, is left out."""
    log = path.read_bytes()
    if len(log) < HEADER.size:  # it has just begun
        return
    if HEADER.unpack_from(log)[0] != b":W&B":
        raise BadDataError(path, ["it does not begin as W&B's logs do"], "The run cannot be read back; its record.json can.")
    place, parts = HEADER.size, b""
    while len(log) - place >= FRAGMENT.size:
        if BLOCK - place % BLOCK < FRAGMENT.size:  # too little is left of the block for a fragment
            place += BLOCK - place % BLOCK
            continue
        checksum, length, kind = FRAGMENT.unpack_from(log, place)
        end = place + FRAGMENT.size + length
        if end > len(log):
            return
        if zlib.crc32(log[place + FRAGMENT.size - 1 : end]) != checksum:
            raise BadDataError(path, [f"byte {place}: a checksum does not fit"], "The run cannot be read back; its record.json can.")
        parts += log[place + FRAGMENT.size : end]
        if kind in (WHOLE, LAST):
            yield parts
            parts = b""
        place = end
