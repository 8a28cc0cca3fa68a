"""What ssh is asked, and what a person is told where it does not connect."""

from __future__ import annotations

import os

import pytest

from gpudoctor.system.doors import ssh
from gpudoctor.system.doors.ssh import SshWay, explained
from gpudoctor.system.host import DoorError


@pytest.fixture(autouse=True)
def has_ssh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssh, "find_program", lambda name, path: "/usr/bin/ssh")


def test_one_connection_without_questions_in_a_private_folder() -> None:
    way = SshWay("gpu1")
    first, next_one = way.argv(first=True), way.argv(first=False)
    assert {"BatchMode=yes", "ControlMaster=yes", "ForwardAgent=no"} <= set(first)
    assert "ControlMaster=no" in next_one
    path = next(word for word in first if word.startswith("ControlPath=")).removeprefix("ControlPath=")
    folder = os.path.dirname(path)
    assert os.stat(folder).st_mode & 0o777 == 0o700
    assert first[-3:] == ["--", "gpu1", "exec sh"]
    way.close()
    way.close()
    assert not os.path.exists(folder)


@pytest.mark.parametrize("name", ["-oProxyCommand=id", "a;b", "$(id)", "a b", "", "a'b", "a\nb"])
def test_a_name_that_is_an_option_or_a_command_is_refused(name: str) -> None:
    with pytest.raises(DoorError, match="expected a name that ssh knows"):
        SshWay(name)


def test_without_ssh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssh, "find_program", lambda name, path: None)
    with pytest.raises(DoorError, match="there is no program ssh on this machine"):
        SshWay("gpu1")


@pytest.mark.parametrize(("said", "told"), [
    ("ssh: connect to host gpu1 port 22: Connection refused", "no ssh server answers there"),
    ("me@gpu1: Permission denied (publickey,password).", "ssh-copy-id gpu1"),
    ("Host key verification failed.", "connect once by hand"),
    ("ssh: Could not resolve hostname gpu1: Name or service not known", "no machine has this name"),
    ("ssh: connect to host gpu1 port 22: Connection timed out", "does not answer in time"),
    ("it does not answer any more", "does not answer in time"),
    ("bash: line 1: exec: sh: not found", "no POSIX shell answers there"),
    ("something else", "ssh failed: something else; see what this says: ssh gpu1 true"),
    ("", "see what this says: ssh gpu1 true"),
])  # fmt: skip
def test_each_refusal_names_the_next_step(said: str, told: str) -> None:
    assert told in explained(said, "gpu1")
