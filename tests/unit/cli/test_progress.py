"""What is shown while somebody waits: on a terminal, after a second, and nothing where control sequences are not understood."""

from __future__ import annotations

import io
import time

import pytest

from gpudoctor.cli import progress
from gpudoctor.cli.progress import StatusLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, term: str, seconds: float, quiet: bool = False) -> str:
    screen = Terminal()
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr(progress, "PATIENCE", 0.1)
    line = StatusLine(quiet=quiet)
    line.looking("kernel_log\x1b]0;owned\x07")
    time.sleep(seconds)
    line.wipe()
    return screen.getvalue()


def test_a_long_wait_says_for_what_and_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    said = shown(monkeypatch, "xterm", 0.8)
    assert "Checking kernel log" in said and "0:00:00" in said and "owned" not in said


def test_a_short_wait_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, "xterm", 0.0) == ""


def test_a_dumb_terminal_and_a_quiet_run_get_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, "dumb", 0.4) == "" == shown(monkeypatch, "xterm", 0.4, quiet=True)
