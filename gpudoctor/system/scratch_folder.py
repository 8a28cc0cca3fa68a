"""Folders for temporary files that are removed after the run, or by the next one where this one was killed.

Each holds a file that its owner keeps locked: a folder whose file can be locked has no owner any more. Unlike process numbers, locks are
visible between containers that share the folder for temporary files.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
import time
from typing import IO

LOCK = "in-use"
YOUNG = 3600.0
"""The age in seconds up to which a folder without its file may be one that is just being made."""
_MOST = 200
"""The most folders that are examined."""


class ScratchFolder:
    """A new folder. Those that killed runs left under the same prefix are removed."""

    def __init__(self, prefix: str) -> None:
        remove_left(prefix)
        self.path = tempfile.mkdtemp(prefix=prefix)
        self._lock: IO[bytes] | None = None
        with contextlib.suppress(OSError):
            self._lock = open(os.path.join(self.path, LOCK), "wb")
            _locked(self._lock)

    def remove(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None
        shutil.rmtree(self.path, ignore_errors=True)


def remove_left(prefix: str) -> None:
    """Removes folders of this user with this prefix whose run has ended. Errors are ignored."""
    with contextlib.suppress(OSError):
        base = tempfile.gettempdir()
        names = [name for name in os.listdir(base) if name.startswith(prefix)]
        for name in sorted(names)[:_MOST]:
            path = os.path.join(base, name)
            with contextlib.suppress(OSError):
                if _ours(path) and _left(path):
                    shutil.rmtree(path, ignore_errors=True)


def _ours(path: str) -> bool:
    found = os.lstat(path)
    return stat.S_ISDIR(found.st_mode) and (sys.platform == "win32" or found.st_uid == os.geteuid())


def _left(path: str) -> bool:
    lock = os.path.join(path, LOCK)
    if not os.path.lexists(lock):
        return time.time() - os.lstat(path).st_mtime > YOUNG
    if sys.platform == "win32":
        os.unlink(lock)  # Windows refuses this as long as another process has the file open
        return True
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(lock, flags), "wb") as file:
        return _locked(file)


def _locked(file: IO[bytes]) -> bool:
    """Whether the file could be locked; the lock lasts until it is closed."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
