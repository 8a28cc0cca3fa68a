"""group, file, edit, udev.rule and modprobe in a real Debian: as root, as a user with sudo, and as one without, who is told what to do."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from debian_root import RootState, _listing
from layered_root import Frozen, LayeredRoot, Workshop
from root_machine import RootMachine

from gpudoctor.setup.steps.group import GroupMembership as GroupKind

DRIVER = "/opt/gpudoctor/tests/real/killing_driver.py"
RECIPES = "/opt/recipes"
KIT, GRUB, RULE, MODULE = "/etc/ld.so.conf.d/deep/kit.conf", "/etc/default/grub", "/etc/udev/rules.d/70-test.rules", "gpudoctor-i915.conf"
RECIPE = """
id = "cpu"
name = "cpu"
title = "files of the system"
platform = "Linux"
rank = 1
stack = "torch-cpu"
disk_gb = 0.1
applies = { fact = "platform.kind", is = "linux" }

[[source]]
ref = "https://example.org"
read = 2026-11-20
says = "a test"
"""
STEPS = (
    ("file", 'path = "/etc/ld.so.conf.d/deep/kit.conf"\ncontent = "/opt/kit/lib"\nmode = "0604"\nafter = ["ldconfig"]'),
    ("edit", 'path = "/etc/default/grub"\nremove_words = ["i915.force_probe"]\nafter = ["grub"]'),
    ("udev.rule", 'name = "70-test"\ncontent = \'KERNEL=="accel*", GROUP="render"\''),
    ("modprobe", 'name = "i915"\noptions = ["options i915 enable_guc=3"]'),
    ("group", 'groups = ["render", "video"]'),
)
GRUB_TEXT = b'GRUB_CMDLINE_LINUX="quiet i915.force_probe=56a0"\n# caf\xe9\nGRUB_TIMEOUT=1\n'
CALLED = '#!/bin/sh\necho "$(basename "$0") $*" >> /var/tmp/called\n'


def prepare(root: LayeredRoot) -> None:
    """A machine of anna, bert and carl; anna may use sudo, carl is in other groups already."""
    root.run(["apt-get", "install", "-y", "--no-install-recommends", "sudo"])
    people = (
        "for name in anna bert carl; do useradd -m $name; done; groupadd -f render; usermod -aG audio,video carl; gpasswd -A carl render"
    )
    root.run(["sh", "-c", f"{people}; mkdir -p /etc/modprobe.d /etc/udev/rules.d"])
    root.write("/etc/sudoers.d/anna", "anna ALL=(ALL) NOPASSWD: ALL\n", 0o440)
    root.write(GRUB, "")
    root.here(GRUB).write_bytes(GRUB_TEXT)
    root.run(["sh", "-c", f"chown root:carl {GRUB}; chmod 644 {GRUB}"])
    root.write(f"/etc/modprobe.d/{MODULE}", "# of an earlier life\n", 0o644)
    for name in ("update-grub", "udevadm"):
        root.write(f"/usr/sbin/{name}", CALLED, 0o755)
    root.run(["sh", "-c", "rm -f /usr/bin/udevadm; touch /var/tmp/called; chmod 666 /var/tmp/called"])
    root.write(f"{RECIPES}/addresses.toml", "")
    lines = [f'[[step]]\ndo = "{kind}"\ntitle = "the step {kind}"\nwhy = "a test"\nlayer = "user-driver"\n{text}\n' for kind, text in STEPS]
    root.write(f"{RECIPES}/cpu/cpu.toml", RECIPE + "\n".join(lines))


@pytest.fixture(scope="module")
def base() -> Iterator[tuple[Workshop, Frozen]]:
    with Workshop() as shop:
        yield shop, shop.base(prepare)


@dataclass
class Machine:
    root: LayeredRoot
    user: str
    start: RootState
    backups: dict[str, str] = field(default_factory=dict)

    def setup(self, *arguments: str) -> tuple[int, str]:
        """gpudoctor setup as this user: status and output."""
        python = [word for word in self.root.doctor_argv([]) if word not in ("-m", "gpudoctor")]
        told = json.dumps({"step": 0, "recipes": RECIPES, "report": "/dev/null"})
        argv = [*python, DRIVER, told, "setup", *arguments]
        home = "/root" if self.user == "root" else f"/home/{self.user}"
        variables = {
            "HOME": home, "USER": "carl" if self.user == "root" else self.user, "LOGNAME": self.user,
            "XDG_STATE_HOME": f"/var/tmp/{self.user}/state", "XDG_CACHE_HOME": f"/var/tmp/{self.user}/cache",
        }  # fmt: skip
        done = self.root.run(["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--init-groups", *argv],
                             env=variables, check=False, cwd="/")  # fmt: skip
        return done.returncode, done.stdout

    def called(self) -> list[str]:
        return self.root.read("/var/tmp/called").splitlines()

    def mine(self, *changed: str) -> list[str]:
        """What is not as at the start, but for these."""
        return [line for line in self.root.state().differences(self.start) if not any(path in line for path in changed)]


@pytest.fixture(params=["root", "anna"])
def able(base: tuple[Workshop, Frozen], request: pytest.FixtureRequest) -> Iterator[Machine]:
    yield from machine(*base, request.param)


@pytest.fixture
def bert(base: tuple[Workshop, Frozen]) -> Iterator[Machine]:
    yield from machine(*base, "bert")


def machine(shop: Workshop, frozen: Frozen, user: str) -> Iterator[Machine]:
    with shop.lent(frozen) as root:
        root.run(["install", "-d", "-o", user, f"/var/tmp/{user}"])
        if user == "bert":
            root.run(["apt-get", "purge", "-y", "-q", "sudo"], env={"SUDO_FORCE_REMOVE": "yes"})
        yield Machine(root, user, root.state())


def groups(root: LayeredRoot, user: str) -> set[str]:
    return set(root.out(["id", "-nG", user]).split())


def is_set_up(root: LayeredRoot, user: str) -> bool:
    kit = root.here(KIT)
    assert kit.read_bytes() == b"/opt/kit/lib\n" and kit.stat().st_mode & 0o7777 == 0o604 and kit.stat().st_uid == 0
    grub = root.here(GRUB)
    assert grub.read_bytes() == GRUB_TEXT.replace(b" i915.force_probe=56a0", b"")
    assert grub.stat().st_mode & 0o7777 == 0o644 and root.out(["stat", "-c", "%U:%G", GRUB]) == "root:carl\n"
    assert 'KERNEL=="accel*", GROUP="render"' in root.read(RULE)
    assert root.read(f"/etc/modprobe.d/{MODULE}").endswith("options i915 enable_guc=3\n")
    assert groups(root, user) >= {"render", "video"}
    return True


@pytest.mark.rotates("a system file")
def test_applied_and_taken_back(able: Machine) -> None:
    rc, output = able.setup("cpu", "--yes")
    who = "carl" if able.user == "root" else able.user
    assert rc == 0, output
    assert is_set_up(able.root, who)
    assert able.called() == ["update-grub ", "udevadm control --reload", "udevadm trigger"]
    rc, output = able.setup("--undo")
    assert rc == 0, output
    assert able.mine() == []
    if who == "carl":
        assert groups(able.root, "carl") == {"carl", "audio", "video"}  # that one was there before


@pytest.mark.rotates("a system file that a person changed")
def test_what_a_person_changed_meanwhile_is_kept_and_named(able: Machine) -> None:
    assert able.setup("cpu", "--yes")[0] == 0
    able.root.here(GRUB).write_bytes(able.root.here(GRUB).read_bytes() + b"GRUB_THEME=x\n")
    able.root.write(RULE, "# mine now\n")
    able.root.here(f"/etc/modprobe.d/{MODULE}").unlink()
    able.root.run(["usermod", "-aG", "cdrom", "anna"])
    rc, output = able.setup("--undo")
    output = " ".join(output.split())
    assert rc == 1, output
    assert f"{GRUB} is kept" in output and f"{RULE} is kept" in output and f"rm {RULE} removes it" in output
    assert f"{MODULE} was removed since" in output
    assert able.root.read(RULE) == "# mine now\n" and b"GRUB_THEME=x" in able.root.here(GRUB).read_bytes()
    assert "cdrom" in groups(able.root, "anna")
    assert able.mine(GRUB, RULE, MODULE, "/etc/group", "/etc/gshadow") == []
    assert able.setup("--undo") == (0, "there is nothing to undo\n")


def by_hand(machine: Machine, rc: int, output: str) -> list[str]:
    """An administrator runs what was told, each line as it stands."""
    assert rc == 1, output
    commands = re.findall(r"^\s*\$ (.+)$", output, re.M)
    assert commands, output
    for line in commands:
        machine.root.run(["sh", "-c", line])
    return commands


def finish_by_hand(machine: Machine, *first: str) -> list[str]:
    """Every command that an administrator ran until the run came to its end."""
    ran: list[str] = []
    rc, output = machine.setup(*first)
    for _ in range(len(STEPS) + 1):
        if rc == 0:
            break
        assert "sudo is not installed" in output and "gpudoctor setup --resume" in output
        ran += by_hand(machine, rc, output)
        rc, output = machine.setup("--resume")
    assert rc == 0, output
    return ran


def test_without_sudo_each_step_is_told_and_done_by_hand(bert: Machine) -> None:
    ran = finish_by_hand(bert, "cpu", "--yes")
    assert is_set_up(bert.root, "bert")
    assert bert.called() == ["update-grub ", "udevadm control --reload", "udevadm trigger"]
    assert [line.split()[0] for line in ran] == [
        "mkdir", "install", "ldconfig", "install", "update-grub", "install", "udevadm", "udevadm", "install", "usermod"
    ]  # fmt: skip
    finish_by_hand(bert, "--undo")
    assert bert.mine() == []
    left = dict(_listing(bert.root.path, ["/var/tmp/bert"]))
    assert not [path for path in left if "/by-hand/" in path]


def test_resumed_before_anybody_did_it_the_same_is_told_again(bert: Machine) -> None:
    first, again = bert.setup("cpu", "--yes"), bert.setup("--resume")
    assert re.findall(r"^\s*\$ (.+)$", first[1], re.M) == re.findall(r"^\s*\$ (.+)$", again[1], re.M) != []
    assert bert.mine() == []
    rc, output = bert.setup("--undo")
    assert rc == 0, output
    assert bert.mine() == []


@pytest.mark.rotates("sudo")
def test_sudo_that_refuses_is_as_good_as_none(able: Machine) -> None:
    """carl is not in sudoers, and there is no terminal to ask for a password at."""
    able.root.run(["install", "-d", "-o", "carl", "/var/tmp/carl"])
    carl = Machine(able.root, "carl", able.start)
    rc, output = carl.setup("cpu", "--yes")
    assert rc == 1 and "no terminal" in " ".join(output.split()), output
    assert [line.split()[0] for line in by_hand(carl, rc, output)] == ["mkdir", "install", "ldconfig"]
    assert isinstance(able.start, RootState) and able.mine(KIT, "ld.so.conf.d/deep") == []


def test_a_file_that_only_root_may_read(bert: Machine) -> None:
    """Nobody can tell what must be taken out of it: no command is told that would not help."""
    bert.root.here(GRUB).chmod(0o600)
    bert.start = bert.root.state()
    by_hand(bert, *bert.setup("cpu", "--yes"))
    rc, output = bert.setup("--resume")
    assert rc == 1 and f"only root may read {GRUB}, and sudo is not installed" in " ".join(output.split()), output
    bert.root.here(GRUB).chmod(0o644)
    finish_by_hand(bert, "--resume")
    assert b"force_probe" not in bert.root.here(GRUB).read_bytes()


def test_a_usermod_that_died_between_two_files_is_made_good(base: tuple[Workshop, Frozen]) -> None:
    """/etc/group was written and /etc/gshadow was not; the locks hold the number of a process that is gone, or that nobody waits for."""
    shop, frozen = base
    zombie = subprocess.Popen(["true"])
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)  # it is dead now, and not waited for: signals still reach its number
    settings, before = {"user": "bert", "groups": ["render", "video"]}, {"had": []}
    try:
        for pid in (zombie.pid, 4194300):
            with shop.lent(frozen) as root:
                kind, machine_ = GroupKind(), RootMachine(root)
                start = root.state()
                kind.apply(settings, before, machine_)
                whole = root.state()
                half = root.read("/etc/gshadow").replace(":bert\n", ":\n").replace(",bert\n", "\n")
                assert half != root.read("/etc/gshadow")

                def dies(root: LayeredRoot = root, half: str = half, pid: int = pid) -> None:
                    root.here("/etc/gshadow").write_text(half)
                    for name in ("passwd", "group", "shadow", "gshadow"):
                        root.write(f"/etc/{name}.lock", f"{pid}\0", 0o600)
                    root.write(f"/etc/subuid.{pid}", f"{pid}\0", 0o600)

                dies()
                kind.recover(settings, before, machine_)
                kind.apply(settings, before, machine_)
                assert root.state().differences(whole) == []
                dies()
                kind.undo(settings, before, None, machine_)
                assert root.state().differences(start) == []
                # The undo itself can die there too: gpasswd has taken bert from the one file only.
                kind.apply(settings, before, machine_)
                names = root.read("/etc/group").replace(":bert\n", ":\n").replace(",bert\n", "\n")
                root.here("/etc/group").write_text(names)
                kind.undo(settings, before, None, machine_)
                assert root.state().differences(start) == []
    finally:
        zombie.wait()
