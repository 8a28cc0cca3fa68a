"""The files of a folder that comes from elsewhere, with sizes and checksums. Links and special files are refused."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator

_PIECE = 1 << 20


class OddFile(ValueError):
    """Raised with the path, within the folder, of what is neither a plain file nor a folder."""


def plain_files(folder: str) -> Iterator[tuple[str, int]]:
    """(path below `folder` with slashes, bytes) of every file, sorted. Raises OddFile, and OSError where something cannot be read."""
    yield from _below(os.path.abspath(folder), "")


def _below(folder: str, prefix: str) -> Iterator[tuple[str, int]]:
    for name in sorted(os.listdir(folder)):
        path, shown = os.path.join(folder, name), f"{prefix}{name}"
        found = os.lstat(path)
        if stat.S_ISDIR(found.st_mode):
            yield from _below(path, f"{shown}/")
        elif stat.S_ISREG(found.st_mode):
            yield shown, found.st_size
        else:
            raise OddFile(shown)


def sha256(path: str) -> str:
    """The SHA-256 of a plain file of any size, in hexadecimal digits. Raises OSError, also for a link."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as file:
        digest = hashlib.sha256()
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def small_file(path: str, limit: int) -> bytes:
    """The content of a plain file. Raises OSError, and ValueError where it is larger than `limit` bytes."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ValueError(f"larger than {limit} bytes")
    return content
