"""Changes files atomically: a kill at any moment leaves the old content or the new one. All functions raise OSError."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from gpudoctor.system.portable import group, user_name

NEW = ".gpudoctor-new"
"""The ending of the name of a file that is being written, beside the one that it replaces."""


def read(path: str) -> bytes | None:
    """The whole content of a regular file; None where it does not exist. FIFOs and devices are not opened."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        with open(path, "rb") as handle:
            return handle.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


class FileAttributes(Struct, frozen=True):
    """The permission bits of a file, and its owner as numbers ('0:0') and as names ('root:root', '' where they have none)."""

    mode: int
    owner: str
    names: str


def facts(path: str) -> FileAttributes | None:
    """The attributes of a file; None where it does not exist or cannot be examined."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    user, of_group = user_name(found.st_uid), group(found.st_gid)
    names = f"{user}:{of_group[0]}" if user and of_group else ""
    return FileAttributes(stat.S_IMODE(found.st_mode), f"{found.st_uid}:{found.st_gid}", names)


def holds(path: str, content: bytes) -> bool:
    """Whether a file can be read and has this content."""
    try:
        return read(path) == content
    except OSError:
        return False


def is_gone(path: str) -> bool:
    """Whether nothing lies at the path; False also where that cannot be determined."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def goal(path: str) -> str:
    """The path of the file that a write to `path` changes, with links followed. Raises OSError for a link that leads nowhere."""
    if not os.path.islink(path):
        return path
    real = os.path.realpath(path)
    if not os.path.exists(real):
        raise OSError(errno.ENOENT, f"it is a link to {real}, which is not there")
    return real


def beside(path: str) -> str:
    """The path under which new content is written first."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}{NEW}")


class Unfinished:
    """Notes the file that is being written, so that the next run can remove what a killed one left beside it."""

    def __init__(self, folder: Path) -> None:
        self._note = folder / "half-written"

    @contextlib.contextmanager
    def noted(self, path: str) -> Iterator[None]:
        self._note.write_bytes(os.fsencode(path))
        try:
            yield
        finally:
            self.forget()

    def left(self) -> str | None:
        """The file that an earlier run left half-written; None where there is none."""
        try:
            path = os.fsdecode(self._note.read_bytes())
        except OSError:
            return None
        return path if path.endswith(NEW) and os.path.basename(path).startswith(".") else None

    def forget(self) -> None:
        self._note.unlink(missing_ok=True)


def write(path: str, content: bytes, mode: int | None, owner: str | None) -> None:
    """Writes a file; `path` must be no link. Without `mode` and `owner` those of the file stay; a new one gets 0o644 and this user."""
    try:
        old: os.stat_result | None = os.stat(path)
    except FileNotFoundError:
        old = None
    if old is not None and not stat.S_ISREG(old.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    new = beside(path)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(content)
            handle.flush()
            if sys.platform != "win32":
                ids = _ids(owner) if owner else (old.st_uid, old.st_gid) if old else None
                made = os.fstat(descriptor)
                if ids and ids != (made.st_uid, made.st_gid):
                    os.fchown(descriptor, *ids)
                os.fchmod(descriptor, mode if mode is not None else stat.S_IMODE(old.st_mode) if old else 0o644)
            os.fsync(descriptor)
        os.replace(new, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise
    sync_folder(path)


def sync_folder(path: str) -> None:
    """Writes the folder of `path` to the disk: only then does a rename survive a power failure."""
    with contextlib.suppress(OSError):
        descriptor = os.open(os.path.dirname(path) or ".", os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.unlink(path)


def make_folder(path: str, mode: int) -> None:
    """Makes the last folder of a path; an existing folder is not changed."""
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
        return
    if stat.S_IMODE(os.stat(path).st_mode) != mode:  # the umask has removed bits
        os.chmod(path, mode)


def remove_empty_folder(path: str) -> bool:
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            return False
        raise
    return True


def remove_tree(path: str) -> None:
    """Removes a folder with everything in it. Links in it are removed themselves; a link instead of the folder is an error."""
    if os.path.islink(path):
        raise OSError(errno.ELOOP, "it is a link now, not the folder that was made")
    if not os.path.lexists(path):
        return
    try:
        shutil.rmtree(path)
    except PermissionError:  # Go and some archives make folders without write permission
        os.chmod(path, 0o700)
        for folder, names, _ in os.walk(path):
            for name in names:
                inner = os.path.join(folder, name)
                if not os.path.islink(inner):
                    with contextlib.suppress(OSError):
                        os.chmod(inner, 0o700)
        shutil.rmtree(path)


def _ids(owner: str) -> tuple[int, int]:
    """(user, group) as numbers, of 'user[:group]' with names or numbers."""
    if sys.platform == "win32":
        raise OSError(errno.ENOSYS, "owners are not set on Windows")
    import grp
    import pwd

    user, _, group = owner.partition(":")
    try:
        known = None if user.isdigit() else pwd.getpwnam(user)
        uid = int(user) if known is None else known.pw_uid
        if group:
            return uid, int(group) if group.isdigit() else grp.getgrnam(group).gr_gid
        return uid, pwd.getpwuid(uid).pw_gid
    except KeyError:
        raise OSError(errno.EINVAL, f"there is no user or group {owner}") from None
