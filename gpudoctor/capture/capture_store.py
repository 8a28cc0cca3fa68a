"""The storage of a capture: a folder, a .tar.gz or a .zip, read without unpacking and without following paths out of it.

A capture comes from somebody else. Nothing in it is followed, trusted for its size or executed: sizes are counted while
reading, links are kept as text, and a name that would lie outside ends in a CaptureError of one line.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import IO, Protocol

from gpudoctor.model.bounds import TooComplex, check_path
from gpudoctor.system.host import CaptureError

MAX_ENTRIES = 100_000
MAX_TOTAL = 96 * 1024 * 1024
"""The largest size of an unpacked archive in bytes: all of it is held in memory, so that a command that reads one needs at most 300 MB."""
MAX_FILE = 32 * 1024 * 1024


MAX_TEXT = 1024 * 1024
"""Bytes of a text, such as an issue, that is searched for the environment of a machine."""
ENVIRONMENT = "gpudoctor-env "


class Store(Protocol):
    """Entries of a capture by relative POSIX name."""

    where: str

    def names(self) -> Iterator[str]:
        """The names of all entries that are not links."""
        ...

    def links(self) -> dict[str, str]:
        """Links in the folder or archive: their targets by name."""
        ...

    def size(self, name: str) -> int:
        """The size in bytes; negative where there is nothing to read."""
        ...

    def read(self, name: str, limit: int) -> bytes | None:
        """At most `limit` bytes of an entry; None where it cannot be read."""
        ...


def open_store(path: str) -> Store:
    """The store at a path; its kind follows from the content, not from the suffix. Raises CaptureError."""
    try:
        if os.path.isdir(path):
            return FolderStore(path)
        if not os.path.exists(path) and os.access(os.path.dirname(path) or ".", os.X_OK):
            raise CaptureError(f"{path}: no such file or folder (expected a capture: a folder, .tar.gz or .zip)")
        os.stat(path)
        if not os.path.isfile(path):
            raise CaptureError(f"{path}: not a regular file (expected a capture: a folder, .tar.gz or .zip)")
        with open(path, "rb") as handle:
            head = handle.read(512)
            handle.seek(0)
            if head[:2] == b"PK":
                return _read_zip(path, handle)
            if head[:2] == b"\x1f\x8b" or head[257:262] == b"ustar":
                return _read_tar(path, handle, packed=head[:2] == b"\x1f\x8b")
            text = handle.read(MAX_TEXT).decode("utf-8-sig", "replace")
        if ENVIRONMENT in text:
            from gpudoctor.capture.environment_text import entries_of_text, holds_environment  # late: few captures are texts

            if holds_environment(text):
                return MemoryStore(path, dict(entries_of_text(text)), {})
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CaptureError(f"{path}: cannot be read: {reason}") from None
    raise CaptureError(f"{path}: not a capture (expected a folder, .tar.gz or .zip, or what gpudoctor-env.py printed)")


def inside(where: str, name: str) -> str:
    """The name, normalised. Raises CaptureError where it would lie outside the capture."""
    try:
        check_path(name)
    except TooComplex as error:
        raise CaptureError(f"{where}: {error}; a capture holds paths that a system can open") from None
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts or name.startswith("/") or "\x00" in name:
        raise CaptureError(f"{where}: entry {name[:120]!r} lies outside the capture")
    return "/".join(parts)


def text_name(name: str) -> str:
    """A name without lone surrogates, so that it can be printed and compared."""
    return name.encode("utf-8", "replace").decode("utf-8")


class FolderStore:
    """A folder on disk. Links in it are texts; only regular files are read, on demand."""

    def __init__(self, root: str) -> None:
        self.where = root
        self._sizes: dict[str, int] = {}
        self._links: dict[str, str] = {}
        self._disk: dict[str, str] = {}
        waiting = [("", root)]
        while waiting:
            prefix, folder = waiting.pop()
            try:
                entries = list(os.scandir(folder))
            except OSError:
                if not prefix:
                    raise
                continue
            for entry in entries:
                name = text_name(f"{prefix}{entry.name}")
                try:
                    self._add(entry, name, waiting)
                except OSError:
                    self._sizes[name] = -1
                if len(self._sizes) + len(self._links) > MAX_ENTRIES:
                    raise CaptureError(f"{root}: more than {MAX_ENTRIES} entries")

    def _add(self, entry: os.DirEntry[str], name: str, waiting: list[tuple[str, str]]) -> None:
        if entry.is_symlink():
            self._links[name] = text_name(os.readlink(entry.path))
        elif entry.is_dir(follow_symlinks=False):
            waiting.append((name + "/", entry.path))
        else:
            info = entry.stat(follow_symlinks=False)
            self._sizes[name] = info.st_size if stat.S_ISREG(info.st_mode) else -1
            self._disk[name] = entry.path

    def names(self) -> Iterator[str]:
        return iter(self._sizes)

    def links(self) -> dict[str, str]:
        return self._links

    def size(self, name: str) -> int:
        return self._sizes.get(name, -1)

    def read(self, name: str, limit: int) -> bytes | None:
        if self.size(name) < 0:
            return None
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        try:
            with os.fdopen(os.open(self._disk[name], flags), "rb") as handle:
                return handle.read(limit) if stat.S_ISREG(os.fstat(handle.fileno()).st_mode) else None
        except OSError:
            return None


class MemoryStore:
    """The entries of an archive, already in memory (their sum is limited)."""

    def __init__(self, where: str, contents: dict[str, bytes | None], links: dict[str, str]) -> None:
        self.where = where
        self._contents, self._links = contents, links

    def names(self) -> Iterator[str]:
        return iter(self._contents)

    def links(self) -> dict[str, str]:
        return self._links

    def size(self, name: str) -> int:
        content = self._contents.get(name)
        return -1 if content is None else len(content)

    def read(self, name: str, limit: int) -> bytes | None:
        content = self._contents.get(name)
        return None if content is None else content[:limit]


class _Counted:
    """A stream that gives at most MAX_TOTAL bytes, since the sizes that an archive states may be false."""

    def __init__(self, inner: IO[bytes], where: str) -> None:
        self._inner, self._where, self._left, self._empty = inner, where, MAX_TOTAL, 0

    def read(self, size: int = -1) -> bytes:
        data = self._inner.read(min(size, 1 << 20) if size >= 0 else 1 << 20)
        self._left -= len(data)
        if self._left < 0:
            raise CaptureError(f"{self._where}: more than {MAX_TOTAL >> 20} MiB unpacked")
        self._empty = 0 if data else self._empty + 1
        if self._empty > 100:  # a header that states a petabyte would make tarfile read an ended stream for years
            raise EOFError("it ends inside an entry")
        return data


def _read_tar(path: str, handle: IO[bytes], packed: bool) -> MemoryStore:
    import gzip
    import tarfile

    from gpudoctor.system.damaged_archives import DAMAGE, reason

    contents: dict[str, bytes | None] = {}
    links: dict[str, str] = {}
    stream: IO[bytes] = gzip.GzipFile(fileobj=handle) if packed else handle  # type: ignore[assignment]
    try:
        with tarfile.open(fileobj=_Counted(stream, path), mode="r|") as archive:  # type: ignore[call-overload]
            for member in archive:
                archive.members = []  # tarfile keeps every member; for a million of them, that would double the memory
                name = text_name(inside(path, member.name))
                if len(contents) + len(links) > MAX_ENTRIES:
                    raise CaptureError(f"{path}: more than {MAX_ENTRIES} entries")
                if member.issym():
                    links[name] = text_name(member.linkname)
                elif member.isreg() and not member.issparse() and member.size <= MAX_FILE:
                    extracted = archive.extractfile(member)
                    contents[name] = extracted.read() if extracted else None
                elif not member.isdir():
                    contents[name] = None
    except DAMAGE as error:
        raise CaptureError(f"{path}: damaged archive: {reason(error)}") from None
    return _without_top(path, contents, links)


def _read_zip(path: str, handle: IO[bytes]) -> MemoryStore:
    import zipfile

    from gpudoctor.system.damaged_archives import DAMAGE, reason

    contents: dict[str, bytes | None] = {}
    links: dict[str, str] = {}
    left = MAX_TOTAL
    try:
        with zipfile.ZipFile(handle) as archive:
            members = archive.infolist()
            if len(members) > MAX_ENTRIES:
                raise CaptureError(f"{path}: more than {MAX_ENTRIES} entries")
            for member in members:
                name = text_name(inside(path, member.filename))
                if member.is_dir():
                    continue
                if member.flag_bits & 1:
                    raise CaptureError(f"{path}: {name[:120]} is encrypted")
                with archive.open(member) as opened:
                    content: bytes | None = opened.read(MAX_FILE + 1)
                left -= len(content or b"")
                if left < 0:
                    raise CaptureError(f"{path}: more than {MAX_TOTAL >> 20} MiB unpacked")
                if stat.S_ISLNK(member.external_attr >> 16):
                    links[name] = (content or b"")[:4096].decode("utf-8", "replace")
                else:
                    contents[name] = None if content is not None and len(content) > MAX_FILE else content
    except DAMAGE as error:
        raise CaptureError(f"{path}: damaged archive: {reason(error)}") from None
    return _without_top(path, contents, links)


def _without_top(path: str, contents: dict[str, bytes | None], links: dict[str, str]) -> MemoryStore:
    """The store without the name of a top folder, for an archive that was made of the folder instead of its content."""
    if "machine.toml" not in contents:
        tops = [name[: -len("machine.toml")] for name in contents if name.count("/") == 1 and name.endswith("/machine.toml")]
        if len(tops) == 1:
            top = tops[0]
            contents = {name[len(top) :]: value for name, value in contents.items() if name.startswith(top)}
            links = {name[len(top) :]: value for name, value in links.items() if name.startswith(top)}
    return MemoryStore(path, contents, links)
