"""Folders for temporary files that are gone after the run, and after the next one where this one was killed.

Each holds a file that its owner keeps locked as long as it lives: a folder whose file can be locked belongs to nobody any more. A lock
is seen across containers that share the folder for temporary files, where process numbers say nothing.
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
"""Seconds for which a folder without its file may be one that is just being made."""
_MOST = 200
"""Folders that are looked at: more do not come from a few kills."""


class ScratchFolder:
    """A new folder; what killed runs left under the same prefix is removed."""

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
    """Folders of this user under `prefix` whose owner is gone. Nothing here raises: it is a kindness to the disk."""
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
        os.unlink(lock)  # refused as long as another process has it open
        return True
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(lock, flags), "wb") as file:
        return _locked(file)


def _locked(file: IO[bytes]) -> bool:
    """Whether it could be locked just now; it stays so until it is closed."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
