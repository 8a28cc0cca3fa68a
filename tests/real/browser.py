"""A real headless Chromium, a server on loopback that writes down what is asked of it, and the checkers of pages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from format_validators import of_npm

AXE = ("axe-core@4.14.1", "axe.min.js")
NU = ("vnu-jar@26.9.27", "build/dist/vnu.jar")


@contextmanager
def chromium() -> Iterator[Any]:
    """Playwright's Browser, driving the Chromium of the system."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.fail("chromium is not on PATH: .ci/packages installs it")
    options = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=options)
        try:
            yield browser
        finally:
            browser.close()


class Site:
    """Pages by path; `asked` are the paths that were requested."""

    def __init__(self) -> None:
        self.pages: dict[str, str] = {}
        self.asked: list[str] = []
        self.address = ""

    def put(self, name: str, page: str) -> str:
        self.pages[f"/{name}"] = page
        return f"{self.address}/{name}"


@contextmanager
def site() -> Iterator[Site]:
    served = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked.append(self.path)
            body = served.pages.get(self.path, "").encode()
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join(timeout=10)
        server.server_close()


def axe(page: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(violations, what axe could not decide) of a page as it stands."""
    page.evaluate(of_npm(*AXE).read_text("utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations', 'incomplete']})")
    return found["violations"], found["incomplete"]


def checked_by_nu(files: list[Path]) -> list[dict[str, Any]]:
    """What the Nu Html Checker says of files, hints included."""
    java = shutil.which("java")
    if java is None:
        pytest.fail("java is not on PATH: .ci/packages installs it")
    argv = [java, "-jar", str(of_npm(*NU)), "--format", "json", "--exit-zero-always", *map(str, files)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    messages = json.loads(done.stderr)["messages"]
    assert isinstance(messages, list)
    return messages
