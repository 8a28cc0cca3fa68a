"""Recorded processes and containers: the same findings as behind the door, with GPUs that no test machine has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.capture.recorded_host import open_recorded
from gpudoctor.reporters.report import console
from gpudoctor.services import checking
from gpudoctor.services.beside import recorded
from gpudoctor.system.host import CaptureError

SITE = "/v/lib/python3.11/site-packages"
MAPS = f"""\
7f00-7f01 r-xp 0000 08:01 11 {SITE}/torch/lib/libtorch_cuda.so
7f01-7f02 r-xp 0000 08:01 12 /apps/cudnn/lib/libcudnn.so.9
7f02-7f03 r-xp 0000 08:01 13 /usr/lib/x86_64-linux-gnu/libcuda.so.580.65.06
7f03-7f04 r-xp 0000 08:01 14 {SITE}/numpy.libs/libopenblas.so (deleted)
7f04-7f05 r-xp 0000 08:01 15 {SITE}/torch/lib/libgomp.so.1
7f05-7f06 r--p 0000 08:01 15 {SITE}/torch/lib/libgomp.so.1
7f06-7f07 r-xp 0000 08:01 16 /v/lib/libiomp5.so
7f07-7f08 rw-s 0000 00:05 17 /dev/nvidia0
"""
STATUS = (
    "Name:\tpython\nState:\tD (disk sleep)\nUid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\nGroups:\t44 1000 \n"
    "VmRSS:\t  2048 kB\nThreads:\t7\n"
)


def write(folder: Path, door: dict[str, Any], files: dict[str, str], *, env: str = "", **tables: str) -> str:
    def value(each: Any) -> str:
        return json.dumps(each) if not isinstance(each, bool) else str(each).lower()

    lines = ["format = 1", "complete = false", 'platform = "linux"', "[door]", *(f"{key} = {value(each)}" for key, each in door.items())]
    (folder / "machine.toml").write_text("\n".join(lines) + "\n")
    (folder / "env.toml").write_text(env)
    for path, text in {"/etc/os-release": 'ID=debian\nVERSION_ID="12"\n', **files}.items():
        place = folder / "files" / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    for name, text in tables.items():
        (folder / name.replace("_", ".")).write_text(text)
    return str(folder)


def process(folder: Path, **more: str) -> str:
    files = {
        "/proc/self/maps": MAPS, "/proc/self/status": STATUS, "/proc/self/cmdline": "python\0train.py\0", "/proc/self/cgroup": "0::/a/b\n",
        "/proc/self/limits": "Limit  Soft Limit\nMax open files   1024   4096   files\nMax locked memory   unlimited unlimited bytes\n",
        "/sys/fs/cgroup/a/memory.max": "1000\n", "/sys/fs/cgroup/a/b/memory.max": "max\n",
        f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9": "", f"{SITE}/torch/version.py": "__version__ = '2.9.0+cu128'\n",
    }  # fmt: skip
    python = {"executable": "/v/bin/python", "version": "3.11.7", "prefix": "/v", "kind": "venv", "distributions": {"torch": "2.9.0+cu128"}}
    door = {"kind": "process", "name": "4711", "title": "process 4711: python train.py"}
    links = '"/proc/self/exe" = "/usr/bin/python3.11"\n"/proc/self/fd/3" = "/dev/nvidiactl"\n"/proc/self/fd/4" = "socket:[1]"\n'
    return write(folder, door, files, env='LD_LIBRARY_PATH = "/apps/cudnn/lib"\n', python_json=json.dumps(python), links_toml=links, **more)


def test_what_a_process_has_loaded(tmp_path: Path) -> None:
    report = checking.check(checking.CheckRequest(capture=process(tmp_path)))
    facts = report.facts["process"]
    assert facts["devices"] == ["/dev/nvidia0", "/dev/nvidiactl"]
    assert facts["state"] == "waiting for a device" and facts["threads"] == 7 and facts["memory_bytes"] == 2048 * 1024
    assert facts["memory_limit_bytes"] == 1000 and facts["limits"] == {"open_files": 1024, "locked_memory": None}
    assert facts["openmp"] == [f"{SITE}/torch/lib/libgomp.so.1", "/v/lib/libiomp5.so"]
    assert facts["elsewhere"] == [
        {"soname": "libcudnn.so.9", "path": "/apps/cudnn/lib/libcudnn.so.9", "installed": f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9"}
    ]
    found = {finding.id: finding for finding in report.findings}
    assert {"process-two-openmp-runtimes", "process-library-replaced", "process-library-from-elsewhere"} <= set(found)
    assert found["process-library-from-elsewhere"].advice.commands == ("env -u LD_LIBRARY_PATH -u LD_PRELOAD python PROGRAM",)


def test_the_screen_names_the_process_and_what_it_has_loaded(tmp_path: Path) -> None:
    screen = console.render(checking.check(checking.CheckRequest(capture=process(tmp_path))), verbose=True)
    assert screen.startswith("process 4711: python train.py")
    assert "libcudnn.so.9 (system)" in screen and "devices open   /dev/nvidia0, /dev/nvidiactl" in screen


BESIDE = {
    "outside.nodes": ["/dev/nvidia0", "/dev/nvidiactl", "/dev/dri/renderD128"], "outside.cdi": [], "outside.kernel": "6.8.0",
    "outside.node_groups": {"/dev/dri/renderD128": "104 render"}, "outside.nvidia_driver": "580.65.06",
    "outside.gpus": [{"vendor": "nvidia", "name": "RTX 4090"}],
}  # fmt: skip


def container(folder: Path, beside: Any = BESIDE, **more: Any) -> str:
    door = {
        "kind": "container",
        "name": "web",
        "title": "container web (podman)",
        "engine": "podman",
        "image": "torch:1",
        "gpus_asked": False,
    }
    files = {"/dev/null": "", "/dev/dri/renderD128": "", "/run/.containerenv": ""}
    modes = '"/dev/dri/renderD128" = {mode = "crw-rw----", owner = "root", group = "ssl-cert", uid = 0, gid = 104}\n'
    return write(
        folder, {**door, **more}, files, beside_json=json.dumps(beside), modes_toml=modes, env='NVIDIA_DRIVER_CAPABILITIES = "utility"\n'
    )


def test_a_dead_container_on_a_healthy_machine(tmp_path: Path) -> None:
    report = checking.check(checking.CheckRequest(capture=container(tmp_path)))
    found = {finding.id: finding for finding in report.findings}
    assert {"container-device-files-missing", "container-cdi-file-missing", "container-without-compute-libraries"} <= set(found)
    assert found["container-device-files-missing"].advice.commands == ("podman run --device nvidia.com/gpu=all IMAGE",)
    assert found["container-group-means-another"].title == "Group 104 of /dev/dri/renderD128 is render here, ssl-cert inside"
    sides = report.facts["sides"]
    assert sides["closed_vendors"] == ["nvidia"] and sides["nodes_missing"] == ["/dev/nvidia0", "/dev/nvidiactl"]


def test_both_sides_stand_beside_each_other(tmp_path: Path) -> None:
    screen = console.render(checking.check(checking.CheckRequest(capture=container(tmp_path))), verbose=True)
    assert screen.startswith("container web (podman)")
    rows = [line.split() for line in screen.splitlines() if line.startswith("  device files")]
    assert rows and rows[0][2:] == ["nvidia0,", "nvidiactl,", "dri/renderD128", "dri/renderD128"]


def test_a_container_with_all_that_its_machine_has(tmp_path: Path) -> None:
    beside = {**BESIDE, "outside.nodes": ["/dev/dri/renderD128"], "outside.node_groups": {"/dev/dri/renderD128": "104 ssl-cert"}}
    report = checking.check(checking.CheckRequest(capture=container(tmp_path, beside)))
    ids = {finding.id for finding in report.findings}
    assert not ids & {"container-device-files-missing", "container-cdi-file-missing", "container-group-means-another"}


@pytest.mark.parametrize(
    "said", [None, [], "x", {"outside.nodes": "x", "outside.gpus": [7], "outside.kernel": 7, "other": 1, "outside.node_groups": {"a": 1}}]
)
def test_a_strange_table_of_the_machine_beside_is_left_out(said: Any) -> None:
    assert recorded(said) == {}


@pytest.mark.parametrize(("door", "why"), [
    ({"kind": "attic", "name": "x", "title": "x"}, "door.kind is 'attic', expected one of process, root, host, container, image"),
    ({"kind": "process", "name": "x", "title": "x"}, "door.name is 'x', expected the number of a process"),
    ({"kind": 7}, "expected text"),
])  # fmt: skip
def test_a_strange_door_is_refused(tmp_path: Path, door: dict[str, Any], why: str) -> None:
    with pytest.raises(CaptureError, match=why):
        open_recorded(write(tmp_path, door, {}))


@pytest.mark.parametrize(("door", "title"), [
    ({"kind": "host", "name": "alice@lab7.example.org", "title": "host alice@lab7.example.org"}, "another machine, by ssh"),
    ({"kind": "root", "name": "/home/alice/root", "title": "root /home/alice/root"}, "a root folder"),
    ({"kind": "process", "name": "4711", "title": "process 4711: python /home/alice/secret-project.py"}, "process 4711"),
])  # fmt: skip
def test_what_a_person_called_it_does_not_leave(tmp_path: Path, door: dict[str, str], title: str) -> None:
    from gpudoctor.capture.redacted_capture import redact_entries
    from gpudoctor.model.toml_text import loads
    from gpudoctor.privacy.redactor import Redactor

    write(tmp_path, door, {})
    entries = redact_entries({"machine.toml": (tmp_path / "machine.toml").read_bytes()}, Redactor())
    said = entries["machine.toml"].decode()
    assert loads(said)["door"]["title"] == title
    assert not any(word in said for word in ("alice", "lab7", "secret-project"))
