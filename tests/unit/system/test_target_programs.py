"""Programs for another interpreter: those beside the package, and copies where the package lies in a zip archive."""

from __future__ import annotations

import atexit
import os
import zipfile
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path

import pytest

from gpudoctor.system import scratch_folder, target_programs

PACKAGE = Path(target_programs.__file__).parents[1]


@pytest.fixture
def from_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Callable[[], None]]]:
    """The package as it looks from inside an archive; what is registered for the end of the process comes back."""
    with zipfile.ZipFile(tmp_path / "gpudoctor.zip", "w") as archive:
        for path in (PACKAGE / "target").rglob("*.py"):
            archive.write(path, path.relative_to(PACKAGE.parent).as_posix())
    at_end: list[Callable[[], None]] = []
    monkeypatch.setattr(target_programs, "_BESIDE", str(tmp_path / "gpudoctor.zip" / "gpudoctor" / "target"))
    monkeypatch.setattr(resources, "files", lambda package: zipfile.Path(tmp_path / "gpudoctor.zip", f"{package}/"))
    monkeypatch.setattr(scratch_folder.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(atexit, "register", at_end.append)
    target_programs.programs_folder.cache_clear()
    yield at_end
    target_programs.programs_folder.cache_clear()


def test_an_installed_package_is_not_copied() -> None:
    assert target_programs.program("workloads", "worker.py") == str(PACKAGE / "target" / "workloads" / "worker.py")


def test_from_an_archive_every_program_is_copied_into_a_private_folder(from_zip: list[Callable[[], None]], tmp_path: Path) -> None:
    worker = Path(target_programs.program("workloads", "worker.py"))
    assert worker.read_bytes() == (PACKAGE / "target" / "workloads" / "worker.py").read_bytes()
    assert Path(target_programs.program("payloads", "computations")).is_dir()
    (private,) = tmp_path.glob(f"{target_programs.PREFIX}*")
    assert worker.is_relative_to(private) and os.stat(private).st_mode & 0o077 == 0
    assert target_programs.program("workloads", "worker.py") == str(worker)
    for remove in from_zip:
        remove()
    assert not private.exists()
