"""The network door, against a server of our own."""

from __future__ import annotations

import http.server
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from gpudoctor.host.http import Network


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(404 if self.path == "/none" else 200)
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
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_answers(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    network = Network(online=True)
    assert network.get(f"{address}/").text == "x" and network.get(f"{address}/").ok
    assert network.get(f"{address}/none").status == 404
    assert network.get(f"{address}/big", limit=1000).problem == "too-large"
    began = time.monotonic()
    assert network.get(f"{address}/drip", timeout=0.3).problem in ("timeout", "unreachable")
    assert time.monotonic() - began < 3
    assert network.get("http://127.0.0.1:1/").problem == "unreachable"
    assert network.get("file:///etc/passwd").problem == "bad-address"
    assert network.get("http://[broken/").problem in ("bad-address", "unreachable")


def test_offline_opens_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert Network(online=False).get("https://example.org/").problem == "offline"
