"""The texts in an archive that a person gives. They are read member by member and never unpacked to the disk."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import tarfile
import zipfile
from collections.abc import Iterator

from gpudoctor.system.damaged_archives import DAMAGE, reason
from gpudoctor.system.text_files import COMPRESSED, MOST, NotText, binary, of_a_job

LARGEST_MEMBER = 64 << 20
_SUFFIXES = (".log", ".txt", ".out", ".err", ".json", ".yaml", ".yml", ".html", ".xml", ".conf", ".cfg", ".md", ".csv", "")
_INNER = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2")
_CAPTURE = "machine.toml"


def members(name: str) -> Iterator[tuple[str, bytes]] | None:
    """(path, content) of each text in an archive; None for a file that is no archive. The iterator raises NotText."""
    if not os.path.isfile(name):
        return None
    with open(name, "rb") as file:
        start = file.read(512)
        if start.startswith(b"PK\x03\x04"):
            return _texts(_zipped(name), name)
        file.seek(0)
        if not start.startswith(COMPRESSED) and start[257:262] != b"ustar":
            return None
        try:
            tarfile.open(fileobj=file, mode="r|*").close()
        except DAMAGE:
            return None  # the file is one compressed text, or it is damaged from its first byte
    return _texts(_packed(name), name)


def _packed(name: str) -> Iterator[tuple[str, bytes]]:
    try:
        with tarfile.open(name, mode="r|*") as archive:
            yield from _contents(archive, "")
    except DAMAGE as error:
        raise NotText(f"a damaged archive ({reason(error)}); pack it again, or give the log in it") from error


def _contents(archive: tarfile.TarFile, above: str) -> Iterator[tuple[str, bytes]]:
    """The files of an archive, and those of archives in it: a collection of several hosts holds one archive of each."""
    for member in archive:
        content = archive.extractfile(member) if member.isreg() and 0 < member.size <= LARGEST_MEMBER else None
        if content is None:
            continue
        if not above and member.name.endswith(_INNER):
            with contextlib.suppress(*DAMAGE), tarfile.open(fileobj=io.BytesIO(content.read()), mode="r|*") as inner:
                yield from _contents(inner, f"{member.name}/")
            continue
        yield above + member.name, content.read(LARGEST_MEMBER)


def _zipped(name: str) -> Iterator[tuple[str, bytes]]:
    try:
        with zipfile.ZipFile(name) as archive:
            for member in archive.infolist():
                if not member.is_dir() and 0 < member.file_size <= LARGEST_MEMBER:
                    with archive.open(member) as content:
                        yield member.filename, content.read(LARGEST_MEMBER)
    except DAMAGE as error:
        raise NotText(f"a zip archive that cannot be read ({reason(error)}); give the log in it") from error


def _texts(files: Iterator[tuple[str, bytes]], name: str) -> Iterator[tuple[str, bytes]]:
    """Those files that are texts, including compressed logs and texts in UTF-16."""
    found, total = 0, 0
    for path, text in files:
        if os.path.basename(path) == _CAPTURE:
            raise NotText(f"a recorded machine; diagnose it with: gpudoctor check --capture {name}")
        suffix = os.path.splitext(path.lower().removesuffix(".gz"))[1]
        if suffix not in _SUFFIXES and not suffix[1:].isdigit():
            continue
        if text.startswith(b"\x1f\x8b"):
            text = _unzipped(text)
        if text.startswith((b"\xff\xfe", b"\xfe\xff")):
            text = text.decode("utf-16", "replace").encode()
        if text[:1] in (b"\x80", b"{"):
            with contextlib.suppress(NotText):
                text = of_a_job(io.BytesIO(text), text, path) or text
        if not text or binary(text):
            continue
        found, total = found + 1, total + len(text)
        yield path, text
        if total > MOST:
            return
    if not found:
        raise NotText("an archive without a text file; give the log itself")


def _unzipped(content: bytes) -> bytes:
    try:
        with gzip.open(io.BytesIO(content)) as unpacked:
            return unpacked.read(LARGEST_MEMBER)
    except DAMAGE:
        return b""
