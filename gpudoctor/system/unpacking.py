"""Unpacks archives from elsewhere so that nothing is written outside the folder, no link leads out of it, and no device is made."""

from __future__ import annotations

import os
import posixpath
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from typing import IO

from msgspec import Struct

from gpudoctor.system.damaged_archives import DAMAGE, reason
from gpudoctor.system.writable_host import ActFailed

MOST_BYTES = 40_000_000_000
MOST_MEMBERS = 500_000
_CHUNK = 1 << 20


class _Member(Struct, frozen=True):
    """A member of an archive. `link`: the target of a symbolic link; `same_as`: the name of the member that a hard link refers to."""

    name: str
    folder: bool = False
    mode: int = 0o644
    size: int = 0
    link: str = ""
    same_as: str = ""
    open: object = None


def unpack(archive: str, target: str, *, most_bytes: int = MOST_BYTES, most_members: int = MOST_MEMBERS) -> None:
    """Unpacks into `target`, which appears when it is complete. Raises ActFailed for a dangerous, damaged or too large archive."""
    part = f"{target}.part"
    try:
        if os.path.lexists(part):
            shutil.rmtree(part)
        os.mkdir(part, 0o755)
        try:
            _unpack_into(archive, part, most_bytes, most_members)
            if os.path.isdir(target) and not os.path.islink(target):
                os.rmdir(target)
            os.rename(part, target)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
    except DAMAGE as error:
        raise ActFailed(f"{archive} cannot be unpacked: {reason(error)}", "download it again") from error


def _unpack_into(archive: str, part: str, most_bytes: int, most_members: int) -> None:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            _all(_zip_members(packed), part, most_bytes, most_members)
    else:
        with tarfile.open(archive, "r:*") as tar:
            _all(_tar_members(tar, part), part, most_bytes, most_members)


def _zip_members(packed: zipfile.ZipFile) -> Iterator[_Member]:
    for info in packed.infolist():
        mode = info.external_attr >> 16
        if stat.S_ISLNK(mode):
            yield _Member(info.filename, link=_link_target(packed, info))
        elif mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise ValueError(f"{info.filename!r} is no file, folder or link")
        else:
            folder = info.is_dir()
            yield _Member(info.filename, folder, (mode & 0o755) or 0o644, info.file_size, open=None if folder else packed.open(info))


def _link_target(packed: zipfile.ZipFile, info: zipfile.ZipInfo) -> str:
    with packed.open(info) as said:
        return said.read(4096).decode("utf-8", "surrogateescape")


def _tar_members(tar: tarfile.TarFile, part: str) -> Iterator[_Member]:
    for info in tar:
        if not (info.issym() or info.islnk() or info.isdir() or info.isreg()):
            raise ValueError(f"{info.name!r} is no file, folder or link")
        _filter(info, part)
        if info.issym():
            yield _Member(info.name, link=info.linkname)
        elif info.islnk():
            yield _Member(info.name, same_as=info.linkname)
        elif info.isdir():
            yield _Member(info.name, folder=True)
        else:
            yield _Member(info.name, mode=info.mode & 0o755 | 0o600, size=info.size, open=tar.extractfile(info))


def _filter(info: tarfile.TarInfo, part: str) -> None:
    """Applies Python's own filter, beside the checks of this module, which apply to .zip and older Pythons too."""
    _name(info.name)  # this refuses an absolute name, which Python would make relative
    if not hasattr(tarfile, "data_filter"):  # only later releases of 3.10 and 3.11 have it
        return
    try:
        tarfile.data_filter(info, part)
    except (tarfile.AbsoluteLinkError, tarfile.LinkOutsideDestinationError):
        raise ValueError(f"{info.name!r} is a link that leads out of it") from None
    except tarfile.FilterError as error:
        raise ValueError(f"{info.name!r} is not safe to unpack ({type(error).__name__})") from None


def _all(members: Iterator[_Member], part: str, most_bytes: int, most_members: int) -> None:
    left = most_bytes
    for number, member in enumerate(members):
        if number >= most_members:
            raise ValueError(f"it holds more than {most_members} files")
        left -= _one(member, part, left)
    _no_way_out(part)


def _no_way_out(part: str) -> None:
    """Raises ActFailed where a link leads out. Links may lead through each other, so that all must exist before they are checked."""
    top = os.path.realpath(part)
    for folder, names, files in os.walk(part):
        for name in (*names, *files):
            path = os.path.join(folder, name)
            if os.path.islink(path) and not f"{os.path.realpath(path)}/".startswith(f"{top}/"):
                raise ValueError(f"{os.path.relpath(path, part)!r} is a link that leads out of it")


def _one(member: _Member, part: str, left: int) -> int:
    """Unpacks one member and returns the number of bytes written."""
    path = _inside(member.name, part)
    if path == part:
        return 0
    if member.folder:
        os.makedirs(path, exist_ok=True)
        return 0
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if member.link:
        goal = posixpath.normpath(posixpath.join(posixpath.dirname(_name(member.name)), member.link))
        if member.link.startswith("/") or goal.startswith("../") or goal == "..":
            raise ValueError(f"{member.name!r} is a link that leads out of it")
        os.symlink(member.link, path)
        return 0
    if member.same_as:
        source = _inside(member.same_as, part)
        if os.path.islink(source) or not os.path.isfile(source):
            raise ValueError(f"{member.name!r} is a link to what is no file in it")
        os.link(source, path)
        return 0
    return _write(member, path, left)


def _write(member: _Member, path: str, left: int) -> int:
    source: IO[bytes] = member.open  # type: ignore[assignment]
    written = 0
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), member.mode)
    with os.fdopen(descriptor, "wb") as file, source:
        while data := source.read(_CHUNK):
            written += len(data)
            if written > left:
                raise ValueError("it unpacks to more than is allowed")
            file.write(data)
    os.chmod(path, member.mode)
    return written


def _name(name: str) -> str:
    if "\0" in name or name.startswith("/") or "\\" in name or (len(name) > 1 and name[1] == ":"):
        raise ValueError(f"{name[:80]!r} is no path below the folder")
    clean = posixpath.normpath(name)
    if clean == ".." or clean.startswith("../"):
        raise ValueError(f"{name[:80]!r} leads out of the folder")
    return clean


def _inside(name: str, part: str) -> str:
    """The path of a member. Raises ActFailed where one of its folders is a link."""
    clean = _name(name)
    if clean == ".":
        return part
    at = part
    for piece in clean.split("/")[:-1]:
        at = os.path.join(at, piece)
        if os.path.islink(at):
            raise ValueError(f"{name[:80]!r} lies behind a link")
    return os.path.join(part, clean)
