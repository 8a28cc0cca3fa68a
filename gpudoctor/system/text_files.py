"""Texts that a person gives, as a file, a compressed log or a pipe, read in pieces. archive_members reads archives of several."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import IO

PIECE = 1 << 20
MOST = 2 << 30
"""The most unpacked bytes of an archive, since a small one may unpack without end."""
COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")
_MAGIC = (
    (b"\x7fELF", "an ELF program or library"), (b"\x89PNG", "a PNG image"), (b"\xff\xd8\xff", "a JPEG image"), (b"%PDF", "a PDF document"),
    (b"MZ", "a Windows program"), (b"PAR1", "a Parquet file"), (b"\x93NUMPY", "a NumPy array"), (b"SQLite format 3", "an SQLite database"),
    (b"\x80\x02", "a pickle or an old PyTorch checkpoint"), (b"GGUF", "a GGUF model"),
)  # fmt: skip


class NotText(ValueError):
    """Raised where a file holds no text, with what it is and what to give instead."""


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
        if start.startswith(COMPRESSED):
            yield from _compressed(file)
        elif (dump := of_a_job(file, start, name)) is not None:
            yield dump
        else:
            yield from _checked(b"", iter(lambda: file.read(PIECE), b""))


def of_a_job(file: IO[bytes], start: bytes, name: str) -> bytes | None:
    """The lines of a flight recorder's dump, whose file begins with `start`; None for any other file, which is left at its beginning."""
    if start[:1] not in b"\x80{":
        return None
    from gpudoctor.system import job_dumps  # imported here, since few files begin in this way

    if not job_dumps.may_be_recorder(start):
        return None
    try:
        return job_dumps.recorder_text(file.read(job_dumps.LARGEST + 1), name)
    except job_dumps.NoDump as error:
        if start.startswith(b"\x80"):
            raise NotText(f"a pickle that is no dump of PyTorch's flight recorder: {error}") from error
        file.seek(0)
        return None


MOST_TEXTS = 500
"""Texts of one folder that are read."""


def texts_in(folder: str) -> list[str]:
    """The texts in a folder, by name: no hidden files, no folders, nothing that is empty or binary but dumps of a flight recorder."""
    found = []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if name.startswith(".") or not os.path.isfile(path):
            continue
        with open(path, "rb") as file:
            start = file.read(512)
        if start.strip() and (b"\x00" not in start or start.startswith(b"\x80\x02")):
            found.append(path)
    return found[:MOST_TEXTS]


def may_be_archive(name: str) -> bool:
    """Whether a file begins like an archive or a compressed text, which may hold one. Raises OSError."""
    if not os.path.isfile(name):
        return False
    with open(name, "rb") as file:
        start = file.read(512)
    return start.startswith((b"PK\x03\x04", *COMPRESSED)) or start[257:262] == b"ustar"


def checked(parts: Iterator[bytes]) -> Iterator[bytes]:
    """The bytes of a text that comes through a pipe. Raises NotText."""
    start = next(parts, b"")
    if not start.strip():
        rest = next(parts, b"")
        if not rest:
            raise NotText("it is empty; give a log, a traceback or the pasted output of a tool")
        start += rest
    yield from _checked(start, parts)


def _checked(start: bytes, parts: Iterator[bytes]) -> Iterator[bytes]:
    """The bytes of a text as UTF-8, since Windows PowerShell writes UTF-16. Raises NotText for binary data."""
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
    """The kind of binary data that begins like this; '' for text."""
    known = next((words for magic, words in _MAGIC if start.startswith(magic)), "")
    if known:
        return known
    head = start[:8192]
    control = sum(byte < 32 and byte not in b"\t\n\r\f\x08\x1b" for byte in head)
    return "binary data" if head and (head.count(0) > len(head) // 100 or control > len(head) // 20) else ""


def _compressed(file: IO[bytes]) -> Iterator[bytes]:
    import gzip  # imported here, since most texts are not compressed

    from gpudoctor.system.damaged_archives import DAMAGE, reason

    try:
        with gzip.open(file) as unpacked:
            yield from _checked(b"", _limited(iter(lambda: unpacked.read(PIECE), b"")))
    except NotText:
        raise
    except DAMAGE as error:
        raise NotText(f"a compressed file that cannot be read ({reason(error)}); decompress it first") from error


def _limited(parts: Iterator[bytes]) -> Iterator[bytes]:
    total = 0
    for part in parts:
        total += len(part)
        if total > MOST:
            return
        yield part
