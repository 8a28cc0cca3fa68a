"""Processes that change the machine. They outlive the doctor where they must, and are found again by number and start time.

A child begins as a gate: it waits for one byte, so that its number is on disk before the program itself begins. Where the
doctor dies first the pipe closes and the gate ends. Each child leads a process group of its own in our session (the ticket
of sudo holds, Ctrl-C at the terminal does not reach it), and its descendants carry its number in their environment.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from gpudoctor.system.local_host import find_program
from gpudoctor.system.portable import WINDOWS, has_ended
from gpudoctor.system.process_reaper import born

if TYPE_CHECKING:
    import subprocess

CHILD = "GPUDOCTOR_CHILD"
"""Environment: number and start time of the child that a process descends from. As an argument `GPUDOCTOR_CHILD=` it is filled in."""
GRACE = 5.0
"""Seconds between TERM and KILL."""
_SIGKILL = getattr(signal, "SIGKILL", signal.SIGTERM)

GATE = f"""
import os, sys
pipe, program, argv = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
os.setpgid(0, 0)
mark = os.read(pipe, 100).decode()
if not mark:
    os._exit(125)
os.close(pipe)
os.environ["{CHILD}"] = mark
try:
    os.execv(program, [word + mark if word == "{CHILD}=" else word for word in argv])
except OSError as error:
    os.write(2, (program + ": " + str(error) + chr(10)).encode())
    os._exit(127)
"""


class Child:
    """A process behind the gate; `release` lets it begin. `pid` leads its group until `reap`."""

    def __init__(self, argv: Sequence[str], program: str, *, env: Mapping[str, str], cwd: str, output: int, errors: int) -> None:
        """`output`, `errors`: file descriptors. Raises OSError where it cannot be started."""
        import subprocess

        self._gate = -1
        self._process: subprocess.Popen[bytes]
        if WINDOWS:  # no descriptors can be handed over there: it begins at once
            self._process = subprocess.Popen(
                list(argv), executable=program, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=env, cwd=cwd,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )  # fmt: skip
        else:
            if not sys.executable:
                raise OSError("the Python of gpudoctor has no path")
            inner, self._gate = os.pipe()
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", GATE, str(inner), program, *argv],
                    stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=env, cwd=cwd, pass_fds=(inner,),
                )  # fmt: skip
            except BaseException:
                self.shut()
                raise
            finally:
                os.close(inner)
        self.pid = self._process.pid
        self.start = start_of(self.pid) or 0

    def release(self) -> None:
        if self._gate >= 0:
            with contextlib.suppress(BrokenPipeError):  # it was killed while it waited
                os.write(self._gate, f"{self.pid}.{self.start}".encode())
            self.shut()

    def shut(self) -> None:
        """The gate is closed: a child that still waits behind it ends."""
        if self._gate >= 0:
            gate, self._gate = self._gate, -1
            os.close(gate)

    def has_ended(self) -> bool:
        """Not reaped by this: until `reap` the number and the group cannot be given away."""
        return has_ended(self._process)

    def reap(self) -> int:
        """The status; negative: the signal that it died of."""
        return self._process.wait()

    def end(self, sudo: str | None, grace: float | None = None) -> None:
        """TERM to the group, KILL to what is left of it `grace` seconds later (None: GRACE)."""
        self.shut()
        for number in (signal.SIGTERM, _SIGKILL):
            _signal(self.pid, number, sudo)
            until = time.monotonic() + (GRACE if grace is None else grace)
            while time.monotonic() < until:
                if self.has_ended() and not _group(self.pid):
                    break
                time.sleep(0.02)
        for pid in _marked(self.pid, self.start):  # what left the group
            _signal_one(pid, _SIGKILL)


def living(children: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those (pid, start time) of which the process itself or something in its group still runs."""
    return [child for child in children if _family(*child)]


def wait_for(pid: int, start: int, progress: Callable[[str], None] | None = None, limit: float = 7200.0) -> bool:
    """Waits for a child of an earlier doctor and for its group. False where it still runs after `limit` seconds."""
    until, shown = time.monotonic() + limit, 0.0
    while family := _family(pid, start):
        now = time.monotonic()
        if now >= until:
            return False
        if progress is not None and now - shown >= 1.0:
            shown = now
            progress(f"waiting for {_name(family[0])} ({family[0]}) of the run before")
        time.sleep(0.1)
    return True


def end(pid: int, start: int, sudo: str | None = None) -> bool:
    """Ends a child of an earlier doctor with its group: TERM, then KILL. False where it lives on (no right to end it).

    `sudo`: its path; None: as PATH says.
    """
    sudo = find_program("sudo", os.environ.get("PATH", os.defpath)) if sudo is None else sudo
    for number in (signal.SIGTERM, _SIGKILL):
        family = _family(pid, start)
        if not family:
            break
        if pid in family:
            _signal(pid, number, sudo)
        for member in {*family, *_marked(pid, start)} - {pid}:
            _signal_one(member, number)
        until = time.monotonic() + GRACE
        while _family(pid, start) and time.monotonic() < until:
            time.sleep(0.02)
    for member in _marked(pid, start):
        _signal_one(member, _SIGKILL)
    return not _family(pid, start)


def wait_for_lock(path: str = "/var/lib/dpkg/lock-frontend", progress: Callable[[str], None] | None = None, limit: float = 600.0) -> bool:
    """Waits until nobody holds the lock (fcntl). True where it is free, or where that cannot be told: apt then waits itself."""
    until, shown = time.monotonic() + limit, 0.0
    while _is_locked(path):
        now = time.monotonic()
        if now >= until:
            return False
        if progress is not None and now - shown >= 1.0:
            shown = now
            progress("waiting for another package manager to finish")
        time.sleep(0.2)
    return True


def start_of(pid: int) -> int | None:
    """When a process began, in ticks since boot; None where there is none, or only a zombie."""
    import psutil

    try:
        process = psutil.Process(pid)
        if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return None
        return born(pid) if sys.platform == "linux" else int(process.create_time() * 100)
    except (psutil.Error, OSError):
        return None


def _family(pid: int, start: int) -> list[int]:
    """The child, where it lives, and its group. A group without its leader may be another's: then only what carries the mark."""
    now = start_of(pid)
    if now is not None:  # a number is not given away while a group has it: another process means that the group is gone
        return [pid, *(member for member in _group(pid) if member != pid)] if now == start else []
    members = _group(pid)
    return [member for member in members if _has_mark(member, pid, start)] if members else []


def _group(group: int) -> list[int]:
    return [pid for pid in _processes() if _group_of(pid) == group and start_of(pid) is not None]


def _group_of(pid: int) -> int | None:
    if sys.platform == "win32":
        return None
    try:
        return os.getpgid(pid)
    except OSError:
        return None


def _marked(pid: int, start: int) -> list[int]:
    return [other for other in _processes() if _has_mark(other, pid, start)]


def _has_mark(other: int, pid: int, start: int) -> bool:
    """False too where the environment of another user's process may not be read."""
    import psutil

    try:
        return psutil.Process(other).environ().get(CHILD) == f"{pid}.{start}" and start_of(other) is not None
    except (psutil.Error, OSError):
        return False


def _processes() -> list[int]:
    import psutil

    return [pid for pid in psutil.pids() if pid != os.getpid()]


def _name(pid: int) -> str:
    import psutil

    try:
        return "".join(letter for letter in psutil.Process(pid).name()[:64] if letter.isprintable())
    except (psutil.Error, OSError):
        return "a process"


def _signal(group: int, number: int, sudo: str | None) -> None:
    """To the group and its leader; through sudo where some of it belongs to root and we do not."""
    if sys.platform == "win32":
        _signal_one(group, number)
        return
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        _signal_one(group, number)  # it has not made its group yet
    except PermissionError:
        pass  # of all of it; where one could be told there is no error
    if sudo and any(_is_out_of_reach(pid) for pid in _group(group)):
        import subprocess

        command = [sudo, "-n", "--", "sh", "-c", 'kill -s "$0" -- "-$1"', str(int(number)), str(group)]  # no program kill without procps
        quiet = subprocess.DEVNULL
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(command, stdin=quiet, stdout=quiet, stderr=quiet, timeout=30, check=False)


def _is_out_of_reach(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def _signal_one(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, number)


def _is_locked(path: str) -> bool:
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False
