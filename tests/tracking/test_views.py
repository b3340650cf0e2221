"""Views are sent to a server on this machine as --dry-run writes them, and replace those that were there."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from qaexp.cli.dashboard import main
from qaexp.config import CONF
from qaexp.reproduction.content import EXPERIMENTS
from qaexp.tracking.workspace import VIEW

KEY = "0" * 40


class Server(ThreadingHTTPServer):
    """The part of W&B's server that a dashboard needs: it keeps the project and the views that are sent to it.

    Answers GraphQL. `sent` has the variables of every view that came, in order; `views` the last of each id.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.projects: list[str] = []
        self.sent: list[dict[str, Any]] = []
        self.views: dict[str, dict[str, Any]] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, query: str, variables: dict[str, Any]) -> dict[str, Any]:
        if "upsertView" in query:
            self.sent.append(variables)
            number = variables.get("id") or f"view{len(self.views)}"
            times = {"createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z"}
            project = {"id": "p", "name": variables["projectName"], "entityName": variables["entityName"]}
            self.views[number] = {**variables, "id": number, "project": project, "user": {"username": "me"}, **times}
            return {"upsertView": {"view": self.views[number], "inserted": True}}
        if "upsertModel" in query:
            self.projects.append(variables["input"]["name"])
            return {"upsertModel": {"project": None, "model": None, "inserted": True}}
        if "GetProjects" in query:
            described = {"entityName": "me", "createdAt": "2026-01-01T00:00:00Z", "isBenchmark": False, "user": None}
            edges = [{"node": {"id": name, "name": name, **described}} for name in self.projects]
            return {"models": {"edges": edges, "pageInfo": {"endCursor": None, "hasNextPage": False}}}
        if "allViews" in query:
            found = [view for view in self.views.values() if view["type"] == variables.get("viewType", "runs")]
            edges = [{"node": view, "cursor": "c"} for view in found if variables.get("viewName") in (None, view["name"])]
            return {"project": {"allViews": {"edges": edges, "pageInfo": {"endCursor": None, "hasNextPage": False}}}}
        return {"viewer": {"id": "u", "entity": "me", "username": "me", "flags": "{}", "teams": {"edges": []}, "apiKeys": {"edges": []}}}


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"] or 0))
        body = json.loads(raw) if self.path == "/graphql" else {}
        content = json.dumps({"data": self.server.answer(body.get("query", ""), body.get("variables") or {})}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@contextmanager
def stand_in() -> Iterator[Server]:
    """A server that runs for the time of a block."""
    with Server() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def build(server: Server, options: list[str]) -> list[str]:
    """The lines that the command prints, in a process of its own: W&B's library keeps one server a process."""
    environment = {**os.environ, "WANDB_API_KEY": KEY, "WANDB_BASE_URL": server.url}
    command = [sys.executable, "-m", "qaexp", "dashboard", *options]
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
