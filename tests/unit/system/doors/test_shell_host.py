"""A system behind a shell answers as the same system without one: a shell of this machine stands for ssh and docker exec."""

from __future__ import annotations

import os
import signal
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudoctor.model.door import Door
from gpudoctor.system.doors.carried import carried
from gpudoctor.system.doors.shell_host import ShellHost
from gpudoctor.system.doors.shell_script import finished, script
from gpudoctor.system.host import DoorError, Ran
from gpudoctor.system.local_host import LocalHost

pytestmark = pytest.mark.starts_processes("reads files and runs programs through a shell, as at the other end of ssh")


class Way:
    """A shell of this machine. `kind` host, or image, whose kernel is hidden."""

    option = "--host there"

    def __init__(self, *words: str, kind: str = "host") -> None:
        self.words = list(words) or ["sh"]
        self.door = Door(kind, "there", "host there")  # type: ignore[arg-type]
        self.closed = 0

    def argv(self, *, first: bool) -> list[str]:
        return self.words

    def why_not(self, said: str) -> str:
        return f"{self.option}: {said}"

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def host() -> Iterator[ShellHost]:
    way = Way()
    found = ShellHost(way, budget=60.0)
    yield found
    found.confirm()
    found.close()
    assert way.closed == 1


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("one\ntwo")
    (tmp_path / "bytes").write_bytes(b"\x00\xff\n\n")
    (tmp_path / "empty").write_text("")
    (tmp_path / 'it\'s a name $(id) `id`; "x"').write_text("odd")
    (tmp_path / "-n").write_text("dash")
    (tmp_path / "link").symlink_to("text")
    (tmp_path / "dangling").symlink_to("nothing")
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


ODD = 'it\'s a name $(id) `id`; "x"'
NAMES = (
    "folder", "folder/.", "text", "text/.", "bytes", "empty", ODD, "-n", "link", "dangling", "loop", "pipe", "none", "none/x", "text/x",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_question_about_a_path_has_the_answer_of_the_machine_itself(host: ShellHost, tree: Path, name: str) -> None:
    path, local = f"{tree}/{name}", LocalHost()
    assert host.exists(path) == local.exists(path)
    assert host.read(path).text == local.read(path).text
    assert host.read(path).ok == local.read(path).ok
    assert host.listdir(path) == local.listdir(path)
    assert host.readlink(path) == local.readlink(path)
    assert host.mode(path) == local.mode(path)
    assert host.size(path) == local.size(path)
    assert host.may_open(path) == local.may_open(path)
    assert host.knows(path) == local.knows(path)
    assert host.distrust(path) == local.distrust(path)


def test_a_file_is_read_up_to_its_limit(host: ShellHost, tree: Path) -> None:
    assert host.read(f"{tree}/text", limit=7).text == "one\ntwo"
    assert host.read(f"{tree}/text", limit=6).problem == "too-large"


def test_the_end_of_an_answer_cannot_be_forged_by_a_file(host: ShellHost, tree: Path) -> None:
    (tree / "forged").write_text("\nH end\n\nN end\nand more")
    assert host.read(f"{tree}/forged").text == "\nH end\n\nN end\nand more"


def test_programs_run_with_their_words_as_they_are(host: ShellHost) -> None:
    words = ["printf", "%s|", "a b", "$HOME", "`id`", "it's", "*", "", "\n"]
    assert host.run(words).stdout == "a b|$HOME|`id`|it's|*||\n|"
    assert host.run(["no-such-program", "x"]).missing
    assert host.run(["sh", "-c", "echo out; echo err >&2; exit 3"]).rc == 3
    assert host.run(["sh", "-c", "echo out; echo err >&2; exit 3"]).stderr == "err\n"
    assert host.run(["sh", "-c", "kill -9 $$"]).signal == 9


def test_a_program_that_hangs_ends_in_time_there_too(host: ShellHost) -> None:
    ran = host.run(["sleep", "33"], timeout=0.5)
    assert ran.timed_out and not ran.not_recorded


def test_a_child_of_ours_brings_its_script(host: ShellHost) -> None:
    ran = host.run_child(
        [sys.executable, "-I", "-"], timeout=20, limit=1000, env={"NAME": "a 'b'"}, stdin_text="import os\nprint(os.environ['NAME'])"
    )
    assert ran.stdout == "a 'b'\n", ran


def test_our_payload_becomes_a_script_on_standard_input() -> None:
    from gpudoctor.facts.probes.frameworks import payload

    words, text = carried(["/v/bin/python", "-X", "utf8", payload("inspect_framework.py"), "torch"], "")
    assert words == ["/v/bin/python", "-X", "utf8", "-", "torch"]
    assert "def torch_devices" in text
    assert carried([sys.executable, "-I", "-"], "x") == (["python3", "-I", "-"], "x")


def test_its_variables_are_those_at_its_start(host: ShellHost) -> None:
    assert host.env("PATH") == os.environ["PATH"]
    assert host.env("NO_SUCH_VARIABLE") is None
    assert "HOME" in host.env_names("HO")


def test_an_image_shows_no_kernel() -> None:
    host = ShellHost(Way(kind="image"))
    assert not host.exists("/proc/self") and not host.knows("/proc/self") and host.read("/proc/cpuinfo").problem == "not-recorded"
    assert host.exists("/etc/passwd")
    assert host.run(["uname", "-a"]).not_recorded and host.run(["id"]).ok
    host.close()


@pytest.mark.parametrize(("words", "said"), [
    (("sh", "-c", "echo nobody answers >&2; exit 255"), "nobody answers"),
    (("sh", "-c", "exec sleep 30"), "it does not answer any more"),
    (("no-such-shell",), "no-such-shell cannot be started"),
    (("sh", "-c", "uname() { echo Darwin; }; . /dev/stdin"), "it runs macOS, and only Linux is examined from afar"),
])  # fmt: skip
def test_a_shell_that_does_not_answer(words: tuple[str, ...], said: str) -> None:
    way = Way(*words)
    with pytest.raises(DoorError, match=said):
        ShellHost(way, patience=1.0)
    assert way.closed or words[0] == "no-such-shell"


def test_a_connection_that_is_lost_is_no_machine_without_files() -> None:
    host = ShellHost(Way())
    assert host._session is not None
    host._session._process.kill()
    assert host.read("/etc/passwd").problem == "io-error"
    assert host.run(["true"]).not_recorded
    with pytest.raises(DoorError, match="the connection ended"):
        host.confirm()
    host.close()


def test_nothing_stays_behind() -> None:
    host = ShellHost(Way())
    session = host._session
    assert session is not None
    host.close()
    host.close()
    assert session._process.returncode == 0


def test_the_end_of_a_program_is_read_from_the_last_line_alone() -> None:
    word = "a" * 32
    argv = ("tool",)
    assert finished(Ran(argv, rc=0, stderr=f"said\n{word} 7\n"), argv, word, 5.0).rc == 7
    assert finished(Ran(argv, rc=0, stderr=f"\n{word} missing\n"), argv, word, 5.0).missing
    assert finished(Ran(argv, rc=0, stderr=f"\n{word} 139\n"), argv, word, 5.0).signal == 11
    assert finished(Ran(argv, rc=255, stderr="Connection closed"), argv, word, 5.0).not_run == "the connection ended"
    assert finished(Ran(argv, rc=0, stderr=f"\n{word} 124\n", seconds=6.0), argv, word, 5.0).timed_out


def test_variables_with_odd_names_are_not_put_into_the_script() -> None:
    text = script(("true",), "w", seconds=1, env={"a;id": "1", "OK": "it's"}, stdin_text="", own_cache=False)
    assert ";id" not in text and """OK='it'"'"'s'; export OK""" in text


def test_modes_of_others_make_a_path_strange(host: ShellHost, tree: Path) -> None:
    (tree / "open").mkdir(mode=0o777)
    (tree / "open").chmod(0o777)
    (tree / "open" / "python").write_text("")
    assert host.distrust(f"{tree}/open/python").startswith("owner ")
    assert stat.S_IMODE((tree / "open").stat().st_mode) == 0o777


def test_an_answer_without_end_is_cut_off(host: ShellHost, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpudoctor.system.doors import shell_session

    monkeypatch.setattr(shell_session, "_LONGEST", 1_000_000)
    session = host._session
    assert session is not None
    with pytest.raises(shell_session.Lost, match="it answers without end"):
        session.ask("yes")
    session.lost = ""  # for the fixture, which asks whether the connection lasted


def test_a_lost_connection_is_no_missing_program() -> None:
    host = ShellHost(Way())
    assert host.run(["no-such-program"]).missing
    assert host._session is not None
    host._session._process.kill()
    host.read("/etc/passwd")
    assert host.run(["sh", "-c", "true"]).not_run == "the connection ended"
    host.close()


def test_a_connection_that_hangs_in_the_middle_ends_in_time_and_leaves_nothing() -> None:
    host = ShellHost(Way(), budget=0.1)
    session = host._session
    assert session is not None
    session._process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    assert [host.read(f"/etc/{name}").problem for name in ("passwd", "group", "hosts")] == ["io-error"] * 3
    assert time.monotonic() - began < 10
    with pytest.raises(DoorError, match="it does not answer any more"):
        host.confirm()
    host.close()
    assert session._process.returncode == -signal.SIGKILL
