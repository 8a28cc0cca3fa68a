"""Calls of the operating system that are not everywhere, each with what takes its place elsewhere.

Windows has no user numbers, process groups or zombies; Python before 3.13 has no `waitid` on macOS. Every other module asks here, so
that none of these names is met where it is missing.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

WINDOWS = sys.platform == "win32"


def user_number() -> int | None:
    """The user whose rights this process has; None on Windows."""
    if sys.platform == "win32":
        return None
    return os.geteuid()


def is_root() -> bool:
    return user_number() == 0


def user_name(number: int) -> str:
    """'' where the number has no name, or the system no numbers."""
    if sys.platform == "win32":
        return ""
    try:
        import pwd

        return pwd.getpwuid(number).pw_name
    except (ImportError, KeyError, OSError):
        return ""


def login_name() -> str:
    """The user who started this process, whatever rights it has since; '' where that has no name."""
    if sys.platform == "win32":
        return ""
    return user_name(os.getuid())


def group(number: int) -> tuple[str, frozenset[str]] | None:
    """Name and listed members of a group; None where there is none."""
    if sys.platform == "win32":
        return None
    try:
        import grp

        found = grp.getgrgid(number)
    except (ImportError, KeyError, OSError):
        return None
    return found.gr_name, frozenset(found.gr_mem)


def kill(pid: int) -> None:
    """Ends a process that may not answer any more; nothing where it has ended, or is another user's."""
    import signal

    if sys.platform == "win32":
        how = signal.SIGTERM  # TerminateProcess
    else:
        how = signal.SIGKILL
    with contextlib.suppress(OSError):
        os.kill(pid, how)


def kill_group(leader: int) -> None:
    """Ends the process and its group, which on Windows is the process alone."""
    if sys.platform == "win32":
        kill(leader)
        return
    import signal

    with contextlib.suppress(OSError):
        os.killpg(leader, signal.SIGKILL)


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether a child is dead. Where the system can say so without reaping it, it stays a zombie, whose number nobody else can get."""
    if sys.platform == "win32" or not hasattr(os, "waitid"):
        return process.poll() is not None
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
    except OSError:
        return True


def lower_priority(pid: int) -> None:
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, 10)


def lock_file(descriptor: int) -> bool:
    """Takes the lock of an open file until it is closed; False where another process holds it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
