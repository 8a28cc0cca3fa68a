"""Starts processes that may hang, flood their output, crash or leave children behind, and ends them in time.

Each process gets its own session and a marker in its environment. At its end its whole group is killed; processes that escaped with setsid
are found by the marker, which children inherit, and since this process is the reaper of orphans (Linux).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, TYPE_CHECKING

from msgspec import Struct

from gpudoctor.system.host import Ran, bounded
from gpudoctor.system.portable import WINDOWS, has_ended, kill_group, lower_priority
from gpudoctor.system.process_reaper import MARKER, become_reaper, born, kill_marked, kill_unmarked

if TYPE_CHECKING:
    import subprocess

    import psutil

_CHUNK = 65536
_DRAIN = 0.2
"""The seconds for which output is still read after the process itself has ended."""
_numbers = itertools.count(1)
_running: set[int] = set()
"""Numbers of all processes that were started here and have not been reaped."""
_ending = threading.Event()
"""Set by Ctrl-C, after which nothing is started any more."""
_starting = threading.Lock()
"""Held while a process is started: before it is listed and carries its marker, it looks like an orphan of another run."""


class Guard(Struct, frozen=True):
    """What is asked while a process runs, and what it may use. Where the system lacks something, that has no effect."""

    address_space: int | None = None
    """The most bytes of memory; an allocation beyond them fails in the process itself (Linux)."""
    expendable: bool = False
    """Whether the kernel should kill this process first where memory runs out (Linux)."""
    watch: Callable[[], str] | None = None
    """Called about ten times a second; a text ends the process and is the reason (Ran.stopped)."""
    on_start: Callable[[int], None] | None = None
    """Called with the process id once the process runs."""
    on_line: Callable[[str], None] | None = None
    """Called with each line of standard output as soon as it has arrived."""


_WATCH_EVERY = 0.1


def execute(
    argv: Sequence[str],
    program: str,
    *,
    timeout: float,
    limit: int,
    env: Mapping[str, str],
    stdin_text: str = "",
    niced: bool = True,
    guard: Guard | None = None,
) -> Ran:
    """Runs `program` with `argv` until it ends, its time is over, it has printed more than `limit` bytes on a stream, or the guard stops
    it."""
    guard = guard or Guard()
    import subprocess

    key = tuple(argv)
    if _ending.is_set():
        return Ran(key, timed_out=True)
    marker = f"{os.getpid()}.{next(_numbers)}"
    began = time.monotonic()
    become_reaper()
    with contextlib.ExitStack() as stack:
        stdin: int | IO[bytes] = subprocess.DEVNULL
        if stdin_text:
            import tempfile

            stdin = stack.enter_context(tempfile.TemporaryFile())
            stdin.write(stdin_text.encode("utf-8", "replace"))
            stdin.seek(0)
        try:
            with _starting:
                process = subprocess.Popen(
                    list(argv),
                    executable=program,
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    bufsize=0,
                    env={**env, MARKER: marker},
                    cwd=None if WINDOWS else "/",
                    start_new_session=not WINDOWS,
                    creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
                )
                _running.add(process.pid)
        except FileNotFoundError:
            return Ran(key, missing=True)
        except (OSError, ValueError) as error:
            return Ran(key, rc=126, stderr=str(error), seconds=time.monotonic() - began)
    ended = False
    since = born(process.pid)
    try:
        if niced:
            lower_priority(process.pid)
        _restrain(process.pid, guard)
        if guard.on_start is not None:
            guard.on_start(process.pid)
        streams = _Streams(process, limit, guard)
        ended = streams.follow(began + timeout)
    finally:
        _end(process, marker, forced=not ended)
        if guard.expendable:
            with _starting:
                kill_unmarked(since, _running)
        _running.discard(process.pid)
    seconds = round(time.monotonic() - began, 3)
    stdout, stderr = (bounded(text, streams.flooded) for text in streams.texts())
    if not ended:
        over, why = streams.flooded, streams.stopped
        late = not over and not why
        return Ran(key, stdout=stdout, stderr=stderr, timed_out=late, truncated=over, seconds=seconds, stopped=why)
    code = process.returncode
    died = code < 0 and not WINDOWS
    return Ran(key, None if died else code, stdout, stderr, signal=-code if died else None, truncated=streams.flooded, seconds=seconds)


def end_all() -> None:
    """Ends every process that was started here and starts no more, so that threads that wait for one continue at once."""
    _ending.set()
    for pid in list(_running):
        kill_group(pid)


class _Streams:
    """Standard output and error of a process, each up to `limit` bytes."""

    def __init__(self, process: subprocess.Popen[bytes], limit: int, guard: Guard) -> None:
        self._process, self._limit, self._guard = process, limit, guard
        self._parts: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
        self._told = 0
        self._asked = 0.0
        self.flooded = False
        self.stopped = ""

    def texts(self) -> tuple[str, str]:
        out, err = (bytes(self._parts[name][: self._limit]).decode("utf-8", "replace") for name in ("stdout", "stderr"))
        return out, err

    def follow(self, deadline: float) -> bool:
        """Reads both until the process ends; returns whether it ended by itself, in time and below the limit."""
        return self._follow_threads(deadline) if sys.platform == "win32" else self._follow_posix(deadline)

    def _take(self, name: str, data: bytes) -> None:
        self._parts[name] += data
        if len(self._parts[name]) > self._limit:
            self.flooded = True
        if name == "stdout" and self._guard.on_line is not None and b"\n" in data:
            end = self._parts[name].rfind(b"\n") + 1
            lines = bytes(self._parts[name][self._told : end])
            self._told = end
            for line in lines.splitlines():
                self._guard.on_line(line.decode("utf-8", "replace"))

    def _must_stop(self) -> bool:
        """Whether the guard stops the process; it is asked every _WATCH_EVERY seconds."""
        now = time.monotonic()
        if self._guard.watch is not None and not self.stopped and now - self._asked >= _WATCH_EVERY:
            self._asked = now
            self.stopped = self._guard.watch()
        return bool(self.stopped)

    def _follow_posix(self, deadline: float) -> bool:
        if sys.platform == "win32":
            raise NotImplementedError("pipes of Windows are read by threads")
        import selectors

        with selectors.DefaultSelector() as selector:
            for name in ("stdout", "stderr"):
                pipe = getattr(self._process, name)
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, selectors.EVENT_READ, name)
            pause, gone = 0.002, False
            while True:
                left = deadline - time.monotonic()
                if self.flooded or left <= 0:
                    return gone and not self.flooded
                if not gone and self._must_stop():
                    return False
                if not selector.get_map():
                    if gone or has_ended(self._process):
                        return True
                    time.sleep(min(pause, left))
                    pause = min(pause * 1.5, 0.05)
                    continue
                for event, _ in selector.select(min(pause, left)):
                    data = self._read(event.fd)
                    if data:
                        self._take(event.data, data)
                        pause = 0.002
                    elif data is not None:
                        selector.unregister(event.fileobj)
                pause = min(pause * 1.5, 0.05)
                if not gone and selector.get_map() and has_ended(self._process):
                    gone, deadline = True, min(deadline, time.monotonic() + _DRAIN)  # a grandchild still has the pipe open

    @staticmethod
    def _read(descriptor: int) -> bytes | None:
        try:
            return os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def _follow_threads(self, deadline: float) -> bool:
        def pump(name: str, pipe: IO[bytes]) -> None:
            with contextlib.suppress(OSError, ValueError):
                while not self.flooded:
                    data = pipe.read(_CHUNK)
                    if not data:
                        return
                    self._take(name, data)

        readers = [threading.Thread(target=pump, args=(name, getattr(self._process, name)), daemon=True) for name in self._parts]
        for reader in readers:
            reader.start()
        while time.monotonic() < deadline and not self.flooded and self._process.poll() is None and not self._must_stop():
            time.sleep(0.01)
        if self._process.poll() is None or self.flooded:
            return False
        for reader in readers:
            reader.join(_DRAIN)
        return True


def _restrain(pid: int, guard: Guard) -> None:
    """Sets the limits of a process just after its start, since code between fork and exec is not safe with threads."""
    if sys.platform != "linux":
        return
    if guard.expendable:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/oom_score_adj", "w", encoding="ascii") as handle:
            handle.write("1000")
    if guard.address_space is not None:
        import resource

        with contextlib.suppress(OSError, ValueError):
            resource.prlimit(pid, resource.RLIMIT_AS, (guard.address_space, guard.address_space))


def _end(process: subprocess.Popen[bytes], marker: str, forced: bool) -> None:
    """Kills the group and every descendant that left it, reaps the process, and closes the pipes."""
    if WINDOWS:
        _kill_all(_tree(process.pid))
        with contextlib.suppress(OSError):
            process.kill()
    else:
        found = [] if sys.platform == "linux" or not forced else _tree(process.pid)
        kill_group(process.pid)
        if found:
            _kill_all(found)
    import subprocess

    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1.0)  # a process in uninterruptible sleep does not even end by SIGKILL
    if sys.platform == "linux":
        for _ in range(20):
            if not kill_marked(marker, everywhere=forced):
                break
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def _tree(pid: int) -> list[psutil.Process]:
    """All descendants of a process."""
    import psutil

    try:
        return psutil.Process(pid).children(recursive=True)
    except (psutil.Error, OSError):
        return []


def _kill_all(processes: Sequence[psutil.Process]) -> None:
    import psutil

    for process in processes:
        with contextlib.suppress(psutil.Error, OSError):
            process.kill()  # psutil refuses this where the number now belongs to another process
