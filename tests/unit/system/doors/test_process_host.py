"""A running process in the place of a machine: this very test, and what /proc shows of others."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.system.doors import process_snapshot
from gpudoctor.system.doors.process_host import ProcessHost, interpreter
from gpudoctor.system.doors.process_snapshot import Snapshot, take
from gpudoctor.system.host import DoorError

OURS = str(os.getpid())


def test_a_process_is_read_as_it_is() -> None:
    host = ProcessHost(OURS)
    assert host.door.kind == "process" and host.door.title.startswith(f"process {OURS}: ")
    assert not host.in_container
    assert host.readlink("/proc/self/exe") == os.readlink("/proc/self/exe")
    assert "libc" in host.read("/proc/self/maps", limit=64_000_000).text
    assert host.realpath(".") == os.getcwd()
    assert host.read("/etc/passwd").text == Path("/etc/passwd").read_text()
    assert os.path.realpath(host.target_python or "") == os.path.realpath(sys.executable)


def test_nothing_of_it_is_run() -> None:
    host = ProcessHost(OURS)
    assert (
        host.run_child([sys.executable, "-c", "1"], timeout=1, limit=10, env={}).why_not()
        == "not inspected: a running process is only read"
    )
    assert host.run(["/home/somebody/venv/bin/python", "-V"]).not_recorded
    assert host.run(["id"]).not_recorded


def test_its_environment_is_its_own_and_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONLY_SET_LATER", "1")
    host = ProcessHost(OURS)
    assert host.env("ONLY_SET_LATER") is None
    started_with = Path("/proc/self/environ").read_bytes().split(b"\0")
    name, _, value = next(item for item in started_with if b"=" in item).decode().partition("=")
    assert host.env(name) == value


@pytest.mark.parametrize(("given", "said"), [
    ("0", "expected the number of a process"),
    ("-1", "expected the number of a process"),
    ("abc", "expected the number of a process"),
    ("99999999999999999999999", "expected the number of a process"),
    ("2147483646", "there is no such process"),
])  # fmt: skip
def test_what_is_no_process_is_refused(given: str, said: str) -> None:
    with pytest.raises(DoorError, match=said):
        take(given)


@pytest.mark.starts_processes("a zombie needs a process that ended")
def test_a_process_that_has_ended_is_named_as_such() -> None:
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(DoorError, match="it has ended, and only its parent"):
        take(str(child.pid))
    child.wait()


@pytest.mark.parametrize("number", [errno.ESRCH, errno.ENOENT])
def test_a_process_that_ends_while_it_is_read(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    read = process_snapshot._read

    def ends(folder: int, name: str) -> bytes:
        if name == "environ":
            raise OSError(number, "ended")
        return read(folder, name)

    monkeypatch.setattr(process_snapshot, "_read", ends)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(DoorError, match="it ended while it was read"):
        take(OURS)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_process_of_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(folder: int, name: str) -> bytes:
        raise PermissionError(errno.EACCES, "denied")

    monkeypatch.setattr(process_snapshot, "_read", denied)
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    with pytest.raises(DoorError, match=rf"it belongs to user \S+, and only they and root .* sudo gpudoctor check --pid {OURS}"):
        take(OURS)


def snapshot(words: list[str], maps: str = "", *, exe: str = "/usr/bin/python3.11", path: str = "") -> Snapshot:
    texts = {"cmdline": "\0".join(words), "maps": maps, "status": "Name:\tpython\n"}
    return Snapshot(1, texts, {"PATH": path}, {"exe": exe, "cwd": "/work", "ns/mnt": ""}, {}, -1)


@pytest.mark.parametrize(("taken", "python"), [
    (snapshot(["/v/bin/python", "train.py"]), "/v/bin/python"),
    (snapshot(["venv/bin/python", "train.py"]), "/work/venv/bin/python"),
    (snapshot(["python", "train.py"], path="relative:/usr/games:/v/bin"), "/v/bin/python"),
    (snapshot(["renamed"], "7f00-7f01 r-xp 0 0:0 1 /v/lib/python3.11/site-packages/torch/lib/libtorch.so\n"), "/v/bin/python"),
    (snapshot(["renamed"]), "/usr/bin/python3.11"),
    (snapshot(["ollama", "serve"], exe="/usr/bin/ollama"), ""),
    (snapshot(["gunicorn"], "7f00-7f01 r-xp 0 0:0 1 /usr/lib/libpython3.11.so.1.0\n", exe="/opt/embedded"), "/opt/embedded"),
    (snapshot(["/v/bin/python"], exe="/usr/bin/python3.11 (deleted)"), "/v/bin/python"),
])  # fmt: skip
def test_the_python_of_a_process_is_the_one_that_finds_its_packages(taken: Snapshot, python: str) -> None:
    links = {"/v/bin/python": "/usr/bin/python3.11", "/work/venv/bin/python": "/usr/bin/python3.11"}
    assert interpreter(taken, lambda path: links.get(path, path), lambda path: path in links) == python


@pytest.mark.starts_processes("a program that is no Python")
def test_a_program_that_is_no_python_has_no_environment() -> None:
    from gpudoctor.facts.collect import gather
    from gpudoctor.model.facts import Unknown

    child = subprocess.Popen(["sleep", "60"])
    try:
        host = ProcessHost(str(child.pid))
        assert host.target_python is None
        facts = gather(host, only=("python_env", "looked_at")).facts
    finally:
        child.kill()
        child.wait()
    assert facts.get("python.executable") == Unknown(f"not inspected: process {child.pid} runs no Python")
    assert facts.value("process.libraries") == []
