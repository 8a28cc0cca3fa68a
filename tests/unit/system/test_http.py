"""The network door, against a server of our own."""

from __future__ import annotations

import http.server
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from gpudoctor.system.http import HttpClient


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(404 if self.path == "/none" else 200)
        if self.path == "/cut":
            self.send_header("Content-Length", "100")
        self.end_headers()
        try:
            for _ in range(100 if self.path == "/drip" else 1):
                self.wfile.write(b"x" * (100_000 if self.path == "/big" else 1))
                self.wfile.flush()
                time.sleep(0.05 if self.path == "/drip" else 0)
        except OSError:
            pass

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_answers(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    network = HttpClient(online=True)
    assert network.get(f"{address}/").text == "x" and network.get(f"{address}/").ok
    assert network.get(f"{address}/none").status == 404
    big = network.get(f"{address}/big", limit=1000)
    assert (big.problem, big.status, big.ok, big.content) == ("too-large", 200, False, b"")
    began = time.monotonic()
    assert network.get(f"{address}/drip", timeout=0.3).problem in ("timeout", "unreachable")
    assert time.monotonic() - began < 3
    assert network.get("http://127.0.0.1:1/").problem == "unreachable"
    assert network.get("file:///etc/passwd").problem == "bad-address"
    assert network.get("http://[broken/").problem in ("bad-address", "unreachable")


def test_an_answer_that_breaks_off_is_none_but_a_question_may_have_done_something(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    network = HttpClient(online=True)
    got, sent = network.get(f"{address}/cut"), network.send("GET", f"{address}/cut", headers={})
    assert (got.problem, got.status) == ("unreachable", None) and (sent.problem, sent.status) == ("unreachable", 200)
    assert not got.ok and not sent.ok and sent.headers["content-length"] == "100"


def test_offline_opens_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert HttpClient(online=False).get("https://example.org/").problem == "offline"


def test_a_token_is_not_sent_in_the_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for name in ("Authorization", "PRIVATE-TOKEN"):
        answer = HttpClient(online=True).send("GET", "http://tracker.example/api", headers={name: "secret"})
        assert answer.problem == "insecure" and answer.status is None


class Telling(http.server.BaseHTTPRequestHandler):
    seen: ClassVar[list[tuple[str, str | None]]] = []

    def do_GET(self) -> None:
        self.seen.append((self.path, self.headers.get("Authorization")))
        self.send_response(302 if self.path == "/away" else 200)
        if self.path == "/away":
            self.send_header("Location", f"http://localhost:{self.server.server_port}/there")  # type: ignore[attr-defined]
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_passwords_of_netrc_go_nowhere_but_where_they_belong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To this machine itself as an example: neither after a redirection, nor over http to another one."""
    netrc = tmp_path / "netrc"
    netrc.write_text("".join(f"machine {host} login a password b\n" for host in ("127.0.0.1", "localhost", "plain.example")))
    monkeypatch.setenv("NETRC", str(netrc))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Telling)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        assert HttpClient(online=True).get(f"http://127.0.0.1:{server.server_port}/away").ok
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.server_port}")
        assert HttpClient(online=True).get("http://plain.example/index").ok
    finally:
        server.shutdown()
    assert [path for path, _ in Telling.seen] == ["/away", "/there", "http://plain.example/index"]
    assert Telling.seen[0][1] is not None and Telling.seen[1][1] is None and Telling.seen[2][1] is None
