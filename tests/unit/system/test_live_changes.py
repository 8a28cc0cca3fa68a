"""The machine being changed, with real processes: doctors that are killed, children that live on, files cut off in the middle."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from gpudoctor.system import children, live_changes
from gpudoctor.system import sudo as sudo_module
from gpudoctor.system.live_changes import ActingHost
from gpudoctor.system.local_host import LocalHost
from gpudoctor.system.writable_host import ActFailed, NeedsRoot, WritableHost

pytestmark = pytest.mark.starts_processes("commands of a setup are journaled processes")

ROOT = Path(__file__).resolve().parents[3]


def host(tmp_path: Path, **given: object) -> ActingHost:
    return ActingHost(LocalHost(), log=tmp_path / "state" / "log", **given)  # type: ignore[arg-type]


def until(holds: Callable[[], object], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.01)


@contextlib.contextmanager
def doctor(tmp_path: Path, body: str) -> Iterator[subprocess.Popen[str]]:
    """Another doctor: `host` with its children in the file `child` (number, start time), and `body`."""
    before = f"""
        import os, signal, sys, time
        from pathlib import Path
        from gpudoctor.system.live_changes import ActingHost
        from gpudoctor.system.local_host import LocalHost
        here = Path({str(tmp_path)!r})
        def on_child(pid, start, finish, argv):
            (here / "child.new").write_text(f"{{pid}} {{start}}")
            (here / "child.new").rename(here / "child")
        host = ActingHost(LocalHost(), log=here / "state" / "log", on_child=on_child, progress=lambda text: print(text, flush=True))
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(before) + textwrap.dedent(body)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def child_of(tmp_path: Path) -> tuple[int, int]:
    until((tmp_path / "child").exists)
    pid, start = (tmp_path / "child").read_text().split()
    return int(pid), int(start)


# the gate


def test_the_journal_has_the_child_before_it_begins(tmp_path: Path) -> None:
    seen: list[object] = []

    def on_child(pid: int, start: int, finish: bool, argv: Sequence[str]) -> None:
        time.sleep(0.3)
        seen.append((children.start_of(pid) == start, finish, tuple(argv), (tmp_path / "ran").exists()))

    ended: list[int] = []
    machine: WritableHost = host(tmp_path, on_child=on_child, on_child_end=ended.append)
    argv = ("sh", "-c", f"echo $$ > {tmp_path}/ran")
    machine.run(argv, finish=True)
    assert seen == [(True, True, argv, False)]
    assert ended == [int((tmp_path / "ran").read_text())]


def test_a_doctor_that_dies_before_it_has_journaled_starts_nothing(tmp_path: Path) -> None:
    body = f"""
        def killed(pid, start, finish, argv):
            on_child(pid, start, finish, argv)
            os.kill(os.getpid(), signal.SIGKILL)
        host._on_child = killed
        host.run(["touch", "{tmp_path}/ran"])
    """
    with doctor(tmp_path, body) as process:
        assert process.wait(20) == -signal.SIGKILL
        child = child_of(tmp_path)
        until(lambda: children.start_of(child[0]) != child[1])
    assert not (tmp_path / "ran").exists()


def test_a_journal_that_cannot_be_written_starts_nothing(tmp_path: Path) -> None:
    def on_child(*_: object) -> None:
        raise RuntimeError("disk full")

    for finish in (False, True):
        with pytest.raises(RuntimeError):
            host(tmp_path, on_child=on_child).run(["touch", f"{tmp_path}/ran"], finish=finish)
    assert not (tmp_path / "ran").exists()


# what is run, and what it says


def test_output_is_logged_and_tailed(tmp_path: Path) -> None:
    told: list[str] = []
    machine = host(tmp_path, progress=told.append)
    script = "echo one; sleep 0.4; printf 'two\\r\\033[31mth\\aree\\n' >&2; sleep 0.4; exit 3"
    done = machine.run(["sh", "-c", script, "http://me:secret@mirror/x"], check=False)
    assert done.rc == 3 and done.output == "one\ntwo\r\033[31mth\aree\n"
    assert told == ["one", "th ree"]
    log = (tmp_path / "state" / "log").read_bytes().decode()
    assert log.endswith(done.output) and "sh -c" in log and "secret" not in log
    assert (tmp_path / "state" / "log").stat().st_mode & 0o077 == 0


def test_output_is_of_this_command_and_at_most_its_end(tmp_path: Path) -> None:
    machine = host(tmp_path)
    machine.run(["echo", "before"])
    output = machine.run([sys.executable, "-c", "print('x' * 300_000 + 'end')"]).output
    assert len(output) == live_changes.OUTPUT and output.endswith("end\n")
    assert machine.run(["echo", "after"]).output == "after\n"


def test_a_failure_names_the_line_that_says_why(tmp_path: Path) -> None:
    with pytest.raises(ActFailed, match=r"^sh ended with status 100: E: no such package$") as failed:
        host(tmp_path).run(["sh", "-c", "echo 'E: no such package' >&2; echo bye; exit 100"], advice="do this")
    assert failed.value.advice == "do this" and failed.value.tail == "E: no such package\nbye"
    with pytest.raises(ActFailed, match="nonesuch: not found on PATH"):
        host(tmp_path).run(["nonesuch"])
    with pytest.raises(ActFailed, match="died of signal 9"):
        host(tmp_path).run(["sh", "-c", "kill -9 $$"])


def test_a_child_has_no_input_our_words_and_nothing_that_leads_it_astray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("LANGUAGE", "de")
    told = host(tmp_path).run(["sh", "-c", "cat; pwd; env"], env={"EXTRA": "a b;c"}).output.splitlines()
    assert told[0] == "/" and {"LC_ALL=C", "EXTRA=a b;c"} <= set(told)
    assert not [line for line in told if line.startswith(("PYTHONPATH=", "LANGUAGE="))]


def test_asking_gives_standard_output_alone_and_is_not_journaled(tmp_path: Path) -> None:
    machine = host(tmp_path, on_child=lambda *_: pytest.fail("journaled"))
    done = machine.ask(["sh", "-c", "echo out; echo err >&2; exit 2"])
    assert (done.rc, done.output) == (2, "out\n")
    assert "err" in (tmp_path / "state" / "log").read_text()
    assert machine.ask(["nonesuch"]).rc == 127


def test_a_look_remembers_nothing(tmp_path: Path) -> None:
    machine = host(tmp_path)
    (tmp_path / "file").write_text("one")
    first = machine.look.run(["cat", str(tmp_path / "file")]).stdout
    (tmp_path / "file").write_text("two")
    assert (first, machine.look.run(["cat", str(tmp_path / "file")]).stdout) == ("one", "two")


# limits and interruptions


def test_a_time_limit_ends_the_whole_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "GRACE", 0.3)
    script = f"trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > {tmp_path}/inner; sleep 60; sleep 60'; sleep 60"
    began = time.monotonic()
    with pytest.raises(ActFailed, match="longer than 1 s"):
        host(tmp_path).run(["sh", "-c", script], limit=1.0)
    assert time.monotonic() - began < 5
    until(lambda: children.start_of(int((tmp_path / "inner").read_text())) is None)


def test_what_must_finish_is_not_ended_by_a_short_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert host(tmp_path).run(["sh", "-c", "sleep 0.5; echo whole"], finish=True, limit=0.1).output == "whole\n"
    monkeypatch.setattr(live_changes, "LONGEST_FINISH", 0.3)
    with pytest.raises(ActFailed, match="longer than"):
        host(tmp_path).run(["sleep", "60"], finish=True, limit=0.1)


@pytest.mark.parametrize("finish", [False, True])
def test_an_interruption_ends_a_child_or_waits_for_it(tmp_path: Path, finish: bool) -> None:
    script = f"sh -c 'sleep 1.5; touch {tmp_path}/whole'; echo $? > {tmp_path}/status"
    body = f"""
        try:
            host.run(["sh", "-c", {script!r}], finish={finish})
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    with doctor(tmp_path, body) as process:
        child = child_of(tmp_path)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        if finish:  # impatience changes nothing
            process.send_signal(signal.SIGINT)
        told, _ = process.communicate(timeout=20)
        assert children.living([child]) == []
    assert told.splitlines()[-1] == "interrupted"
    assert ("must not be stopped" in told) == finish
    assert (tmp_path / "whole").exists() == (tmp_path / "status").exists() == finish


# children of a doctor that was killed


def test_children_survive_the_doctor_and_are_waited_for(tmp_path: Path) -> None:
    script = f"sh -c 'echo one; sleep 1.5; echo two; touch {tmp_path}/whole'; exit 0"
    with doctor(tmp_path, f'host.run(["sh", "-c", {script!r}], finish=True)') as process:
        child = child_of(tmp_path)
        time.sleep(0.3)
        process.kill()
        process.wait()
    assert children.living([child, (child[0], child[1] + 1)]) == [child]
    told: list[str] = []
    assert not children.wait_for(*child, limit=0.2)
    assert children.wait_for(*child, progress=told.append, limit=20)
    assert (tmp_path / "whole").exists() and (tmp_path / "state" / "log").read_text().endswith("one\ntwo\n")
    assert told and all(f"({child[0]})" in line for line in told)


def test_a_descendant_counts_when_its_leader_is_gone(tmp_path: Path) -> None:
    script = f"sh -c 'echo $$ > {tmp_path}/inner; sleep 60; true' & sleep 60; wait"
    with doctor(tmp_path, f'host.run(["sh", "-c", {script!r}])') as process:
        child = child_of(tmp_path)
        until(lambda: (tmp_path / "inner").exists() and (tmp_path / "inner").read_text())
        process.kill()
        process.wait()
    os.kill(child[0], signal.SIGKILL)
    until(lambda: children.start_of(child[0]) is None)
    assert children.living([child]) == [child]
    assert children.end(*child)
    inner = int((tmp_path / "inner").read_text())
    until(lambda: children.start_of(inner) is None)


def test_a_group_of_others_with_the_same_number_is_left_alone(tmp_path: Path) -> None:
    """The number of a leader that is gone says nothing: its group must carry our mark."""
    script = """if True:
        import os, time
        os.setsid()
        print(os.getpid(), flush=True)
        if os.fork():
            os._exit(0)
        print(os.getpid(), flush=True)
        time.sleep(60)
    """
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout
        leader, member = int(other.stdout.readline()), int(other.stdout.readline())
        other.wait()
        try:
            assert children.living([(leader, 12345)]) == []
            assert children.end(leader, 12345)
            assert children.start_of(member) is not None
        finally:
            os.kill(member, signal.SIGKILL)


def test_a_held_lock_is_waited_for(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.touch()
    script = f"import fcntl, time; f = open({str(lock)!r}, 'w'); fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True); time.sleep(1)"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout and holder.stdout.readline()
        assert not children.wait_for_lock(str(lock), limit=0.1)
        assert children.wait_for_lock(str(lock), limit=20)
        assert holder.wait() == 0
    assert children.wait_for_lock(str(tmp_path / "nothing"), limit=0.1)


# root


@pytest.fixture
def sudo(tmp_path: Path) -> str:
    """Does what it is told, as sudo does without a password, and drops the environment."""
    script = tmp_path / "bin" / "sudo"
    script.parent.mkdir()
    script.write_text('#!/bin/sh\n[ "$1" = -n ] || exit 1\nshift\n[ "$1" = -- ] && shift\nexec env -i AS=root PATH=/usr/bin:/bin "$@"\n')
    script.chmod(0o755)
    return str(script)


def test_without_root_and_sudo_the_person_is_told_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = host(tmp_path, sudo="")
    machine.is_root = False
    with pytest.raises(NeedsRoot) as refused:
        machine.run(["apt-get", "install", "x"], root=True, env={"A": "b c"})
    assert refused.value.commands == (("env", "A=b c", "apt-get", "install", "x"),)
    asking = host(tmp_path, sudo="/bin/false")
    asking.is_root = False
    monkeypatch.setattr(sudo_module, "_has_terminal", lambda: False)
    with pytest.raises(NeedsRoot, match="no terminal"):
        asking.run(["true"], root=True)


def test_sudo_runs_single_commands(tmp_path: Path, sudo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy:1")
    machine = host(tmp_path, sudo=sudo)
    machine.is_root = False
    told = machine.run(["env"], root=True, env={"A": "b c"}).output.splitlines()
    assert {"AS=root", "A=b c", "https_proxy=http://proxy:1", "LC_ALL=C"} <= set(told)
    assert any(line.startswith(f"{children.CHILD}=") and not line.endswith("=") for line in told)
    assert "AS=root" not in machine.run(["env"]).output
    assert machine.ask(["printenv", "AS"], root=True).output == "root\n"


def test_files_of_root_through_sudo(tmp_path: Path, sudo: str) -> None:
    machine = host(tmp_path, sudo=sudo)
    machine.is_root = False
    path = str(tmp_path / "etc" / "file")
    machine.make_folder(str(tmp_path / "etc"), mode=0o700, root=True)
    machine.write(path, b"\0one", mode=0o640, root=True)
    assert machine.read(path, root=True) == b"\0one" and os.stat(path).st_mode & 0o777 == 0o640
    machine.write(path, b"two", root=True)
    assert machine.read(path) == b"two" and os.stat(path).st_mode & 0o777 == 0o640
    assert not machine.remove_empty_folder(str(tmp_path / "etc"), root=True)
    machine.remove(path, root=True)
    machine.remove(path, root=True)
    assert machine.remove_empty_folder(str(tmp_path / "etc"), root=True)
    with pytest.raises(ActFailed, match="No such file"):
        machine.write(path, b"x", root=True)
    assert sorted(os.listdir(tmp_path)) == ["bin", "state"] and os.listdir(tmp_path / "state") == ["log"]
