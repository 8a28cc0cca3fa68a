"""This machine. Each command is started at most once, without a shell and with a time limit; files are read up to a size, devices never."""

from __future__ import annotations

import os
import stat
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from gpudoctor.system.host import Mode, Ran, Text, printable, problem_of
from gpudoctor.system.portable import WINDOWS, is_root
from gpudoctor.system.run_once import RunOnce

if TYPE_CHECKING:
    from gpudoctor.system.processes import Guard
    from gpudoctor.system.scratch_folder import ScratchFolder


class LocalHost:
    """Answers of the live machine, within one budget of seconds. May be asked from several threads."""

    origin: Literal["live", "capture"] = "live"
    complete = True

    def __init__(self, budget: float = 30.0, quick: bool = False) -> None:
        self.quick = quick
        self.target_python: str | None = None
        self.own_environment = sys.prefix if sys.prefix != sys.base_prefix else ""
        self.platform = {"win32": "windows", "darwin": "macos"}.get(sys.platform, "linux")
        self._deadline = time.monotonic() + budget
        self._lock = threading.Lock()
        self._once = RunOnce()
        self._scratch: ScratchFolder | None = None

    def remaining(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    def python_environment(self) -> dict[str, Any] | None:
        return None

    # processes

    def run(self, argv: Sequence[str], *, timeout: float = 5.0, limit: int = 4_000_000) -> Ran:
        key = tuple(argv)
        if self.quick or not key:
            return Ran(key, not_recorded=True)

        def start() -> Ran:
            # Mesa makes a cache of shaders in the home folder when vulkaninfo opens a device.
            environment = {**os.environ, "LC_ALL": "C", "MESA_SHADER_CACHE_DISABLE": "true", **self._elsewhere()}
            environment.pop("LANGUAGE", None)
            return self._start(key, timeout, limit, environment, "", True)

        return self._once(key, start)

    def run_child(
        self, argv: Sequence[str], *, timeout: float, limit: int, env: Mapping[str, str], stdin_text: str = "", niced: bool = True
    ) -> Ran:
        if self.quick:
            return Ran(tuple(argv), not_recorded=True)
        return self._start(tuple(argv), timeout, limit, {**os.environ, "LC_ALL": "C", **self._elsewhere(), **env}, stdin_text, niced)

    def run_worker(
        self, argv: Sequence[str], *, timeout: float, limit: int, env: Mapping[str, str], guard: Guard, stdin_text: str = ""
    ) -> Ran:
        """Runs a process of the target environment that measures: at normal priority, watched by `guard`, and outside the budget of this
        host."""
        program = find_program(argv[0], os.environ.get("PATH", os.defpath))
        if program is None:
            return Ran(tuple(argv), missing=True)
        from gpudoctor.system.processes import execute

        environment = {**os.environ, "LC_ALL": "C", **self._elsewhere(), **env}
        return execute(argv, program, timeout=timeout, limit=limit, env=environment, stdin_text=stdin_text, niced=False, guard=guard)

    def _elsewhere(self) -> dict[str, str]:
        """Variables that give PoCL another folder for its cache, which it makes in the home folder as soon as its devices are listed."""
        if "POCL_CACHE_DIR" in os.environ or not any("pocl" in name for name in self.listdir("/etc/OpenCL/vendors")):
            return {}
        with self._lock:
            if self._scratch is None:
                import atexit

                from gpudoctor.system.scratch_folder import ScratchFolder

                try:
                    self._scratch = ScratchFolder("gpudoctor-pocl-")
                except OSError:
                    return {}
                atexit.register(self._scratch.remove)
            return {"POCL_CACHE_DIR": self._scratch.path}

    def _start(self, argv: tuple[str, ...], timeout: float, limit: int, env: Mapping[str, str], stdin_text: str, niced: bool) -> Ran:
        program = find_program(argv[0], os.environ.get("PATH", os.defpath))
        if program is None:
            return Ran(argv, missing=True)
        left = min(timeout, self.remaining())
        if left <= 0:
            return Ran(argv, timed_out=True)
        from gpudoctor.system.processes import execute

        return execute(argv, program, timeout=left, limit=limit, env=env, stdin_text=stdin_text, niced=niced)

    # files

    def read(self, path: str, *, limit: int = 1_000_000) -> Text:
        """The content of a regular file, as those of /proc and /sys are. No other file is opened: a FIFO would block, and opening a device
        may have effects."""
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):
                return Text(problem="io-error")
            flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
            descriptor = os.open(path, flags)
            try:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    return Text(problem="io-error")
                content = _read_up_to(descriptor, limit + 1)
            finally:
                os.close(descriptor)
        except (OSError, ValueError) as error:
            return Text(problem=problem_of(error))
        return Text(problem="too-large") if len(content) > limit else Text(content.decode("utf-8", "replace"))

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def size(self, path: str) -> int | None:
        """The bytes of a file; None where there is none. Recorded machines do not have this method."""
        try:
            return os.stat(path).st_size
        except (OSError, ValueError):
            return None

    def knows(self, path: str) -> bool:
        try:
            os.stat(path)
        except PermissionError:
            return False
        except (OSError, ValueError):
            return True
        return True

    def listdir(self, path: str) -> list[str]:
        try:
            return sorted(printable(name) for name in os.listdir(path))
        except (OSError, ValueError):
            return []

    def readlink(self, path: str) -> str | None:
        try:
            return printable(os.readlink(path))
        except (OSError, ValueError, NotImplementedError):
            return None

    def realpath(self, path: str) -> str:
        try:
            real = printable(os.path.realpath(path))
        except (OSError, ValueError):
            return path
        return real if not WINDOWS else real.replace("\\", "/")

    def mode(self, path: str) -> Mode | None:
        try:
            found = os.stat(path)
        except (OSError, ValueError):
            return None
        text = stat.filemode(found.st_mode)
        if sys.platform == "linux":
            try:
                text += "+" if "system.posix_acl_access" in os.listxattr(path) else ""
            except OSError:
                pass
        owner, group = _names(found.st_uid, found.st_gid)
        return Mode(text, owner, group, found.st_uid, found.st_gid)

    def may_open(self, path: str) -> bool | None:
        try:
            return os.access(path, os.R_OK | os.W_OK) if os.path.exists(path) else None
        except (OSError, ValueError):
            return None

    def distrust(self, path: str, *, lies_here: bool = False) -> str:
        from gpudoctor.system import trust

        return trust.distrust_environment(path) if lies_here else trust.distrust(path)

    # environment

    def main_memory(self) -> tuple[int, int] | None:
        """(bytes of main memory that programs can still get, all bytes); None where the system does not say."""
        import psutil

        try:
            memory = psutil.virtual_memory()
        except (psutil.Error, OSError, RuntimeError, ValueError):
            return None
        return (int(memory.available), int(memory.total)) if memory.total else None

    def env(self, name: str) -> str | None:
        value = os.environ.get(name)
        return None if value is None else printable(value)

    def env_names(self, prefix: str) -> list[str]:
        return sorted(name for name in os.environ if name.startswith(prefix))


def find_program(name: str, path: str) -> str | None:
    """The path of a program, as a shell finds it; None where there is none. Relative entries of PATH are left out, and for root also
    folders in which others can write."""
    if WINDOWS:
        import shutil

        return shutil.which(name)
    if "/" in name:
        return name if name.startswith("/") and _executable(name) else None
    for folder in path.split(os.pathsep):
        # WSL puts the folders of Windows on PATH: they are slow, and only their .exe files are programs.
        if folder.startswith("/") and (not folder.startswith("/mnt/") or name.endswith(".exe")):
            candidate = os.path.join(folder, name)
            if _executable(candidate) and not (is_root() and _is_strange(candidate)):
                return candidate
    return None


def _is_strange(program: str) -> bool:
    from gpudoctor.system.trust import distrust

    return bool(distrust(program))


def _executable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _read_up_to(descriptor: int, limit: int) -> bytes:
    parts: list[bytes] = []
    while limit > 0:
        data = os.read(descriptor, min(limit, 1 << 20))
        if not data:
            break
        parts.append(data)
        limit -= len(data)
    return b"".join(parts)


def _names(uid: int, gid: int) -> tuple[str, str]:
    if sys.platform == "win32":
        return "", ""
    import grp
    import pwd

    try:
        owner = pwd.getpwuid(uid).pw_name
    except (KeyError, OSError):
        owner = str(uid)
    try:
        group = grp.getgrgid(gid).gr_name
    except (KeyError, OSError):
        group = str(gid)
    return owner, group
