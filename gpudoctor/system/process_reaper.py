"""Processes that outlive the one that was started: found again because orphans become our children, and by a marker that they inherit.

Linux alone; elsewhere nothing is found.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Collection, Iterator

from gpudoctor.system.portable import collect, kill

MARKER = "GPUDOCTOR_RUN"
"""The variable that each process of ours carries."""
_lock = threading.Lock()
_reaper: bool | None = None


def become_reaper() -> None:
    """Orphans of our children become our children (Linux, prctl PR_SET_CHILD_SUBREAPER), so that they can be found."""
    global _reaper
    if _reaper is not None or sys.platform != "linux":
        return
    with _lock:
        try:
            import ctypes

            _reaper = ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0
        except (OSError, AttributeError, ImportError):
            _reaper = False


def kill_marked(marker: str, everywhere: bool) -> bool:
    """Kill what still carries the marker; True where something did. Without force only adopted orphans are looked at."""
    wanted = f"{MARKER}={marker}".encode()
    killed = False
    for pid in _all_processes() if everywhere or not _reaper else _adopted():
        try:
            with open(f"/proc/{pid}/environ", "rb") as handle:
                ours = wanted in handle.read(1 << 20).split(b"\0")
        except OSError:
            continue
        if ours:
            killed = True
            kill(pid)
            collect(pid, wait=_is_child(pid))
    return killed


def kill_started_by(doctor: int) -> None:
    """Kill what a process of ours that was itself killed had started: its marks begin with its number."""
    wanted = f"{MARKER}={doctor}.".encode()
    for _ in range(5):
        found = [pid for pid in _all_processes() if _carries(pid, wanted)]
        if not found:
            return
        for pid in found:
            kill(pid)
        time.sleep(0.02)
        for pid in found:
            collect(pid)


def _carries(pid: int, wanted: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as handle:
            return any(word.startswith(wanted) for word in handle.read(1 << 20).split(b"\0"))
    except OSError:
        return False


def kill_unmarked(since: int | None, running: Collection[int]) -> None:
    """Kill what a process that was born at `since` left behind under a new environment, without the marker.

    Such an orphan became our child since then and is of another session, which a child that somebody here started otherwise is not.
    `running`: those that were started here; what carries another's marker is that one's to end.
    """
    if not _reaper or since is None or os.getpid() == 1:
        return
    for _ in range(5):
        found = [pid for pid in _adopted() if pid not in running and _foreign(pid) and (born(pid) or 0) >= since and not _marked(pid)]
        if not found:
            return
        for pid in found:
            kill(pid)
        time.sleep(0.02)  # one in uninterruptible sleep does not even die of SIGKILL: it is not waited for
        for pid in found:
            collect(pid)


def _foreign(pid: int) -> bool:
    if sys.platform == "win32":
        return False
    try:
        return os.getsid(pid) != os.getsid(0)
    except OSError:
        return False


def _marked(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as handle:
            return any(word.startswith(f"{MARKER}=".encode()) for word in handle.read(1 << 20).split(b"\0"))
    except OSError:
        return True  # nobody can tell


def born(pid: int) -> int | None:
    """When a process began, in clock ticks since the machine did; None where nobody can tell."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as handle:
            return int(handle.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None


def _is_child(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as handle:
            return int(handle.read().rpartition(b")")[2].split()[1]) == os.getpid()
    except (OSError, ValueError, IndexError):
        return False


def _all_processes() -> Iterator[int]:
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid():
                yield int(name)


def _adopted() -> list[int]:
    """Our children, of every thread."""
    found: list[int] = []
    try:
        for thread in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{thread}/children", encoding="ascii") as handle:
                found += [int(pid) for pid in handle.read().split()]
    except (OSError, ValueError):
        return list(_all_processes())
    return found
