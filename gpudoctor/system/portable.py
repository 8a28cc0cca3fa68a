"""Calls of the operating system that some systems lack, each with a replacement there.

Windows has no user numbers, process groups or zombies; Python before 3.13 has no `waitid` on macOS. All other modules use this one, so
that none of these names is used where it is missing.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

WINDOWS = sys.platform == "win32"


def short_host_name() -> str:
    """The first part of the name of this host; localhost where it has none."""
    import platform

    return platform.node().partition(".")[0] or "localhost"


def user_number() -> int | None:
    """The number of the effective user of this process; None on Windows."""
    if sys.platform == "win32":
        return None
    return os.geteuid()


def is_root() -> bool:
    return user_number() == 0


def user_name(number: int) -> str:
    """The name of a user; '' where the number has none, or the system has no numbers."""
    if sys.platform == "win32":
        return ""
    try:
        import pwd

        return pwd.getpwuid(number).pw_name
    except (ImportError, KeyError, OSError):
        return ""


def login_name() -> str:
    """The name of the real user of this process, whatever rights it has; '' where there is none."""
    if sys.platform == "win32":
        return ""
    return user_name(os.getuid())


def group(number: int) -> tuple[str, frozenset[str]] | None:
    """(name, listed members) of a group; None where there is none."""
    if sys.platform == "win32":
        return None
    try:
        import grp

        found = grp.getgrgid(number)
    except (ImportError, KeyError, OSError):
        return None
    return found.gr_name, frozenset(found.gr_mem)


def kill(pid: int) -> None:
    """Kills a process; does nothing where it has ended or belongs to another user."""
    import signal

    if sys.platform == "win32":
        how = signal.SIGTERM  # Python calls TerminateProcess for it
    else:
        how = signal.SIGKILL
    with contextlib.suppress(OSError):
        os.kill(pid, how)


def kill_group(leader: int) -> None:
    """Kills a process and its group, which on Windows is the process alone."""
    if sys.platform == "win32":
        kill(leader)
        return
    import signal

    with contextlib.suppress(OSError):
        os.killpg(leader, signal.SIGKILL)


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether a child has ended. Where the system allows it, the child is not reaped, so that its number is not given to another
    process."""
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
    """Locks an open file until it is closed; returns False where another process holds the lock."""
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
