"""Issue trackers on 127.0.0.1 that answer as GitHub, GitLab and Gitea do: the same paths, headers and error bodies.

with TrackerServer() as tracker:
    tracker.url                    # http://127.0.0.1:PORT
    tracker.comments               # texts that were written
    tracker.trouble = "store-then-hang-up"
"""

from __future__ import annotations

import http.server
import json
import re
import threading
import time
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN = "right-token-0123456789"
GITHUB_ERRORS: dict[int, tuple[dict[str, Any], dict[str, str]]] = {
    401: ({"message": "Bad credentials", "documentation_url": "https://docs.github.com/rest", "status": "401"}, {}),
    403: ({"message": "Resource not accessible by personal access token", "status": "403"}, {"X-RateLimit-Remaining": "4999"}),
    404: ({"message": "Not Found", "documentation_url": "https://docs.github.com/rest", "status": "404"}, {}),
    410: ({"message": "This issue was deleted", "status": "410"}, {}),
    422: (
        {"message": "Validation Failed", "errors": [
            {"resource": "IssueComment", "code": "unprocessable", "message": "Body is too long (maximum is 65536 characters)"}
        ]}, {},
    ),
    429: ({"message": "You have exceeded a secondary rate limit."}, {"Retry-After": "60"}),
    500: ({"message": "Server Error"}, {}),
}  # fmt: skip
_ISSUE = re.compile(
    r"/api/(v1|v3|v4)/(?:repos/(?P<path>[^/]+/[^/]+)|projects/(?P<project>[^/]+))/issues/(?P<number>\d+)(?P<rest>/comments|/notes)?"
)


class TrackerServer:
    """`moved`: a project that has another name now, by its old one. `elsewhere`: where a redirection of it leads away to."""

    def __init__(self) -> None:
        self.comments: list[str] = []
        self.asked: list[tuple[str, str, str]] = []
        """(method, path, Authorization) of each question."""
        self.trouble = ""
        self.error: tuple[int, dict[str, Any] | bytes, dict[str, str]] | None = None
        """Answered to what writes, or with `error_on_read` to everything."""
        self.error_on_read = False
        self.moved: dict[str, str] = {}
        self.elsewhere = ""
        self.files: dict[str, bytes] = {}
        """Of the project, by path: .github/ISSUE_TEMPLATE/bug.yml."""
        self.kind = "github"
        tracker = self

        class Handler(_Handler):
            owner = tracker

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self) -> TrackerServer:
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.server.shutdown()
        self.server.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: TrackerServer

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length", "0"))))

    def _answer(self, body: bytes) -> None:
        owner, address = self.owner, urlsplit(self.path)
        owner.asked.append((self.command, self.path, self.headers.get("Authorization", "")))
        if owner.error is not None and (owner.error_on_read or self.command == "POST"):
            status, content, headers = owner.error
            self._send(status, content, headers)
            return
        if self._about(address.path):
            return
        found = _ISSUE.fullmatch(address.path)
        if found is None:
            self._file(address.path)
            return
        path = unquote(found["path"] or found["project"])
        if path in owner.moved:
            to = self.path.replace(found["path"] or found["project"], owner.moved[path], 1)
            self._send(301, {"message": "Moved Permanently"}, {"Location": f"{owner.elsewhere or owner.url}{to}"})
        elif self.command == "GET" and not found["rest"]:
            self._send(200, {"number": int(found["number"]), "title": "It does not compute", "state": "open"})
        elif self.command == "GET":
            page = int(parse_qs(address.query).get("page", ["1"])[0])
            texts = list(enumerate(owner.comments, 1))
            rows = [self._row(number, text) for number, text in texts]
            self._send(200, rows[(page - 1) * 100 : page * 100] if found[1] != "v1" else rows)
        else:
            self._write(body)

    def _about(self, path: str) -> bool:
        about = {"gitea": "/api/v1/version", "github": "/api/v3/meta", "gitlab": "/api/v4/version"}
        if path not in about.values():
            return False
        if about[self.owner.kind] != path:
            self._send(404, b"<html>not here</html>", {"Content-Type": "text/html"})
        elif self.owner.kind == "gitlab":
            self._send(401, {"message": "401 Unauthorized"})
        else:
            self._send(200, {"version": "1.24.0", "installed_version": "3.16.0"})
        return True

    def _write(self, body: bytes) -> None:
        owner = self.owner
        trouble, owner.trouble = owner.trouble, "" if not owner.trouble.startswith("always-") else owner.trouble
        trouble = trouble.removeprefix("always-")
        if TOKEN not in self.headers.get("Authorization", ""):
            self._send(401, GITHUB_ERRORS[401][0])
            return
        if trouble.startswith("store") or not trouble:
            owner.comments.append(json.loads(body)["body"])
        if trouble.endswith("hang-up"):
            self.close_connection = True
            self.connection.close()
        elif trouble.endswith("silence"):
            time.sleep(1.5)
            self.close_connection = True
        elif trouble.endswith("gateway"):
            self._send(502, b"<html>Bad Gateway</html>", {"Content-Type": "text/html"})
        else:
            self._send(201, self._row(len(owner.comments), owner.comments[-1]))

    def _row(self, number: int, text: str) -> dict[str, Any]:
        return {"id": number, "body": text, "html_url": f"{self.owner.url}/owner/repo/issues/5#issuecomment-{number}"}

    def _file(self, path: str) -> None:
        """Folders and files of the contents interface; a folder is a list, a file is raw."""
        inner = unquote(path.partition("/contents/")[2])
        mine = path.startswith("/api/v3/repos/owner/repo/")
        if mine and inner in self.owner.files:
            self._send(200, self.owner.files[inner], {"Content-Type": "application/vnd.github.raw+json"})
            return
        rows = [
            {"name": name.rpartition("/")[2], "path": name, "type": "file", "size": len(text), "download_url": "https://elsewhere.invalid/"}
            for name, text in self.owner.files.items() if mine and name.rpartition("/")[0] == inner
        ]  # fmt: skip
        if rows:
            self._send(200, rows)
        else:
            self._send(404, GITHUB_ERRORS[404][0])

    def _send(self, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json; charset=utf-8", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        pass
