"""Finds processes that outlive the one that was started: orphans become children of this process, and all inherit a marker.

As in psutil, a process is identified by its number and its start time, so that no other process with a reused number is killed.
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
"""The variable with the marker, which each started process inherits."""
_PATIENCE = 0.1
"""The seconds that killed processes have to end."""
_lock = threading.Lock()
_reaper: bool | None = None


def become_reaper() -> None:
    """Makes orphans of this process's children its own children, so that they can be found (Linux, PR_SET_CHILD_SUBREAPER of prctl(2))."""
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
    """Kills the processes that still carry the marker; returns whether there were any. `everywhere`: all processes are searched, else only
    adopted orphans."""
    found = _with_marker(None if everywhere or not _reaper else _adopted(), lambda value: value == marker)
    _kill_all(found)
    return bool(found)


def kill_started_by(doctor: int) -> None:
    """Kills what a killed gpudoctor with the number `doctor` had started: its markers begin with that number."""
    for _ in range(5):
        found = _with_marker(None, lambda value: value.startswith(f"{doctor}."))
        if not found:
            return
        _kill_all(found)


def kill_unmarked(since: int | None, running: Collection[int]) -> None:
    """Kills what a process that began at `since` left behind with another environment, which lacks the marker.

    Such an orphan has become a child of this process since then and is of another session, unlike a child that was started otherwise.
    `running`: processes that were started here. A process with another marker is left to the run that it belongs to.
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
    """The start time of a process in clock ticks since boot (Linux); None where it is unknown.

    psutil's create_time is a time of day, which changes with the clock and cannot be compared with an earlier one.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as handle:
            return int(handle.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None


def _with_marker(pids: Iterable[int] | None, wanted: Callable[[str], bool]) -> list[psutil.Process]:
    """Those of the processes `pids`, or of all but this one, whose marker is wanted."""
    return [each for each in _processes(pids) if (marker := _marker_of(each)) and wanted(marker)]


def _marker_of(process: psutil.Process) -> str | None:
    """The marker of a process; '' where it has none, None where it cannot be read."""
    import psutil

    try:
        return process.environ().get(MARKER, "")
    except (psutil.Error, OSError):
        return None


def _kill_all(processes: Collection[psutil.Process]) -> None:
    """Kills the processes and waits shortly: one in uninterruptible sleep does not even end by SIGKILL."""
    import psutil

    for process in processes:
        with contextlib.suppress(psutil.Error, OSError):
            process.kill()
    psutil.wait_procs(processes, timeout=_PATIENCE)


def _processes(pids: Iterable[int] | None) -> Iterator[psutil.Process]:
    """The running processes among `pids`, or all but this one for None. psutil is loaded only where there is one."""
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
    """The children of all threads of this process: by the kernel where it lists them, since psutil reads every process of the machine."""
    found: list[int] = []
    try:
        for thread in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{thread}/children", encoding="ascii") as handle:
                found += [int(pid) for pid in handle.read().split()]
    except (OSError, ValueError):
        import psutil

        return [child.pid for child in psutil.Process().children()]
    return found
