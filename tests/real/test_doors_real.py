"""check behind other doors, as it really is: a torch process, a Debian root, sshd on loopback, podman."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import environments
import pytest
from debian_root import REPOSITORY, DebianRoot
from loopback_sshd import SSHD, free_port, serving
from podman_root import IMAGE, NO_SHELL, Podman, podman

pytestmark = pytest.mark.real
DOCTOR = [sys.executable, "-m", "gpudoctor"]
OF_THE_WAY = ("looked_at", "cwd", "disk", "mounts", "container")
"""Facts of how it was looked at: the working folder, the mounts of the namespace."""
OF_THE_MOMENT = ("memory",)
INSIDE = "import sys; sys.path[1:1] = ['/opt/gpudoctor', '/opt/site-packages']; from gpudoctor.cli import main; main(sys.argv[1:])"


def doctor(*words: str, env: Mapping[str, str] | None = None, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    environment = {**(env or os.environ), "COLUMNS": "80", "PYTHONPATH": str(REPOSITORY)}
    return subprocess.run([*before, *DOCTOR, *words], env=environment, capture_output=True, text=True, timeout=300)


def report(*words: str, **options: Any) -> dict[str, Any]:
    done = doctor("check", "--budget", "120", "--format", "json", *words, **options)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def what_is_said(document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str], list[Any]]:
    """Facts, unknown facts, and verdicts and findings, without what differs between two looks at one system."""
    facts = {name: value for name, value in document["facts"].items() if name not in (*OF_THE_WAY, *OF_THE_MOMENT)}
    names = ("PATH", "HOME", "LD_LIBRARY_PATH")
    facts["env"] = {name: facts["env"].get(name) for name in names}
    unknown = {name: why for name, why in document["unknown"].items() if name.split(".")[0] not in OF_THE_WAY}
    stacks = [(stack["stack"], stack["verdict"], [rung["status"] for rung in stack["layers"]]) for stack in document["stacks"]]
    return facts, unknown, [stacks, sorted(finding["id"] for finding in document["findings"])]


@contextlib.contextmanager
def running(words: list[str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_torch_process_with_two_openmp_libraries(tmp_path: Path) -> None:
    environment = environments.build("torch-cpu")
    own = next((environments.site_packages(environment) / "torch" / "lib").glob("libgomp*"))
    second = tmp_path / "libgomp.so.1"
    shutil.copy(own, second)
    code = f"import torch, ctypes, time; ctypes.CDLL({str(second)!r}); print('ready', flush=True); time.sleep(600)"
    with running([str(environment / "bin" / "python"), "-c", code]) as process:
        found = report("--pid", str(process.pid))
        second.unlink()  # as an upgrade does
        later = report("--pid", str(process.pid))
        assert process.poll() is None
    facts = found["facts"]
    assert {os.path.realpath(path) for path in facts["process"]["openmp"]} == {os.path.realpath(own), str(second)}
    assert facts["python"]["prefix"] == str(environment)
    assert facts["python"]["distributions"]["torch"].startswith("2.13.0")
    assert "process-two-openmp-runtimes" in [finding["id"] for finding in found["findings"]]
    assert "process-library-replaced" in [finding["id"] for finding in later["findings"]]
    assert later["facts"]["process"]["replaced"] == [str(second)]


def test_a_process_of_another_user_is_refused_to_one_who_is_not_root(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to become another user")
    with running([sys.executable, "-c", "print('ready', flush=True); import time; time.sleep(600)"]) as process:
        code = (
            "import os, pwd; from gpudoctor.system.doors.process_snapshot import take; os.setgid(65534); os.setuid(65534)\n"
            f"try: take('{process.pid}')\nexcept Exception as error: print(type(error).__name__, error)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=REPOSITORY)
    assert done.stdout.startswith("DoorError --pid ") and "it belongs to user root" in done.stdout, done


@pytest.fixture(scope="module")
def machine() -> Iterator[DebianRoot]:
    with DebianRoot.fresh(packages=SSHD) as root:
        yield root


@pytest.fixture(scope="module")
def inside(machine: DebianRoot) -> dict[str, Any]:
    machine.bind_doctor()
    done = machine.run(["python3", "-B", "-c", INSIDE, "check", "--budget", "120", "--format", "json"])
    return json.loads(done.stdout)


def test_by_ssh_is_as_inside_and_leaves_nothing(machine: DebianRoot, inside: dict[str, Any], tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with serving(machine, tmp_path / "ssh") as env:
        before = machine.state(), sorted(os.listdir(machine.here("/tmp"))), len(machine.processes())
        found = report("--host", "there", env={**env, "TMPDIR": str(scratch)})
        for _ in range(50):
            if len(machine.processes()) == before[2]:
                break
            time.sleep(0.1)
        assert what_is_said(found) == what_is_said(inside)
        assert found["facts"]["looked_at"] == {"kind": "host", "name": "there", "title": "host there"}
        assert machine.state().differences(before[0]) == []
        assert (sorted(os.listdir(machine.here("/tmp"))), len(machine.processes())) == before[1:]
        assert os.listdir(scratch) == []
        assert doctor("check", "--host", "there", "--quick", env=env).stdout.startswith("host there")
        made = doctor("capture", "--host", "there", "-q", "-o", str(tmp_path / "there.tar.gz"), env=env)
        assert made.returncode == 0, made.stderr
    again = report("--capture", str(tmp_path / "there.tar.gz"))
    assert sorted(finding["id"] for finding in again["findings"]) == sorted(finding["id"] for finding in found["findings"])
    assert again["facts"]["looked_at"]["kind"] == "host"


def test_a_root_by_chroot_is_as_inside(machine: DebianRoot, inside: dict[str, Any]) -> None:
    mounts = f'mount -t proc proc {machine.path}/proc && mount -t sysfs -o ro sysfs {machine.path}/sys && exec "$@"'
    found = report(
        "--root", str(machine.path), "--chroot", before=("unshare", "--mount", "--propagation", "private", "sh", "-c", mounts, "sh")
    )
    assert what_is_said(found) == what_is_said(inside)


def test_the_files_of_a_root_say_nothing_else_than_inside(machine: DebianRoot, inside: dict[str, Any]) -> None:
    found, truth = what_is_said(report("--root", str(machine.path)))[0], what_is_said(inside)[0]
    assert found["os"] == truth["os"] and found["packages"] == truth["packages"]
    assert found["python"]["executable"] == truth["python"]["executable"]
    assert found["python"]["distributions"] == truth["python"]["distributions"]
    assert "kernel" not in found or "release" not in found["kernel"]
    assert "gpus" not in found


@pytest.mark.parametrize("case", ["refused", "password", "silent", "unknown key"])
def test_ssh_that_does_not_let_us_in(machine: DebianRoot, tmp_path: Path, case: str) -> None:
    with serving(machine, tmp_path / "ssh") as env, socket.socket() as silent:
        configuration = tmp_path / "ssh" / "config"
        text = configuration.read_text()
        port = next(line.split()[1] for line in text.splitlines() if line.startswith(" Port"))
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        if case == "refused":
            text = text.replace(f"Port {port}", f"Port {free_port()}")
        elif case == "silent":
            text = text.replace(f"Port {port}", f"Port {silent.getsockname()[1]}")
        elif case == "password":
            machine.write("/root/.ssh/authorized_keys", "", 0o600)
        else:
            text = text.replace("accept-new", "yes")
        configuration.write_text(text)
        began = time.monotonic()
        done = doctor("check", "--host", "there", env=env)
    said = {"refused": "no ssh server answers there", "password": "ssh-copy-id there", "silent": "does not answer in time",
            "unknown key": "connect once by hand"}[case]  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "") and said in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert time.monotonic() - began < 60


@pytest.fixture(scope="module")
def engine() -> Iterator[Podman]:
    with tempfile.TemporaryDirectory() as folder, podman(Path(folder)) as found:
        found.run(["podman", "run", "-d", "--name", "web", IMAGE, "sleep", "3000"])
        yield found


def test_a_container_and_its_machine_side_by_side(engine: Podman, tmp_path: Path) -> None:
    found = report("--container", "web", env=engine.env)
    assert found["facts"]["looked_at"] == {"kind": "container", "name": "web", "title": "container web (podman)"}
    assert found["facts"]["os"]["id"] == "tiny"
    assert found["facts"]["engine"]["gpus_asked"] is False and found["facts"]["engine"]["image"] == IMAGE
    assert found["facts"]["outside"]["kernel"] == os.uname().release
    assert doctor("capture", "--container", "web", "-q", "-o", str(tmp_path / "c.tar.gz"), env=engine.env).returncode == 0
    again = report("--capture", str(tmp_path / "c.tar.gz"))
    assert again["facts"]["engine"] == found["facts"]["engine"] and again["facts"]["outside"]["kernel"] == os.uname().release
    assert [finding["id"] for finding in again["findings"]] == [finding["id"] for finding in found["findings"]]


def test_a_process_in_a_container_is_read_from_outside(engine: Podman) -> None:
    pid = engine.run(["podman", "inspect", "-f", "{{.State.Pid}}", "web"]).strip()
    found = report("--pid", pid)
    assert found["facts"]["os"]["id"] == "tiny" and found["facts"]["process"]["in_container"] is True
    assert found["facts"]["process"]["command"] == "sleep 3000"
    assert found["facts"]["outside"]["kernel"] == os.uname().release
    assert found["unknown"]["python.executable"] == f"not inspected: process {pid} runs no Python"


def test_an_image_is_looked_at_and_its_container_removed(engine: Podman) -> None:
    before = engine.run(["podman", "ps", "-a", "-q"])
    found = report("--image", IMAGE, env=engine.env)
    assert found["facts"]["os"]["id"] == "tiny" and "gpus" not in found["facts"]
    assert engine.run(["podman", "ps", "-a", "-q"]) == before


def test_containers_and_images_that_cannot_be_examined(engine: Podman) -> None:
    engine.run(["podman", "create", "--name", "never", IMAGE, "sleep", "1"])
    for words, said in (
        (("--container", "never"), "podman start never"),
        (("--container", "nothing"), "podman knows no such container"),
        (("--image", "localhost/nothing:1"), "podman pull localhost/nothing:1"),
        (("--image", NO_SHELL), "it holds no shell"),
    ):
        done = doctor("check", *words, env=engine.env)
        assert (done.returncode, done.stdout) == (2, "") and said in done.stderr and done.stderr.count("\n") == 1, done.stderr
    engine.run(["podman", "rm", "never"])
