"""Unit tests start no process and ask no network; what needs one is a test of tests/real. Python itself reports every way of doing so.

A test that must start one of its own (our command line in a child, a shell that reads what we quoted) says why:
    @pytest.mark.starts_processes("Ctrl-C needs a process of its own")
"""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

PROCESSES = frozenset(("subprocess.Popen", "os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.spawn", "os.system"))
ADDRESSES = frozenset(("socket.connect", "socket.sendto", "socket.getaddrinfo"))
HOW = "It belongs into tests/real. Where a process of its own is the point of a unit test: @pytest.mark.starts_processes(reason)."


class Guard:
    """What the running test may do. `refused`: what it tried, also where the code under test caught the refusal."""

    def __init__(self) -> None:
        self.watching = False
        self.may_start = False
        self.refused: list[str] = []

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.watching:
            return
        if event in PROCESSES and not self.may_start:
            what = arguments[1] if event == "subprocess.Popen" else arguments[:1]
            self._refuse(f"a unit test starts a process: {event} {str(what)[:200]}. {HOW}")
        elif event in ADDRESSES and not _loopback(arguments[0] if event == "socket.getaddrinfo" else arguments[1]):
            self._refuse(f"a unit test asks the network: {event} {str(arguments[:2])[:200]}. {HOW}")

    def _refuse(self, what: str) -> None:
        self.refused.append(what)
        raise AssertionError(what)


def _loopback(address: object) -> bool:
    host = address[0] if isinstance(address, tuple) else address
    if host in (None, "", "localhost"):
        return True
    try:
        return ipaddress.ip_address(str(host)).is_loopback
    except ValueError:  # a name, or the path of a Unix socket
        return False


guard = Guard()
sys.addaudithook(guard)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        mark = item.get_closest_marker("starts_processes")
        if mark and Path(__file__).parent in item.path.parents and not (mark.args and str(mark.args[0]).strip()):
            raise pytest.UsageError(f"{item.nodeid}: starts_processes needs a reason, as text")
    items.sort(key=lambda item: item.get_closest_marker("early") is None)  # stable: all others keep their order


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Around fixtures of every scope too."""
    guard.refused, guard.may_start, guard.watching = [], item.get_closest_marker("starts_processes") is not None, True
    try:
        return (yield)
    finally:
        guard.watching = False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    done = yield
    if guard.refused:
        pytest.fail(guard.refused[0], pytrace=False)
    return done
