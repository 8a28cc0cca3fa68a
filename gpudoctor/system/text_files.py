"""What a person gives as a text: a file, a compressed log, an archive of many files. Read piece by piece, never unpacked to disk."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import tarfile
import zipfile
from collections.abc import Iterator
from typing import IO

from gpudoctor.system.damaged_archives import DAMAGE, reason

PIECE = 1 << 20
LARGEST_MEMBER = 64 << 20
MOST = 2 << 30
"""Bytes of all that an archive holds: what is packed small may be endless."""
_SUFFIXES = (".log", ".txt", ".out", ".err", ".json", ".yaml", ".yml", ".html", ".xml", ".conf", ".cfg", ".md", ".csv", "")
_COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")
_INNER = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2")
_CAPTURE = "machine.toml"
_MAGIC = (
    (b"\x7fELF", "an ELF program or library"), (b"\x89PNG", "a PNG image"), (b"\xff\xd8\xff", "a JPEG image"), (b"%PDF", "a PDF document"),
    (b"MZ", "a Windows program"), (b"PAR1", "a Parquet file"), (b"\x93NUMPY", "a NumPy array"), (b"SQLite format 3", "an SQLite database"),
    (b"\x80\x02", "a pickle or an old PyTorch checkpoint"), (b"GGUF", "a GGUF model"),
)  # fmt: skip


class NotText(ValueError):
    """What was given holds no text that could be read: what it is, and what to give instead."""


def pieces(name: str) -> Iterator[bytes]:
    """The bytes of the text in a file, compressed or not. Raises OSError and NotText."""
    if os.path.isdir(name):
        raise NotText("a folder; give one or several of the files in it")
    with open(name, "rb") as file:
        start = file.read(PIECE)
        if not start:
            raise NotText("it is empty; give a log, a traceback or the pasted output of a tool")
        if not file.seekable():
            yield from _checked(start, iter(lambda: file.read(PIECE), b""))
            return
        file.seek(0)
        if start.startswith(_COMPRESSED):
            yield from _compressed(file)
        else:
            yield from _checked(b"", iter(lambda: file.read(PIECE), b""))


def members(name: str) -> Iterator[tuple[str, bytes]] | None:
    """The texts in an archive with their paths there; None for a file that is no archive. What is iterated raises NotText."""
    if not os.path.isfile(name):
        return None
    with open(name, "rb") as file:
        start = file.read(512)
        if start.startswith(b"PK\x03\x04"):
            return _texts(_zipped(name), name)
        file.seek(0)
        if not start.startswith(_COMPRESSED) and not _is_tar(start):
            return None
        try:
            tarfile.open(fileobj=file, mode="r|*").close()
        except DAMAGE:
            return None  # one compressed text, or damaged from the start
    return _texts(_packed(name), name)


def _is_tar(start: bytes) -> bool:
    return start[257:262] == b"ustar"


def checked(parts: Iterator[bytes]) -> Iterator[bytes]:
    """The same of what comes through a pipe."""
    start = next(parts, b"")
    if not start.strip():
        rest = next(parts, b"")
        if not rest:
            raise NotText("it is empty; give a log, a traceback or the pasted output of a tool")
        start += rest
    yield from _checked(start, parts)


def _checked(start: bytes, parts: Iterator[bytes]) -> Iterator[bytes]:
    """As UTF-8; Windows PowerShell redirects in UTF-16."""
    start = start or next(parts, b"")
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        yield b"".join((start, *parts)).decode("utf-16", "replace").encode()
        return
    what = binary(start)
    if what:
        raise NotText(f"{what}, not text; give a log, a traceback or the pasted output of a tool")
    yield start
    yield from parts


def binary(start: bytes) -> str:
    """What kind of binary data begins so; '' for text."""
    known = next((words for magic, words in _MAGIC if start.startswith(magic)), "")
    if known:
        return known
    head = start[:8192]
    control = sum(byte < 32 and byte not in b"\t\n\r\f\x08\x1b" for byte in head)
    return "binary data" if head and (head.count(0) > len(head) // 100 or control > len(head) // 20) else ""


def _compressed(file: IO[bytes]) -> Iterator[bytes]:
    try:
        with gzip.open(file) as unpacked:
            yield from _checked(b"", _limited(iter(lambda: unpacked.read(PIECE), b"")))
    except NotText:
        raise
    except DAMAGE as error:
        raise NotText(f"a compressed file that cannot be read ({reason(error)}); decompress it first") from error


def _packed(name: str) -> Iterator[tuple[str, bytes]]:
    try:
        with tarfile.open(name, mode="r|*") as archive:
            yield from _contents(archive, "")
    except DAMAGE as error:
        raise NotText(f"a damaged archive ({reason(error)}); pack it again, or give the log in it") from error


def _contents(archive: tarfile.TarFile, above: str) -> Iterator[tuple[str, bytes]]:
    """Its files, and those of the archives in it: a collection of several hosts holds one archive of each."""
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
    """Those of them that are text, a compressed log and one in UTF-16 too."""
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


def _limited(parts: Iterator[bytes]) -> Iterator[bytes]:
    total = 0
    for part in parts:
        total += len(part)
        if total > MOST:
            return
        yield part
