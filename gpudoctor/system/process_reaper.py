"""Processes that outlive the one that was started: found again because orphans become our children, and by a marker that they inherit.

A process is remembered with its start time, as psutil does it: what got the number of one that has ended is never killed.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

MARKER = "GPUDOCTOR_RUN"
"""The variable that each process of ours carries."""
_PATIENCE = 0.1
"""Seconds that killed processes get to be gone."""
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
    found = _with_marker(None if everywhere or not _reaper else _adopted(), lambda value: value == marker)
    _kill_all(found)
    return bool(found)


def kill_started_by(doctor: int) -> None:
    """Kill what a process of ours that was itself killed had started: its marks begin with its number."""
    for _ in range(5):
        found = _with_marker(None, lambda value: value.startswith(f"{doctor}."))
        if not found:
            return
        _kill_all(found)


def kill_unmarked(since: int | None, running: Collection[int]) -> None:
    """Kill what a process that was born at `since` left behind under a new environment, without the marker.

    Such an orphan became our child since then and is of another session, which a child that somebody here started otherwise is not.
    `running`: those that were started here; what carries another's marker is that one's to end.
    """
    if not _reaper or since is None or os.getpid() == 1:
        return
    for _ in range(5):
        candidates = [pid for pid in _adopted() if pid not in running and _is_of_another_session(pid) and (born(pid) or 0) >= since]
        found = [each for each in _processes(candidates) if _marker_of(each) == ""]
        if not found:
            return
        _kill_all(found)


def born(pid: int) -> int | None:
    """When a process began, in clock ticks since the machine did (Linux); None where nobody can tell.

    The create_time of psutil is a time of day, which moves with the clock: it could not be compared with one of before.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as handle:
            return int(handle.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None


def _with_marker(pids: Iterable[int] | None, wanted: Callable[[str], bool]) -> list[psutil.Process]:
    """Of these processes, or of all but this one, those whose marker is wanted."""
    return [each for each in _processes(pids) if (marker := _marker_of(each)) and wanted(marker)]


def _marker_of(process: psutil.Process) -> str | None:
    """'' where it carries none; None where nobody can tell."""
    import psutil

    try:
        return process.environ().get(MARKER, "")
    except (psutil.Error, OSError):
        return None


def _kill_all(processes: Collection[psutil.Process]) -> None:
    """Without waiting long: a process in uninterruptible sleep does not even die of SIGKILL."""
    import psutil

    for process in processes:
        with contextlib.suppress(psutil.Error, OSError):
            process.kill()
    psutil.wait_procs(processes, timeout=_PATIENCE)


def _processes(pids: Iterable[int] | None) -> Iterator[psutil.Process]:
    """Those of `pids` that live; None: all but this one. psutil is loaded once there is one."""
    if pids is None:
        import psutil

        pids = psutil.pids()
    for pid in pids:
        import psutil

        if pid != os.getpid():
            with contextlib.suppress(psutil.Error, OSError):
                yield psutil.Process(pid)


def _is_of_another_session(pid: int) -> bool:
    if sys.platform == "win32":
        return False
    try:
        return os.getsid(pid) != os.getsid(0)
    except OSError:
        return False


def _adopted() -> list[int]:
    """Our children, of every thread. Where the kernel lists them psutil is not asked: it reads every process of the machine for that."""
    found: list[int] = []
    try:
        for thread in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{thread}/children", encoding="ascii") as handle:
                found += [int(pid) for pid in handle.read().split()]
    except (OSError, ValueError):
        import psutil

        return [child.pid for child in psutil.Process().children()]
    return found
