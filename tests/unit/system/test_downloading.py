"""Downloads from a server that dies in the middle, lies, or leads elsewhere."""

from __future__ import annotations

import hashlib
import http.server
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from gpudoctor.system import downloading
from gpudoctor.system import http as door
from gpudoctor.system.live_changes import ActingHost
from gpudoctor.system.local_host import LocalHost
from gpudoctor.system.writable_host import ActFailed

CONTENT = os.urandom(1 << 20) + b"end"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = CONTENT
        self.ranges = True
        self.dies_after: list[int] = []
        """Bytes after which the connection is cut: one number for each request, then never."""
        self.asked: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server, wanted = self.server, self.headers.get("Range", "")
        server.asked.append(wanted)
        if self.path.startswith("/status/"):
            self.send_error(int(self.path.rpartition("/")[2]))
            return
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/file")
            self.end_headers()
            return
        at = int(wanted[6:-1]) if wanted and server.ranges else 0
        if at >= len(server.content):
            self.send_error(416)
            return
        rest = server.content[at:]
        self.send_response(206 if at else 200)
        if at:
            self.send_header("Content-Range", f"bytes {at}-{len(server.content) - 1}/{len(server.content)}")
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        cut = server.dies_after.pop(0) if server.dies_after else len(rest)
        try:
            self.wfile.write(rest[:cut])
        except OSError:
            pass
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "downloads").mkdir()
    return tmp_path / "downloads"


@pytest.fixture
def machine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> ActingHost:
    monkeypatch.setattr(downloading.time, "sleep", lambda _: None)
    return ActingHost(LocalHost(), log=folder.parent / "state" / "log")


def test_a_broken_download_goes_on_where_it_was(server: Server, machine: ActingHost, folder: Path) -> None:
    server.dies_after = [300_000, 0, 200_000]
    machine.download(f"{server.url}/moved", str(folder / "file"), sha256=SHA256.upper(), size=len(CONTENT))
    assert (folder / "file").read_bytes() == CONTENT
    assert [wanted for wanted in server.asked if wanted][-1] == "bytes=500000-"
    assert sorted(os.listdir(folder)) == ["file"]
    server.asked.clear()
    machine.offline = True
    machine.download(f"{server.url}/file", str(folder / "file"), sha256=SHA256)
    assert server.asked == [], "what is there already is not fetched again"


def test_a_server_that_stays_away_is_given_up_and_resumed_later(server: Server, machine: ActingHost, folder: Path) -> None:
    server.dies_after = [300_000, 0, 0, 0, 0]
    with pytest.raises(ActFailed, match="the connection broke"):
        machine.download(f"{server.url}/file", str(folder / "file"), sha256=SHA256)
    assert sorted(os.listdir(folder)) == ["file" + downloading.PART]
    machine.download(f"{server.url}/file", str(folder / "file"), sha256=SHA256)
    assert server.asked[-1] == "bytes=300000-" and (folder / "file").read_bytes() == CONTENT


def test_a_server_without_ranges_is_read_from_the_beginning(server: Server, machine: ActingHost, folder: Path) -> None:
    server.ranges, server.dies_after = False, [300_000]
    machine.download(f"{server.url}/file", str(folder / "file"), sha256=SHA256)
    assert (folder / "file").read_bytes() == CONTENT


def test_another_checksum_is_refused_and_nothing_stays(server: Server, machine: ActingHost, folder: Path) -> None:
    (folder / "file").write_bytes(b"before")
    with pytest.raises(ActFailed, match=f"the checksum is {SHA256}, not 0000"):
        machine.download(f"{server.url}/file", str(folder / "file"), sha256="0" * 64)
    assert (folder / "file").read_bytes() == b"before" and sorted(os.listdir(folder)) == ["file"]
    assert len(server.asked) == 1


@pytest.mark.parametrize("stale", [b"of another file", b"x" * len(CONTENT), b"x" * (len(CONTENT) + 5)])
def test_a_part_of_another_file_is_thrown_away(server: Server, machine: ActingHost, folder: Path, stale: bytes) -> None:
    (folder / ("file" + downloading.PART)).write_bytes(stale)
    machine.download(f"{server.url}/file", str(folder / "file"), sha256=SHA256, size=len(CONTENT))
    assert (folder / "file").read_bytes() == CONTENT and sorted(os.listdir(folder)) == ["file"]


def test_no_more_than_the_size_is_taken(server: Server, machine: ActingHost, folder: Path) -> None:
    with pytest.raises(ActFailed, match="larger than it should be"):
        machine.download(f"{server.url}/file", str(folder / "file"), sha256=SHA256, size=1000)
    assert os.listdir(folder) == []


@pytest.mark.parametrize(("address", "reason"), [("file:///etc/hostname", "not an address of http"), ("/status/404", "status 404")])
def test_what_cannot_be_had_is_said_at_once(server: Server, machine: ActingHost, folder: Path, address: str, reason: str) -> None:
    url = address if ":" in address else server.url.replace("//", "//me:secret@") + address
    with pytest.raises(ActFailed, match=reason) as failed:
        machine.download(url, str(folder / "file"), sha256=SHA256)
    assert "secret" not in str(failed.value) and len(server.asked) <= 1
    with pytest.raises(ActFailed, match=reason):
        machine.fetch(url)
    assert os.listdir(folder) == []


def test_a_busy_server_is_asked_again(server: Server, machine: ActingHost, folder: Path) -> None:
    with pytest.raises(ActFailed, match="status 503"):
        machine.download(f"{server.url}/status/503", str(folder / "file"), sha256=SHA256)
    assert len(server.asked) == downloading.FRUITLESS


def test_offline_opens_no_socket(server: Server, folder: Path) -> None:
    machine = ActingHost(LocalHost(), log=folder.parent / "state" / "log", offline=True)
    for act in (lambda: machine.fetch(server.url), lambda: machine.download(server.url, str(folder / "file"), sha256=SHA256)):
        with pytest.raises(ActFailed, match="no network may be used"):
            act()
    assert server.asked == []


def test_fetch_follows_and_limits(server: Server, machine: ActingHost) -> None:
    assert machine.fetch(f"{server.url}/moved") == CONTENT
    with pytest.raises(ActFailed, match="larger than it should be"):
        machine.fetch(f"{server.url}/file", limit=1000)


@pytest.mark.parametrize(
    ("here", "there", "refused"),
    [
        ("https://a/x", "http://a/x", True), ("https://a/x", "ftp://a/x", True), ("https://a/x", "//b/x", False),
        ("https://a/x", "/y", False),
        ("http://a/x", "http://b/x", False), ("http://a/x", "https://a/x", False),
    ],
)  # fmt: skip
def test_no_redirection_leads_from_https_to_less(here: str, there: str, refused: bool) -> None:
    answer = requests.Response()
    answer.url, answer.status_code = here, 302
    answer.headers["location"] = there
    if refused:
        with pytest.raises(door._Trouble, match="insecure"):
            door._keep_secure(answer)
    else:
        door._keep_secure(answer)
