"""Calls of an assistant beside each other: each in a process of its own, with a limit, and gone when no caller waits any more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.cli import mcp_call
from gpudoctor.cli.assistant_tools import Allowed, names_of
from gpudoctor.cli.mcp import answer, answer_apart, looks_here, refusal
from gpudoctor.system import isolated_calls

pytestmark = pytest.mark.starts_processes("each call of an assistant is answered by a process of its own")

MACHINES = Path(__file__).parents[2] / "machines"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """A module with this `main`, by its name."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(body: str) -> str:
        name = f"helper_{len(list(tmp_path.glob('*.py')))}_{os.getpid()}"
        (tmp_path / f"{name}.py").write_text("import subprocess, sys, time\nfrom pathlib import Path\n\n\ndef main(given):\n" + body)
        return name

    return make


def living(mark: str) -> list[str]:
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if mark in line and "ps -eo" not in line]


def test_what_it_prints_is_the_answer(module: Callable[[str], str]) -> None:
    done = isolated_calls.call(module("    print('hello', given['name'])\n"), {"name": "you"}, limit=20, stop=threading.Event())
    assert done == isolated_calls.Helped("hello you\n")


def test_a_crash_a_flood_and_a_late_one_are_told_apart(module: Callable[[str], str]) -> None:
    stop = threading.Event()
    crashed = isolated_calls.call(module("    raise ValueError('no such thing')\n"), {}, limit=20, stop=stop)
    assert crashed.problem.endswith("ValueError: no such thing")
    assert isolated_calls.call(module("    print('x' * 3_000_000)\n"), {}, limit=20, stop=stop).problem == "too-large"
    assert isolated_calls.call(module("    time.sleep(60)\n"), {}, limit=0.5, stop=stop).problem == "timeout"


@LINUX
def test_one_that_nobody_waits_for_ends_at_once_with_what_it_started(module: Callable[[str], str], tmp_path: Path) -> None:
    """Also a child that the call has put into a session of its own, as it does with every framework that it asks."""
    mark = f"61{os.getpid()}"
    body = (
        "    from gpudoctor.system.local_host import LocalHost\n"
        f"    Path({str(tmp_path / 'begun')!r}).write_text('')\n"
        f"    LocalHost(budget=60).run(['sleep', '{mark}'], timeout=60)\n"
    )
    stop = threading.Event()
    found: list[isolated_calls.Helped] = []
    thread = threading.Thread(target=lambda: found.append(isolated_calls.call(module(body), {}, limit=60, stop=stop)))
    thread.start()
    until = time.monotonic() + 20
    while not living(f"sleep {mark}") and time.monotonic() < until:
        time.sleep(0.05)
    assert living(f"sleep {mark}")
    began = time.monotonic()
    stop.set()
    thread.join(10)
    assert not thread.is_alive() and time.monotonic() - began < 2 and found[0].problem == "stopped"
    assert not living(f"sleep {mark}")


def test_calls_run_beside_each_other(module: Callable[[str], str]) -> None:
    name, done = module("    time.sleep(1.5)\n    print('x')\n"), []
    began = time.monotonic()
    threads = [
        threading.Thread(target=lambda: done.append(isolated_calls.call(name, {}, limit=20, stop=threading.Event()))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each.said for each in done] == ["x\n"] * 3
    assert time.monotonic() - began < 4


def test_a_module_in_the_current_folder_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("json", "importlib", "gpudoctor"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    text, failed = answer_apart("list", {"kind": "stacks"}, Allowed(), threading.Event())
    assert not failed and json.loads(text) and not (tmp_path / "ran").exists()


def test_a_call_is_answered_by_its_process_as_in_this_one() -> None:
    allowed = Allowed(files=names_of([str(MACHINES / "rtx4090-stub-libcuda")]))
    text, failed = answer_apart("check", {"capture": "rtx4090-stub-libcuda"}, allowed, threading.Event())
    assert not failed and json.loads(text)["findings"][0]["id"] == "cuda-stub-on-loader-path"
    assert "was not given" in answer_apart("check", {"capture": "/etc/passwd"}, allowed, threading.Event())[0]


def test_a_call_that_takes_too_long_says_so() -> None:
    text, failed = answer_apart("explain", {"text": "RuntimeError: x"}, Allowed(), threading.Event(), limit=0.01)
    assert failed and "given up" in text and "\n" not in text


@LINUX
@pytest.mark.parametrize(
    ("name", "arguments"), [("explain", {"text": "x"}), ("check", {"capture": "x"}), ("diff", {"before": "x", "after": "y"})]
)
def test_what_is_only_read_is_read_under_the_limit_of_memory(
    name: str, arguments: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import resource

    seen: list[int] = []

    def answer(*_: object) -> tuple[str, bool]:
        seen.append(resource.getrlimit(resource.RLIMIT_DATA)[0])
        return "", False

    monkeypatch.setattr("gpudoctor.cli.mcp.answer", answer)
    mcp_call.main({"name": name, "arguments": arguments, "files": {}, "python": None})
    assert 0 < seen[0] < 10**12 and json.loads(capsys.readouterr().out) == {"text": "", "failed": False}


def test_one_that_needs_too_much_memory_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def explain(*_: object, **more: object) -> None:
        raise MemoryError

    monkeypatch.setattr("gpudoctor.services.explaining.explain", explain)
    text, failed = answer("explain", {"text": "RuntimeError: x"}, Allowed(), threading.Event())
    assert failed and "300 MB" in text and "\n" not in text


@pytest.mark.parametrize(
    ("name", "arguments", "here"),
    [
        ("check", {}, True), ("check", {"capture": "x"}, False), ("plan", {"recipe": "cuda"}, True), ("explain", {"text": "x"}, False),
        ("diff", {"before": "x"}, True), ("diff", {"before": "x", "after": "y"}, False), ("list", {"kind": "facts"}, False),
    ],
)  # fmt: skip
def test_which_calls_look_at_this_machine(name: str, arguments: dict[str, Any], here: bool) -> None:
    assert looks_here(name, arguments) is here


def test_arguments_3000_deep_are_refused() -> None:
    deep: Any = []
    for _ in range(3000):
        deep = [deep]
    assert refusal("check", {"facts": deep})
