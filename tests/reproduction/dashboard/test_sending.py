"""The library's own way to the server, which stands on this machine: what is sent is what --dry-run writes, and replaces what was there."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from stand_in import Server, stand_in

from qaexp.cli.dashboard import main
from qaexp.config import CONF
from qaexp.reproduction.spec import EXPERIMENTS
from qaexp.tracking.dashboard.workspace import VIEW

KEY = "0" * 40


def build(server: Server, options: list[str]) -> list[str]:
    """The lines that the command prints, in a process of its own: W&B's library keeps one server a process."""
    environment = {**os.environ, "WANDB_API_KEY": KEY, "WANDB_BASE_URL": server.url}
    command = [sys.executable, "-m", "qaexp.dashboard", *options]
    return subprocess.run(command, env=environment, cwd=CONF.parent, capture_output=True, text=True, check=True).stdout.splitlines()


def without_ids(node: Any) -> Any:
    """The ids of panels and run sets are drawn anew each time."""
    if isinstance(node, dict):
        return {name: without_ids(value) for name, value in node.items() if name not in ("id", "__id__")}
    return [without_ids(value) for value in node] if isinstance(node, list) else node


def test_views_are_sent_as_written_and_replaced_when_built_again(tmp_path: Path) -> None:
    shutil.copytree(EXPERIMENTS / "ctrn", tmp_path / "experiments" / "ctrn")
    options = ["--runs", str(tmp_path), "--experiments", str(tmp_path / "experiments")]
    with stand_in() as server:
        assert main([*options, "--dry-run", str(tmp_path / "views")]) == 0
        files = [json.loads(path.read_text()) for path in (tmp_path / "views").rglob("*.json")]
        written = {view["displayName"]: view for view in files}
        assert server.sent == [], "a dry run sends nothing"
        addresses = build(server, options)
        first = server.sent.copy()
        assert addresses[0] == f"{server.url}/me/qaexp?nw={VIEW.removeprefix('nw-').removesuffix('-v')}"
        assert server.projects[0] == "qaexp"
        assert {view["displayName"] for view in first} == set(written)
        for view in first:
            expected = written[view["displayName"]]
            assert without_ids(json.loads(view["spec"])) == without_ids(expected["spec"])
            assert (view["entityName"], view["projectName"], view["type"]) == ("me", "qaexp", expected["type"])
            assert not view.get("id")
        build(server, options)
        again = server.sent[len(first) :]
        assert [server.views[view["id"]]["displayName"] for view in again] == [view["displayName"] for view in first]
        assert len(server.views) == len(first)
