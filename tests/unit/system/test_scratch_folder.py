"""Temporary folders of runs that were killed are gone with the next run; those of runs that live are not touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.system import scratch_folder
from gpudoctor.system.scratch_folder import LOCK, ScratchFolder

PREFIX = "gpudoctor-of-a-test-"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(scratch_folder.tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_is_there_until_it_is_removed(place: Path) -> None:
    made = ScratchFolder(PREFIX)
    (Path(made.path) / "deep").mkdir()
    assert Path(made.path).parent == place and os.stat(made.path).st_mode & 0o077 == 0
    made.remove()
    made.remove()
    assert list(place.iterdir()) == []


@pytest.mark.starts_processes("who holds the lock has to die of SIGKILL")
@pytest.mark.skipif(sys.platform == "win32", reason="locks of Unix")
def test_what_a_killed_run_left_is_removed_by_the_next(place: Path) -> None:
    code = (
        "import os, signal, tempfile; from gpudoctor.system.scratch_folder import ScratchFolder;"
        f"tempfile.tempdir = {str(place)!r}; made = ScratchFolder({PREFIX!r});"
        "open(made.path + '/left', 'w').close(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    (left,) = place.iterdir()
    assert (left / "left").exists()
    made = ScratchFolder(PREFIX)
    assert list(place.iterdir()) == [Path(made.path)]


def test_what_another_run_has_at_the_moment_stays(place: Path) -> None:
    one, other = ScratchFolder(PREFIX), ScratchFolder(PREFIX)
    ScratchFolder(PREFIX).remove()
    assert os.path.exists(one.path) and os.path.exists(other.path)


def test_what_looks_alike_and_is_something_else_stays(place: Path) -> None:
    elsewhere = place / "elsewhere"
    elsewhere.mkdir()
    (place / f"{PREFIX}link").symlink_to(elsewhere)
    (place / f"{PREFIX}file").write_text("x")
    (place / f"{PREFIX}young").mkdir()
    (place / f"{PREFIX}odd").mkdir()
    (place / f"{PREFIX}odd" / LOCK).symlink_to(place / f"{PREFIX}file")
    ScratchFolder(PREFIX).remove()
    assert {path.name for path in place.iterdir()} == {"elsewhere", *(PREFIX + name for name in ("link", "file", "young", "odd"))}


def test_an_old_folder_without_its_file_is_removed(place: Path) -> None:
    old = place / f"{PREFIX}old"
    old.mkdir()
    os.utime(old, (1.0, 1.0))
    ScratchFolder(PREFIX).remove()
    assert not old.exists()
