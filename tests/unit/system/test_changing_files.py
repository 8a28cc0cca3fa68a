"""Files of the machine being changed: whole or not at all, and back as they were."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpudoctor.system.live_changes import ActingHost
from gpudoctor.system.local_host import LocalHost
from gpudoctor.system.writable_host import ActFailed

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def machine(tmp_path: Path) -> ActingHost:
    return ActingHost(LocalHost(), log=tmp_path / "state" / "log")


@pytest.mark.starts_processes("a doctor is killed while it writes")
def test_a_kill_leaves_the_old_or_the_new_content_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "etc"
    folder.mkdir()
    path = folder / "file"
    contents = [b"a" * 3_000_000, b"b" * 2_000_000]
    path.write_bytes(contents[0])
    script = f"""if True:
        from pathlib import Path
        from gpudoctor.system.live_changes import ActingHost
        from gpudoctor.system.local_host import LocalHost
        host = ActingHost(LocalHost(), log=Path({str(tmp_path)!r}) / "state" / "log")
        print("begins", flush=True)
        while True:
            for content in (b"b" * 2_000_000, b"a" * 3_000_000):
                host.write({str(path)!r}, content)
    """
    leftovers = 0
    for turn in range(12):
        with subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE) as doctor:
            assert doctor.stdout and doctor.stdout.readline()
            time.sleep(0.01 + turn * 0.007)
            doctor.send_signal(signal.SIGKILL)
        assert path.read_bytes() in contents
        leftovers += len(os.listdir(folder)) > 1
        ActingHost(LocalHost(), log=tmp_path / "state" / "log").read(str(path))
        assert os.listdir(folder) == ["file"]
        assert os.listdir(tmp_path / "state") == []
    assert leftovers, "no kill came in the middle: the test shows nothing"


def test_mode_and_owner_stay_unless_they_are_given(tmp_path: Path, machine: ActingHost) -> None:
    path = tmp_path / "file"
    machine.write(str(path), b"one")
    assert path.stat().st_mode & 0o7777 == 0o644
    path.chmod(0o4755)
    if os.geteuid() == 0:
        os.chown(path, 12, 34)
        path.chmod(0o4755)
    owner = (path.stat().st_uid, path.stat().st_gid)
    machine.write(str(path), b"two")
    found = path.stat()
    assert (path.read_bytes(), found.st_mode & 0o7777, (found.st_uid, found.st_gid)) == (b"two", 0o4755, owner)
    machine.write(str(path), b"three", mode=0o600, owner=f"{os.geteuid()}:{os.getegid()}")
    found = path.stat()
    assert (found.st_mode & 0o7777, found.st_uid) == (0o600, os.geteuid())
    with pytest.raises(ActFailed, match="no user or group nobody-of-this-name"):
        machine.write(str(path), b"four", owner="nobody-of-this-name")
    assert path.read_bytes() == b"three" and sorted(os.listdir(tmp_path)) == ["file", "state"]


def test_a_write_goes_through_a_link_and_never_into_the_void(tmp_path: Path, machine: ActingHost) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "void").symlink_to("nothing")
    machine.write(str(tmp_path / "link"), b"new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_bytes() == b"new"
    with pytest.raises(ActFailed, match=r"void cannot be written: it is a link to .*nothing, which is not there"):
        machine.write(str(tmp_path / "void"), b"new")
    assert not (tmp_path / "nothing").exists()
    machine.remove(str(tmp_path / "link"))
    assert (tmp_path / "real").exists()


def test_only_files_are_read_and_written(tmp_path: Path, machine: ActingHost) -> None:
    os.mkfifo(tmp_path / "pipe")
    for act in (lambda path: machine.read(path), lambda path: machine.write(path, b"x")):
        for path in (tmp_path / "pipe", tmp_path):
            with pytest.raises(ActFailed, match="not a regular file"):
                act(str(path))
    assert machine.read(str(tmp_path / "nothing" / "there")) is None
    with pytest.raises(ActFailed, match="No such file"):
        machine.write(str(tmp_path / "nothing" / "there"), b"x")
    with pytest.raises(ActFailed, match="directory"):
        machine.remove(str(tmp_path))
    machine.remove(str(tmp_path / "nothing" / "there"))


def test_folders(tmp_path: Path, machine: ActingHost) -> None:
    path = tmp_path / "new"
    machine.make_folder(str(path), mode=0o777)
    assert path.stat().st_mode & 0o777 == 0o777
    path.chmod(0o711)
    machine.make_folder(str(path))
    assert path.stat().st_mode & 0o777 == 0o711, "a folder that was there stays as it was"
    (path / "file").touch()
    assert not machine.remove_empty_folder(str(path))
    (path / "file").unlink()
    assert machine.remove_empty_folder(str(path)) and machine.remove_empty_folder(str(path))
    path.touch()
    assert not machine.remove_empty_folder(str(path))
    with pytest.raises(ActFailed, match="cannot be made"):
        machine.make_folder(str(path))


def test_a_tree_goes_without_what_its_links_point_to(tmp_path: Path, machine: ActingHost) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    tree = tmp_path / "tree"
    (tree / "inner").mkdir(parents=True)
    (tree / "inner" / "link").symlink_to(tmp_path / "kept")
    machine.remove_tree(str(tree))
    machine.remove_tree(str(tree))
    assert not tree.exists()
    tree.symlink_to(tmp_path / "kept")
    with pytest.raises(ActFailed, match="it is a link now"):
        machine.remove_tree(str(tree))
    assert (tmp_path / "kept" / "file").exists()


@pytest.mark.starts_processes("a doctor is killed while it writes")
def test_a_tree_with_folders_that_may_not_be_written_goes_too() -> None:
    script = """if True:
        import os, shutil, tempfile
        from gpudoctor.system import safe_files
        if os.geteuid() == 0:  # no mode stops root
            os.setgid(65534)
            os.setuid(65534)
        top = tempfile.mkdtemp()
        os.makedirs(top + "/inner/deep")
        open(top + "/inner/deep/file", "w").close()
        os.chmod(top + "/inner/deep", 0o500)
        os.chmod(top + "/inner", 0o000)
        os.chmod(top, 0o500)
        safe_files.remove_tree(top)
        assert not os.path.exists(top)
    """
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)


def test_rename(tmp_path: Path, machine: ActingHost) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "two" / "file").touch()
    with pytest.raises(ActFailed, match="cannot be renamed"):
        machine.rename(str(tmp_path / "one"), str(tmp_path / "two"))
    machine.rename(str(tmp_path / "two"), str(tmp_path / "three"))
    assert (tmp_path / "three" / "file").exists()
