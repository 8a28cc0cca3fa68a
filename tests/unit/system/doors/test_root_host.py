"""A root folder in the place of a machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.facts.collect import gather
from gpudoctor.model.facts import Known, Unknown
from gpudoctor.system.doors import root_host
from gpudoctor.system.doors.root_host import FILES_ONLY, RootHost, mounts_below
from gpudoctor.system.host import DoorError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in ("etc", "proc", "sys/bus/pci/devices", "dev/dri", "usr/lib/python3/dist-packages/numpy-2.0.0.dist-info", "usr/bin"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "etc/os-release").write_text('ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian GNU/Linux 12"\n')
    (tmp_path / "dev/dri/renderD128").write_text("")
    (tmp_path / "usr/bin/python3.11").write_text("")
    (tmp_path / "usr/bin/python3").symlink_to("python3.11")
    return tmp_path


def test_the_files_are_examined_and_programs_are_unknown_with_the_reason(root: Path) -> None:
    facts = gather(RootHost(str(root))).facts
    assert facts.value("os.id") == "debian"
    assert facts.value("python.executable") == "/usr/bin/python3"
    assert facts.value("python.distributions") == {"numpy": "2.0.0"}
    assert facts.value("looked_at.title") == f"root {root}"
    assert facts.get("vulkan.devices") == Unknown(f"not inspected: {FILES_ONLY}")


def test_a_kernel_that_nobody_mounted_says_nothing(root: Path) -> None:
    """Whatever lies in an image's /dev: no bus, no devices and no kernel are known, and none is known to be missing."""
    host = RootHost(str(root))
    facts = gather(host).facts
    for name in (
        "bus.pci.visible",
        "pci.devices",
        "gpus",
        "kernel.release",
        "gpu_files.nodes",
        "nvidia.access",
        "amd.kfd.node",
        "amd.kfd.nodes",
    ):
        assert isinstance(facts.get(name), Unknown), name
    assert not host.exists("/dev/dri/renderD128") and not host.knows("/dev/dri/renderD128")
    assert host.listdir("/dev/dri") == []


def test_nothing_of_this_machine_is_taken_for_the_root(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", "/somewhere")
    host = RootHost(str(root))
    assert host.env("VIRTUAL_ENV") is None
    assert host.env_names("") == ["HOME", "PATH"]
    assert host.realpath(".") == ""
    assert not host.exists(".venv/pyvenv.cfg")


@pytest.mark.parametrize(("given", "said"), [
    ("missing", "there is no such folder"),
    ("file", "this is a file; mount or unpack it first"),
    ("empty", "it holds no system, since etc/os-release is missing"),
])  # fmt: skip
def test_what_is_no_root_is_refused(tmp_path: Path, given: str, said: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DoorError, match=said):
        RootHost(str(tmp_path / given))


def test_chroot_needs_root(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(root_host, "is_root", lambda: False)
    with pytest.raises(DoorError, match="only root may run programs in another root"):
        RootHost(str(root), chroot=True)


def test_an_os_release_that_links_out_of_the_root_is_none(root: Path, tmp_path: Path) -> None:
    (root / "etc/os-release").unlink()
    (root / "etc/os-release").symlink_to("/etc/hostname-of-the-outside")
    with pytest.raises(DoorError, match="its etc/os-release is a link to /etc/hostname-of-the-outside, which this root does not hold"):
        RootHost(str(root))


def test_a_program_of_the_root_is_found_as_its_shell_would(root: Path) -> None:
    host = RootHost(str(root))
    (root / "usr/bin/tool").write_text("")
    assert host._program("tool") is None
    (root / "usr/bin/tool").chmod(0o755)
    assert host._program("tool") == "/usr/bin/tool"
    assert host._program("usr/bin/tool") is None


def test_mounts_are_named_as_in_the_root() -> None:
    text = "proc /r/proc proc rw 0 0\n/dev/sda / ext4 rw 0 0\n/dev/sdb /r ext4 rw 0 0\nx /root2 tmpfs rw 0 0\n"
    assert mounts_below("/r", text, 1) == "proc /proc proc rw 0 0\n/dev/sdb / ext4 rw 0 0\n"


def test_a_wish_for_another_python_is_inside_the_root(root: Path) -> None:
    host = RootHost(str(root))
    host.target_python = "/usr/bin/python3"
    assert gather(host, only=("python_env",)).facts.get("python.why") == Known("--python")


def test_a_root_that_may_not_be_read_is_not_called_empty(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(root_host.RootedFiles, "stat", lambda *_, **__: None)
    monkeypatch.setattr(root_host.RootedFiles, "knows", lambda *_: False)
    with pytest.raises(DoorError, match="no permission to look into it"):
        RootHost(str(root))
