"""What of W&B's server a dashboard needs, on this machine: it keeps the project and the views that are sent to it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class Server(ThreadingHTTPServer):
    """Answers GraphQL. `sent` has the variables of every view that came, in order; `views` the last of each id."""

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
