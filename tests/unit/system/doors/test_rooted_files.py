"""Files below a root: nothing in it leads out of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpudoctor.system.doors.rooted_files import RootedFiles


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("outside")
    top = tmp_path / "root"
    (top / "etc").mkdir(parents=True)
    (top / "secret").write_text("inside")
    (top / "etc" / "up").symlink_to("../../../../secret")
    (top / "etc" / "absolute").symlink_to("/secret")
    (top / "etc" / "own").symlink_to(str(tmp_path / "secret"))
    (top / "folder").symlink_to("/etc")
    (top / "loop").symlink_to("loop")
    (top / "away").symlink_to(str(tmp_path))
    return top


@pytest.mark.parametrize("path", ["/etc/up", "/etc/absolute", "/folder/absolute", "/etc/../secret", "/../../secret", "/folder/../etc/up"])
def test_links_and_dots_stay_inside(root: Path, path: str) -> None:
    assert RootedFiles(str(root)).read(path, 100).text == "inside"


@pytest.mark.parametrize("path", ["/etc/own", "/away/secret", "/loop", "/secret/.", "/secret/x"])
def test_what_would_lie_outside_is_not_there(root: Path, path: str) -> None:
    files = RootedFiles(str(root))
    assert not files.read(path, 100).ok
    assert files.stat(path) is None
    assert files.mode(path) is None
    assert files.listdir(path) == []


def test_a_link_is_read_as_text_and_its_end_is_named_as_inside(root: Path) -> None:
    files = RootedFiles(str(root))
    assert files.readlink("/etc/absolute") == "/secret"
    assert files.readlink("/secret") is None
    assert files.realpath("/folder/absolute") == "/secret"
    assert files.realpath("/loop") == "/loop"
    assert files.listdir("/folder") == ["absolute", "own", "up"]


def test_a_fifo_is_not_opened_and_a_large_file_not_read_whole(root: Path) -> None:
    os.mkfifo(root / "pipe")
    files = RootedFiles(str(root))
    assert files.read("/pipe", 100).problem == "io-error"
    assert files.read("/secret", 3).problem == "too-large"
    assert files.read("/nothing", 3).problem == "missing"


def test_no_descriptor_stays_open(root: Path) -> None:
    files = RootedFiles(str(root))
    before = len(os.listdir("/proc/self/fd"))
    for path in ("/etc/up", "/loop", "/away/secret", "/nothing/x", "/folder/../etc"):
        files.read(path, 100), files.listdir(path), files.realpath(path), files.readlink(path)
    assert len(os.listdir("/proc/self/fd")) == before
    files.close()
    files.close()
    assert len(os.listdir("/proc/self/fd")) == before - 1


def test_names_of_users_and_groups_are_those_of_the_root(root: Path) -> None:
    (root / "etc" / "passwd").write_text(f"root:x:0:0::/:/bin/sh\ninside:x:{os.getuid() or 4711}:0::/:/bin/sh\n")
    (root / "etc" / "group").write_text("render:x:4712:\n")
    if os.getuid() == 0:
        os.chown(root / "secret", 4711, 4712)
        mode = RootedFiles(str(root)).mode("/secret")
        assert mode is not None and (mode.owner, mode.group, mode.gid) == ("inside", "render", 4712)
    else:
        mode = RootedFiles(str(root)).mode("/secret")
        assert mode is not None and mode.owner == "inside"
