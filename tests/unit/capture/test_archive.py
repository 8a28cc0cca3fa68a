"""What was asked replays: every answer, from every form of archive."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpudoctor import __version__
from gpudoctor.capture.archive import write_capture
from gpudoctor.capture.recorded_host import RecordedHost, open_recorded
from gpudoctor.capture.recording_host import RecordingHost
from gpudoctor.privacy.redactor import Redactor
from gpudoctor.system.host import CaptureError
from gpudoctor.system.local_host import LocalHost
from gpudoctor.system.system_names import Names

RECORDER = f"gpudoctor {__version__}"


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A little machine: files, links, a loop, a FIFO, tools, variables."""
    box = tmp_path / "box"
    (box / "sub/empty").mkdir(parents=True)
    (box / "home/alice").mkdir(parents=True)
    (box / "text").write_text("hello wonderland\n")
    (box / "binary").write_bytes(b"\xff\xfe\x00\x7f\r\n")
    (box / "large").write_text("x" * 2000)
    (box / "unasked.so.1").write_text("library")
    (box / "link").symlink_to("sub")
    (box / "dangling").symlink_to("nowhere")
    (box / "loop").symlink_to("loop")
    (box / "sub/below").write_text('quote " backslash \\ del \x7f\n')
    os.mkfifo(box / "fifo")
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, body in (
        ("good", "echo out; echo err >&2; exit 3"),
        ("crash", "kill -SEGV $$"),
        ("hang", "echo a; sleep 100"),
        ("flood", "yes"),
    ):
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setenv("ZE_TEST", "1")
    monkeypatch.setenv("SECRET_THING", "2")
    return box


PATHS = ("", "text", "binary", "large", "unasked.so.1", "link", "link/below", "dangling", "loop", "loop/x", "sub", "sub/empty",
    "sub/empty/x", "fifo",
         "none", "none/x", "text/x", "home", "home/alice")  # fmt: skip
QUESTIONS = ("read", "exists", "listdir", "readlink", "realpath", "mode", "may_open", "knows")


def ask(host: Any, box: Path, questions: list[tuple[str, str]]) -> list[Any]:
    answers: list[Any] = []
    for question, name in questions:
        path = str(box / name) if name else str(box)
        answers.append(host.read(path, limit=1000) if question == "read" else getattr(host, question)(path))
    return answers


def replay(host: RecordingHost, path: Path, name: str, **more: Any) -> RecordedHost:
    target = f"{path}/{name}"
    write_capture(host.recording, target, None, raw=True, recorder=RECORDER, host=host.platform, **more)
    return open_recorded(target)


@pytest.mark.starts_processes("stand-ins of tools are recorded, and replayed")
@pytest.mark.parametrize("name", ["m.tar.gz", "m.zip", "m/"])
def test_everything_replays(box: Path, tmp_path: Path, name: str) -> None:
    host = RecordingHost(LocalHost())
    every = [(question, path) for path in PATHS for question in QUESTIONS]
    said = ask(host, box, every)
    commands = [(["good"], {}), (["crash"], {}), (["hang"], {"timeout": 0.3}), (["flood"], {"limit": 5000}), (["none"], {})]
    ran = [host.run(argv, **more) for argv, more in commands]
    child = host.run_child(["/bin/cat"], timeout=5, limit=1000, env={}, stdin_text="to a child")
    variables = (host.env("ZE_TEST"), host.env("NOT_SET"), host.env_names("ZE_T"))
    again = replay(host, tmp_path, name)
    assert again.complete and again.exact
    assert list(zip(every, ask(again, box, every), strict=True)) == list(zip(every, said, strict=True))
    for (argv, _), before in zip(commands, ran, strict=True):
        after = again.run(argv)
        assert (after.rc, after.stdout, after.stderr, after.missing, after.timed_out, after.signal, after.truncated) == (
            before.rc, before.stdout, before.stderr, before.missing, before.timed_out, before.signal, before.truncated,
        )  # fmt: skip
        assert after.why_not() == before.why_not()
    assert (
        again.run_child(["/elsewhere/cat"], timeout=5, limit=1000, env={}, stdin_text="to a child").stdout == child.stdout == "to a child"
    )
    assert again.run_child(["/bin/cat"], timeout=5, limit=1000, env={}, stdin_text="another").not_recorded
    assert (again.env("ZE_TEST"), again.env("NOT_SET"), again.env_names("ZE_T")) == variables
    assert again.run(["never asked"]).not_recorded
    assert again.read("/never/asked").problem == "not-recorded"


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(QUESTIONS), st.sampled_from(PATHS)), max_size=12))
def test_any_questions_replay(box: Path, tmp_path: Path, questions: list[tuple[str, str]]) -> None:
    host = RecordingHost(LocalHost())
    questions = [(question, path) for question, path in questions if question != "knows"]
    said = ask(host, box, questions)
    assert ask(replay(host, tmp_path, "m.tar.gz"), box, questions) == said


def test_a_replay_can_be_recorded_again(box: Path, tmp_path: Path) -> None:
    host = RecordingHost(LocalHost())
    every = [(question, path) for path in PATHS for question in QUESTIONS]
    said = ask(host, box, every)
    second = RecordingHost(replay(host, tmp_path, "one.tar.gz"))
    assert ask(second, box, every) == said
    assert ask(replay(second, tmp_path, "two.zip"), box, every) == said


def test_a_file_is_no_folder_in_a_replay(box: Path, tmp_path: Path) -> None:
    host = RecordingHost(LocalHost())
    asked = [(str(box / name), host.exists(str(box / name))) for name in ("text", "sub", "text/.", "sub/.", "link/.", "sub/empty/.")]
    again = replay(host, tmp_path, "m.zip")
    assert [(path, again.exists(path)) for path, _ in asked] == asked


def test_the_same_recording_is_the_same_file(box: Path, tmp_path: Path) -> None:
    host = RecordingHost(LocalHost())
    ask(host, box, [("read", "text"), ("listdir", "sub")])
    for suffix in (".tar.gz", ".zip"):
        for name in ("a", "b"):
            write_capture(host.recording, str(tmp_path / (name + suffix)), {"executable": "x"}, raw=True)
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_redacted(box: Path, tmp_path: Path) -> None:
    host = RecordingHost(LocalHost())
    ask(host, box, [("read", "text"), ("listdir", "home"), ("exists", "home/alice")])
    host.env("ZE_TEST"), host.env("SECRET_THING")
    redactor = Redactor(Names(users=("alice",), hosts=("wonderland",)))
    removed = write_capture(
        host.recording, f"{tmp_path}/m/", {"executable": "/home/alice/v/bin/python"}, keep_env={"ZE_TEST"},
        redactor=redactor, recorder=RECORDER,
    )  # fmt: skip
    everything = "".join(path.read_text() + str(path) for path in (tmp_path / "m").rglob("*") if path.is_file())
    assert "alice" not in everything and "wonderland" not in everything and "SECRET_THING" not in everything
    assert removed["user"] >= 1 and removed["host"] == 1
    again = open_recorded(str(tmp_path / "m"))
    where = redactor.path(str(box))
    assert again.read(f"{where}/text").text == "hello host-1\n"
    assert again.listdir(f"{where}/home") == ["user-1"] and again.exists(f"{where}/home/user-1")
    assert again.env("ZE_TEST") == "1"


@pytest.mark.parametrize("name", ["m.tar.gz", "m.zip", "m/"])
def test_readable_by_the_owner_only_and_nothing_else_left(tmp_path: Path, name: str) -> None:
    write_capture(RecordingHost(LocalHost()).recording, f"{tmp_path}/{name}", None, raw=True)
    assert [path.name for path in tmp_path.iterdir()] == [name.rstrip("/")]
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) & 0o077 == 0


def test_an_interrupt_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "m.tar.gz"
    target.write_text("old")

    def interrupt(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_capture(RecordingHost(LocalHost()).recording, str(target), None, raw=True)
    assert target.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_where_it_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/x").touch()
    for name in ("none/m.tar.gz", "full/"):
        with pytest.raises(CaptureError):
            write_capture(RecordingHost(LocalHost()).recording, f"{tmp_path}/{name}", None, raw=True)


def test_foreign_captures_are_not_taken_for_the_machine(tmp_path: Path) -> None:
    write_capture(RecordingHost(LocalHost()).recording, f"{tmp_path}/m/", {"executable": "x"}, raw=True, recorder="gpudoctor 0.0.0")
    host = open_recorded(str(tmp_path / "m"))
    assert host.origin == "capture" and host.python_environment() == {"executable": "x"}
    assert json.loads((tmp_path / "m/python.json").read_text()) == {"executable": "x"}


def test_of_the_files_that_others_have_open_only_nodes_of_gpus_are_recorded() -> None:
    class Busy(LocalHost):
        def listdir(self, path: str) -> list[str]:
            return ["3", "9"] if path == "/proc/4711/fd" else []

        def readlink(self, path: str) -> str | None:
            return {"/proc/4711/fd/3": "/home/user/diary.txt", "/proc/4711/fd/9": "/dev/dri/renderD128", "/sys/x": "/y"}.get(path)

    host = RecordingHost(Busy())
    assert host.listdir("/proc/4711/fd") == ["3", "9"] and host.readlink("/proc/4711/fd/3") == "/home/user/diary.txt"
    assert host.readlink("/proc/4711/fd/9") == "/dev/dri/renderD128" and host.readlink("/sys/x") == "/y"
    assert host.recording.links == {"/proc/4711/fd/9": "/dev/dri/renderD128", "/sys/x": "/y"} and host.recording.folders == {}
