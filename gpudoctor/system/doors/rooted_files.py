"""Files below one folder, as a process sees them whose root is that folder: no link and no '..' leads out of it.

Each part of a path is opened by itself, relative to the folder before it and without following links (O_PATH, O_NOFOLLOW); links are read
as text and followed here. A link therefore cannot be replaced between check and use, and the links of /proc do not lead elsewhere.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterator

from gpudoctor.system.host import Mode, Text, printable, problem_of

_MOST_HOPS = 40
_ROOTS_GROUP = "root"


class RootedFiles:
    """The files below `root`. Linux only."""

    _root: int
    """The descriptor of the root; -1 when it is closed."""

    def __init__(self, root: str) -> None:
        if sys.platform != "linux":
            raise NotImplementedError("roots of Linux are read on Linux")
        self._root = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

    def close(self) -> None:
        if self._root >= 0:
            os.close(self._root)
            self._root = -1

    @contextlib.contextmanager
    def opened(self, path: str, *, follow: bool = True) -> Iterator[tuple[int, str]]:
        """(descriptor (O_PATH) of what the path leads to, its path without links). Raises OSError or ValueError."""
        if sys.platform != "linux":
            raise NotImplementedError("roots of Linux are read on Linux")
        waiting = path.split("/")[::-1]
        trail: list[tuple[str, int]] = [("", os.dup(self._root))]
        hops = 0
        try:
            while waiting:
                part = waiting.pop()
                if part in ("", "."):
                    if part and not stat.S_ISDIR(os.fstat(trail[-1][1]).st_mode):
                        raise NotADirectoryError(errno.ENOTDIR, "not a folder", path)
                elif part == "..":
                    if len(trail) > 1:
                        os.close(trail.pop()[1])
                else:
                    found = os.open(part, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=trail[-1][1])
                    if not stat.S_ISLNK(os.fstat(found).st_mode) or not (follow or any(waiting)):
                        trail.append((part, found))
                        continue
                    try:
                        target = os.readlink("", dir_fd=found)
                    finally:
                        os.close(found)
                    hops += 1
                    if hops > _MOST_HOPS:
                        raise OSError(errno.ELOOP, "too many links", path)
                    while target.startswith("/") and len(trail) > 1:
                        os.close(trail.pop()[1])
                    waiting += target.split("/")[::-1]
            yield trail[-1][1], "/" + "/".join(name for name, _ in trail[1:])
        finally:
            for _, descriptor in trail:
                os.close(descriptor)

    def read(self, path: str, limit: int) -> Text:
        """The content of a regular file. No other file is opened: a FIFO would block, and opening a device may have effects."""
        if sys.platform != "linux":
            raise NotImplementedError("roots of Linux are read on Linux")
        try:
            with self.opened(path) as (found, _):
                if not stat.S_ISREG(os.fstat(found).st_mode):
                    return Text(problem="io-error")
                with open(os.open(f"/proc/self/fd/{found}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
                    content = file.read(limit + 1)
        except (OSError, ValueError) as error:
            return Text(problem=problem_of(error))
        return Text(problem="too-large") if len(content) > limit else Text(content.decode("utf-8", "replace"))

    def listdir(self, path: str) -> list[str]:
        if sys.platform != "linux":
            raise NotImplementedError("roots of Linux are read on Linux")
        try:
            with self.opened(path) as (found, _):
                folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=found)
                try:
                    return sorted(printable(name) for name in os.listdir(folder))
                finally:
                    os.close(folder)
        except (OSError, ValueError):
            return []

    def stat(self, path: str, *, follow: bool = True) -> os.stat_result | None:
        try:
            with self.opened(path, follow=follow) as (found, _):
                return os.fstat(found)
        except (OSError, ValueError):
            return None

    def knows(self, path: str) -> bool:
        """Whether it can be determined if the path exists: False where a folder on the way may not be entered."""
        try:
            with self.opened(path):
                return True
        except PermissionError:
            return False
        except (OSError, ValueError):
            return True

    def readlink(self, path: str) -> str | None:
        try:
            with self.opened(path, follow=False) as (found, _):
                return printable(os.readlink("", dir_fd=found)) if stat.S_ISLNK(os.fstat(found).st_mode) else None
        except (OSError, ValueError):
            return None

    def realpath(self, path: str) -> str:
        """The path without links; unchanged where it leads nowhere."""
        try:
            with self.opened(path) as (_, real):
                return printable(real)
        except (OSError, ValueError):
            return path

    def mode(self, path: str) -> Mode | None:
        found = self.stat(path)
        if found is None:
            return None
        owner, group = self._name("/etc/passwd", found.st_uid), self._name("/etc/group", found.st_gid)
        return Mode(stat.filemode(found.st_mode), owner, group, found.st_uid, found.st_gid)

    def _name(self, table: str, number: int) -> str:
        """The name of a number in a table of the root itself (passwd, group); the number where it has none."""
        if number == 0:
            return _ROOTS_GROUP
        for line in self.read(table, 1_000_000).text.splitlines():
            parts = line.split(":")
            if len(parts) > 2 and parts[2] == str(number):
                return parts[0]
        return str(number)

    def may_open(self, path: str) -> bool | None:
        """Whether this process may open the path for reading and writing; None where it does not exist."""
        try:
            with self.opened(path) as (found, _):
                return os.access(f"/proc/self/fd/{found}", os.R_OK | os.W_OK)
        except (OSError, ValueError):
            return None
