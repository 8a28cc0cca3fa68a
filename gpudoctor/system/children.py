"""Processes that change the machine. They may outlive gpudoctor, and are found again by process number and start time.

A child begins as a gate: it waits for one byte, so that its number is on the disk before the program itself begins. Where gpudoctor is
killed before that, the pipe closes and the gate ends. Each child leads a process group of its own in the same session (so that sudo's
ticket is valid, and Ctrl-C at the terminal does not reach it), and its descendants carry its number in their environment.
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
"""The variable with number and start time of the child that a process descends from. The gate also fills it in an argument
`GPUDOCTOR_CHILD=`."""
GRACE = 5.0
"""The seconds between SIGTERM and SIGKILL."""
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
    """A process behind the gate, which begins with `release`. `pid` is the leader of its group until `reap`."""

    def __init__(self, argv: Sequence[str], program: str, *, env: Mapping[str, str], cwd: str, output: int, errors: int) -> None:
        """`output`, `errors`: file descriptors. Raises OSError where it cannot be started."""
        import subprocess

        self._gate = -1
        self._process: subprocess.Popen[bytes]
        if WINDOWS:  # Windows passes no descriptors, so the child begins at once
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
            with contextlib.suppress(BrokenPipeError):  # the child was killed while it waited
                os.write(self._gate, f"{self.pid}.{self.start}".encode())
            self.shut()

    def shut(self) -> None:
        """Closes the gate: a child that still waits behind it ends."""
        if self._gate >= 0:
            gate, self._gate = self._gate, -1
            os.close(gate)

    def has_ended(self) -> bool:
        """Whether it has ended. It is not reaped, so that its number and group cannot be given to another process before `reap`."""
        return has_ended(self._process)

    def reap(self) -> int:
        """Reaps it and returns its exit status; a negative one is the number of the signal that ended it."""
        return self._process.wait()

    def end(self, sudo: str | None, grace: float | None = None) -> None:
        """Sends SIGTERM to the group, and SIGKILL to what is left of it after `grace` seconds (None: GRACE). `sudo`: its path, or None."""
        self.shut()
        for number in (signal.SIGTERM, _SIGKILL):
            _signal(self.pid, number, sudo)
            until = time.monotonic() + (GRACE if grace is None else grace)
            while time.monotonic() < until:
                if self.has_ended() and not _group(self.pid):
                    break
                time.sleep(0.02)
        for pid in _marked(self.pid, self.start):  # descendants that left the group
            _signal_one(pid, _SIGKILL)


def living(children: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those (pid, start time) of which the process itself or one of its group still runs."""
    return [child for child in children if _family(*child)]


def wait_for(pid: int, start: int, progress: Callable[[str], None] | None = None, limit: float = 7200.0) -> bool:
    """Waits for a child of an earlier gpudoctor and its group. Returns False where it still runs after `limit` seconds."""
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
    """Ends a child of an earlier gpudoctor and its group. Returns False where it still runs, since this user may not end it.

    `sudo`: its path; None for the one on PATH.
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
    """Waits at most `limit` seconds until no process holds the lock (fcntl). Returns whether it is free; True also where that is unknown,
    since apt waits itself."""
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
    """The start time of a process in clock ticks since boot (proc(5)); None where there is none or a zombie."""
    import psutil

    try:
        process = psutil.Process(pid)
        if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return None
        return born(pid) if sys.platform == "linux" else int(process.create_time() * 100)
    except (psutil.Error, OSError):
        return None


def _family(pid: int, start: int) -> list[int]:
    """The running processes of a child and its group. A group without its leader may be another's: of it only processes with the mark
    count."""
    now = start_of(pid)
    if now is not None:
        # The number of a group that exists is never given to a new process: where another process has it, the group is gone.
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
    """Whether a process carries the mark; False also where its environment may not be read."""
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
    """Sends a signal to the group and its leader, through sudo where some of it belongs to root and gpudoctor does not run as root."""
    if sys.platform == "win32":
        _signal_one(group, number)
        return
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        _signal_one(group, number)  # the child has not made its group yet
    except PermissionError:
        pass  # raised only where no process of the group could be signalled
    if sudo and any(_is_out_of_reach(pid) for pid in _group(group)):
        import subprocess

        command = [
            sudo,
            "-n",
            "--",
            "sh",
            "-c",
            'kill -s "$0" -- "-$1"',
            str(int(number)),
            str(group),
        ]  # a system without procps has no `kill`
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
