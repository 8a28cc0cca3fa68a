"""An archive with any few bytes of it changed gives the error of who reads it, one line, and nothing else."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudoctor.capture.recorded_host import open_recorded
from gpudoctor.services.checking import RequestError
from gpudoctor.services.diffing import IN_ARCHIVE, _in_archive
from gpudoctor.system.archive_members import members
from gpudoctor.system.host import CaptureError
from gpudoctor.system.text_files import NotText
from gpudoctor.system.unpacking import unpack
from gpudoctor.system.writable_host import ActFailed

FILES = {"machine.toml": b"schema = 1\n", "files/etc/os-release": b"ID=debian\n" * 3, IN_ARCHIVE: b"{}"}


def zipped() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in FILES.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return made.getvalue()


def packed(mode: str) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as archive:
        for name, content in FILES.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return made.getvalue()


def read_texts(path: Path) -> None:
    for _, text in members(str(path)) or ():
        assert isinstance(text, bytes)


READERS: dict[str, Callable[[Path], object]] = {
    "a recorded machine": lambda path: open_recorded(str(path)).read("/etc/os-release"),
    "texts in an archive": read_texts,
    "a report in an archive": lambda path: _in_archive(str(path)),
    "an archive that is unpacked": lambda path: unpack(str(path), str(path) + ".d"),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("form", ["zip", "tar.gz"])
def test_changed_bytes_anywhere_are_an_error_of_the_reader(reader: str, form: str, tmp_path: Path) -> None:
    whole = zipped() if form == "zip" else packed("w:gz")
    target = tmp_path / "broken"
    refused = 0
    for at in range(0, len(whole), 1 if form == "zip" else 3):
        for junk in (b"\x00", b"\x00" * 6, b"\xff\xff", b""):
            target.write_bytes(whole[:at] + junk + whole[at + len(junk) :] if junk else whole[:at])
            try:
                READERS[reader](target)
            except (CaptureError, NotText, RequestError, ActFailed) as error:
                assert "\n" not in str(error)
                refused += 1
    assert refused > len(whole) // 4
