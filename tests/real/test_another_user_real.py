"""gpudoctor as a user that owns nothing: a home that is missing or read-only, closed folders, a temporary folder that is full at once.

Every answer is the one that anybody gets, or one line that says what may not be read or written, and its exit status.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence

import pytest
from debian_root import DebianRoot

USER = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
LOG = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
SMALL = 64 << 10
"""Bytes of the temporary folder."""


@pytest.fixture(scope="module")
def root() -> Iterator[DebianRoot]:
    with DebianRoot.fresh() as made:
        made.bind_doctor()
        made.run(["mkdir", "-p", "/closed/venv/bin", "/closed/checks", "/readonly", "/own", "/small"])
        for folder, mode in (("/closed", "700"), ("/readonly", "555"), ("/own", "777")):
            made.run(["chmod", mode, folder])
        made.run(["cp", "/usr/bin/python3", "/closed/venv/bin/python"])
        made.write("/own/train.log", LOG)
        made.write("/closed/machine.toml", "format = 1\n")
        small = str(made.here("/small"))
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL},mode=1777", "tmpfs", small], check=True)
        try:
            yield made
        finally:
            subprocess.run(["umount", "-l", small], check=False)


def asked(root: DebianRoot, words: Sequence[str], home: str = "/own", temporary: str = "/tmp") -> subprocess.CompletedProcess[str]:
    names = [f"HOME={home}"] if home else ["-u", "HOME"]
    argv = [*USER, "env", *names, f"TMPDIR={temporary}", *root.doctor_argv(words)]
    done = root.run(argv, check=False, cwd="/")
    assert "Traceback" not in done.stdout and "bug in gpudoctor" not in done.stdout, done.stdout
    return done


@pytest.mark.rotates("a home of another user")
@pytest.mark.parametrize(
    ("home", "temporary"),
    [("/nonexistent", "/tmp"), ("/readonly", "/tmp"), ("", "/tmp"), ("/own", "/small"), ("/own", "/nowhere")],
)
def test_answers_are_the_same(root: DebianRoot, home: str, temporary: str) -> None:
    check = asked(root, ["check", "--quick"], home, temporary)
    assert check.returncode == 0 and check.stdout.startswith("No GPU found")
    explain = asked(root, ["explain", "/own/train.log"], home, temporary)
    assert explain.returncode == 1 and "No kernel image" in explain.stdout
    assert asked(root, ["setup", "--history"], home, temporary).stdout == "No runs yet.\n"
    capture = asked(root, ["capture", "-o", "/own/machine.tar.gz"], home, temporary)
    assert capture.returncode == 0 and "/own/machine.tar.gz" in capture.stdout
    assert asked(root, ["check", "--quick", "--capture", "/own/machine.tar.gz"], home, temporary).returncode == 0


@pytest.mark.rotates("what is closed")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["check", "--quick", "--checks", "/closed"], "/closed: no permission to read this folder of checks"),
        (["list", "checks", "--checks", "/closed/checks"], "/closed/checks"),
        (["check", "--quick", "--python", "/closed/venv"], "no permission to look into /closed"),
        (["audit", "--python", "/closed/venv/bin/python", "--backend", "cpu"], "no permission to look into /closed"),
        (["audit", "/closed/requirements.txt", "--backend", "cpu"], "Permission denied"),
        (["explain", "/closed/train.log"], "Permission denied"),
        (["check", "--capture", "/closed"], "Permission denied"),
        (["check", "--quick", "--expect", "/closed/policy.toml"], "Permission denied"),
        (["check", "--quick", "-o", "/closed/x"], "Permission denied"),
        (["capture", "-o", "/closed/x.tar.gz"], "no permission for /closed"),
        (["setup", "cpu", "--plan", "--format", "sh", "-o", "/readonly/x.sh"], "Permission denied"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_closed_is_a_usage_error_in_one_line(root: DebianRoot, words: list[str], says: str) -> None:
    done = asked(root, words)
    assert done.returncode == 2 and says in done.stdout and len(done.stdout.splitlines()) == 1, done.stdout


def test_a_full_disk_leaves_no_half_of_a_capture(root: DebianRoot) -> None:
    filled = f"head -c {SMALL} /dev/zero >/small/filling 2>/dev/null; true"
    root.run(["sh", "-c", filled])
    done = asked(root, ["capture", "-o", "/small/machine.tar.gz"])
    assert done.returncode == 2 and "No space left" in done.stdout and len(done.stdout.splitlines()) == 1, done.stdout
    assert root.out(["ls", "/small"]) == "filling\n"
    again = asked(root, ["check", "--quick"], temporary="/small")
    assert again.returncode == 0 and again.stdout.startswith("No GPU found")
    root.run(["rm", "/small/filling"])
