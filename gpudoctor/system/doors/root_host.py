"""The system in a folder: an unpacked or mounted image, a chroot. Only files are read, or programs run too where root asked for chroot."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec.structs import replace

from gpudoctor.model.door import Door
from gpudoctor.system.doors.rooted_files import RootedFiles
from gpudoctor.system.doors.strange_paths import distrust_by_modes
from gpudoctor.system.host import KERNEL, DoorError, Mode, Ran, Text, problem_of
from gpudoctor.system.portable import is_root, user_number
from gpudoctor.system.run_once import RunOnce

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENVIRONMENT = {"PATH": PATH, "HOME": "/root", "LC_ALL": "C"}
_MOUNTS = {"/proc/mounts": 1, "/proc/self/mounts": 1, "/proc/self/mountinfo": 4}
"""Lists of mounts as this process sees them, and the number of the column with the folder."""
FILES_ONLY = "only the files of this root are read"
NO_DEVICES = "the files of a system show no devices"


class RootedHost:
    """The base of hosts that read files below a folder of this machine. Subclasses add `run` and the variables."""

    origin: Literal["live", "capture"] = "live"
    complete = True
    platform = "linux"
    own_environment = ""
    target_python: str | None = None
    target_why = "--python"

    def __init__(self, door: Door, root: str, *, budget: float, quick: bool, in_use: bool) -> None:
        """`in_use`: the system runs or will run (chroot), so that what it does not show is absent."""
        self.door = door
        self.quick = quick
        self.files = RootedFiles(root)
        self._deadline = time.monotonic() + budget
        self._hidden: tuple[str, ...] = () if in_use else tuple(folder for folder in KERNEL if not self._is_mounted(folder))

        if "/sys" in self._hidden:
            self.door = replace(door, no_devices=NO_DEVICES)

    def close(self) -> None:
        self.files.close()

    def confirm(self) -> None:
        """Raises DoorError where what was examined does not exist any more."""

    def remaining(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    def python_environment(self) -> dict[str, Any] | None:
        return None

    def _is_mounted(self, folder: str) -> bool:
        top, found = self.files.stat("/"), self.files.stat(folder)
        return top is not None and found is not None and found.st_dev != top.st_dev

    def _is_hidden(self, path: str) -> bool:
        return any(path == folder or path.startswith(f"{folder}/") for folder in self._hidden)

    def read(self, path: str, *, limit: int = 1_000_000) -> Text:
        return Text(problem="not-recorded") if self._is_hidden(path) else self.files.read(path, limit)

    def exists(self, path: str) -> bool:
        return path.startswith("/") and not self._is_hidden(path) and self.files.stat(path) is not None

    def size(self, path: str) -> int | None:
        found = self.files.stat(path)
        return None if found is None else found.st_size

    def knows(self, path: str) -> bool:
        return not self._is_hidden(path) and self.files.knows(path)

    def listdir(self, path: str) -> list[str]:
        return [] if self._is_hidden(path) or not path.startswith("/") else self.files.listdir(path)

    def readlink(self, path: str) -> str | None:
        return None if self._is_hidden(path) else self.files.readlink(path)

    def realpath(self, path: str) -> str:
        return self.files.realpath(path) if path.startswith("/") else ""

    def mode(self, path: str) -> Mode | None:
        return None if self._is_hidden(path) else self.files.mode(path)

    def may_open(self, path: str) -> bool | None:
        return None if self._is_hidden(path) else self.files.may_open(path)

    def distrust(self, path: str, *, lies_here: bool = False) -> str:
        return distrust_by_modes(path, {0, *self._users()}, self._look, self.files.readlink)

    def _users(self) -> set[int]:
        number = user_number()
        return set() if number is None else {number}

    def _look(self, path: str) -> tuple[int, int, bool] | None:
        found = self.files.stat(path, follow=False)
        return None if found is None else (found.st_mode, found.st_uid, (found.st_mode & 0o170000) == 0o120000)


class RootHost(RootedHost):
    """The system in the folder `root`. `chroot`: its programs are run in it."""

    def __init__(self, root: str, *, budget: float = 30.0, quick: bool = False, chroot: bool = False) -> None:
        self._path = os.path.abspath(root)
        _check_root(root, chroot)
        try:
            super().__init__(Door("root", root, f"root {root}"), self._path, budget=budget, quick=quick, in_use=chroot)
        except OSError as error:
            raise DoorError(f"--root {root}: it cannot be entered: {error.strerror}; run gpudoctor as a user who may") from None
        self._chroot = chroot
        self._once = RunOnce()
        why = _no_system(self.files)
        if why:
            self.close()
            raise DoorError(f"--root {root}: {why}")

    def read(self, path: str, *, limit: int = 1_000_000) -> Text:
        text = super().read(path, limit=limit)
        return Text(mounts_below(self._path, text.text, _MOUNTS[path])) if path in _MOUNTS and text.ok else text

    def env(self, name: str) -> str | None:
        return ENVIRONMENT.get(name) if name != "LC_ALL" else None

    def env_names(self, prefix: str) -> list[str]:
        return sorted(name for name in ("PATH", "HOME") if name.startswith(prefix))

    def run(self, argv: Sequence[str], *, timeout: float = 5.0, limit: int = 4_000_000) -> Ran:
        key = tuple(argv)
        if self.quick or not self._chroot or not key:
            return Ran(key, not_recorded=True, not_run="" if self.quick else FILES_ONLY)
        return self._once(key, lambda: self._start(key, timeout, limit, {}, ""))

    def run_child(
        self, argv: Sequence[str], *, timeout: float, limit: int, env: Mapping[str, str], stdin_text: str = "", niced: bool = True
    ) -> Ran:
        if self.quick or not self._chroot:
            return Ran(tuple(argv), not_recorded=True, not_run="" if self.quick else FILES_ONLY)
        from gpudoctor.system.doors.carried import carried

        words, text = carried(argv, stdin_text)
        return self._start(tuple(words), timeout, limit, env, text)

    def _start(self, argv: tuple[str, ...], timeout: float, limit: int, env: Mapping[str, str], stdin_text: str) -> Ran:
        program = self._program(argv[0])
        if program is None:
            return Ran(argv, missing=True)
        left = min(timeout, self.remaining())
        if left <= 0:
            return Ran(argv, timed_out=True)
        from gpudoctor.system.local_host import find_program
        from gpudoctor.system.processes import execute

        tool = find_program("chroot", PATH)
        if tool is None:
            return Ran(argv, not_recorded=True, not_run="there is no program chroot on this machine")
        words = ["chroot", self._path, program, *argv[1:]]
        ran = execute(words, tool, timeout=left, limit=limit, env={**ENVIRONMENT, **env}, stdin_text=stdin_text)
        return replace(ran, argv=argv)

    def _program(self, name: str) -> str | None:
        """The path of a program, as a shell in the root finds it."""
        choices = [name] if "/" in name else [f"{folder}/{name}" for folder in PATH.split(":")]
        for path in choices:
            found = self.files.stat(path) if path.startswith("/") else None
            if found is not None and (found.st_mode & 0o170000) == 0o100000 and found.st_mode & 0o111:
                return path
        return None


def _no_system(files: RootedFiles) -> str:
    """Why the folder cannot be examined as a system; empty where it can."""
    if any(files.stat(path) is not None for path in ("/etc/os-release", "/usr/lib/os-release")):
        return ""
    if not files.knows("/etc/os-release"):
        return "no permission to look into it; run gpudoctor as a user who may read it, or as root"
    for path in ("/etc", "/etc/os-release"):
        target = files.readlink(path)
        if target is not None:
            place = f"its {path[1:]} is a link to {target}, which this root does not hold"
            return f"{place}; links are not followed out of it, so give the whole root"
    return "it holds no system, since etc/os-release is missing; give the folder in which etc, usr and var lie"


def mounts_below(root: str, text: str, column: int) -> str:
    """The lines of `text` about mounts below the root, with the paths that these have in it."""
    found = []
    for line in text.splitlines():
        words = line.split(" ")
        place = words[column] if len(words) > column else ""
        if place == root or place.startswith(f"{root.rstrip('/')}/"):
            words[column] = place.removeprefix(root.rstrip("/")) or "/"
            found.append(" ".join(words))
    return "".join(f"{line}\n" for line in found)


def _check_root(root: str, chroot: bool) -> None:
    if sys.platform != "linux":
        raise DoorError(f"--root {root}: roots of Linux systems are read on Linux only; run gpudoctor there")
    try:
        os.stat(root)
    except (OSError, ValueError) as error:
        missing = problem_of(error) == "missing"
        why = "there is no such folder" if missing else f"it cannot be read: {getattr(error, 'strerror', None) or error}"
        raise DoorError(f"--root {root}: {why}; give a folder that holds a whole system") from None
    if not os.path.isdir(root):
        raise DoorError(f"--root {root}: this is a file; mount or unpack it first, and give the folder")
    if chroot and not is_root():
        raise DoorError(f"--chroot: only root may run programs in another root; without it the files of {root} are read")
