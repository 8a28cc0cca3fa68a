"""A system behind a shell: a machine by ssh, a running container, an image. One session answers for files; programs run beside it."""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from gpudoctor.model.door import OPTIONS, Door, Wanted
from gpudoctor.system.doors.shell_session import Lost, ShellSession, call
from gpudoctor.system.doors.strange_paths import distrust_by_modes
from gpudoctor.system.host import KERNEL, DoorError, Mode, Problem, Ran, Text
from gpudoctor.system.portable import WINDOWS
from gpudoctor.system.run_once import RunOnce

_PROBLEMS: dict[str, Problem] = {"denied": "denied", "io-error": "io-error", "missing": "missing"}
_AT_ONCE = (
    "/", "/dev", "/dev/dri", "/etc", "/opt", "/proc", "/run", "/sys", "/sys/module", "/sys/bus/pci/devices", "/usr", "/usr/bin",
    "/usr/lib", "/usr/lib/x86_64-linux-gnu", "/usr/local", "/usr/local/bin", "/usr/local/lib", "/usr/sbin", "/var", "/var/lib",
)  # fmt: skip
"""Folders that are always listed, with one question."""


_OF_FILES = ("apk", "dpkg-query", "id", "ldconfig", "nvcc", "pacman", "popc", "rpm")
"""Programs whose answers are about the files of an image. Others speak of the kernel and devices of the machine on which it is examined."""


class Way(Protocol):
    """How a shell is reached. `argv` starts one that reads its script from standard input; `first`: whether it is the first one."""

    door: Door
    option: str
    """The option with which the person asked for it: '--host gpu1'."""

    def argv(self, *, first: bool) -> list[str]: ...
    def why_not(self, said: str) -> str:
        """The message of the DoorError for a shell that did not answer. `said`: what the program printed."""
        ...

    def close(self) -> None: ...


class ShellHost:
    origin: Literal["live", "capture"] = "live"
    complete = True
    platform = "linux"
    own_environment = ""
    target_why = "--python"

    def __init__(self, way: Way, *, budget: float = 30.0, quick: bool = False, patience: float = 15.0, in_container: bool = False) -> None:
        self.door, self.quick, self.in_container = way.door, quick, in_container
        self.target_python: str | None = None
        self.engine = getattr(way, "engine", None)
        self._way = way
        self._hidden = KERNEL if way.door.kind == "image" else ()
        self._once = RunOnce()
        self._names: dict[str, frozenset[str] | None] = {}
        self._stats: dict[str, tuple[Mode, int, bool] | str] = {}
        self._texts: dict[str, Text] = {}
        atexit.register(self.close)
        self._session: ShellSession | None = None
        try:
            self._session = ShellSession(way.argv(first=True), os.environ, patience=patience)
            self._session.begin()
        except Lost as error:
            said = self._session.said() if self._session is not None else ""
            self.close()
            raise DoorError(way.why_not(said or str(error))) from None
        except BaseException:
            self.close()
            raise
        self._deadline = time.monotonic() + budget
        self._check_system()
        self._environment = self._variables()
        self._own_user = {0, self._uid()}
        self._list_at_once(_AT_ONCE)

    # the connection

    def _check_system(self) -> None:
        system = b"".join(content for _, content in self._ask("H u; uname -s; command -v stat; command -v readlink; command -v head"))
        words = system.decode("utf-8", "replace").split()
        if words[:1] != ["Linux"]:
            self.close()
            name = {"Darwin": "macOS"}.get(words[0] if words else "", words[0] if words else "no known system")
            raise DoorError(f"{self._way.option}: it runs {name}, and only Linux is examined from afar; run gpudoctor check there")
        if len(words) < 4:
            self.close()
            raise DoorError(
                f"{self._way.option}: stat, readlink or head is missing there, with which files are read; install coreutils or busybox"
            )

    def _variables(self) -> dict[str, str]:
        text = self._text('R "/proc/$$/environ" 1000000').removeprefix("ok\n")
        parts = text.split("\0") if "\0" in text else self._text("H e; env").split("\n")
        return {name: value for name, found, value in (part.partition("=") for part in parts) if found and name.isprintable()}

    def _uid(self) -> int:
        said = self._text("H i; id -u").strip()
        return int(said) if said.isdigit() else 0

    def _ask(self, script: str) -> list[tuple[str, bytes]]:
        """The answers to a script; none where the connection is lost, which `confirm` reports at the end."""
        if self._session is None:
            return []
        try:
            return self._session.ask(script, max(2.0, min(15.0, self.remaining() + 2.0)) if hasattr(self, "_deadline") else 15.0)
        except Lost:
            return []

    def _text(self, script: str) -> str:
        answers = self._ask(script)
        return answers[0][1].decode("utf-8", "replace") if answers else ""

    def confirm(self) -> None:
        """Raises DoorError where the connection was lost, since what was not answered would look absent."""
        if self._session is not None and self._session.lost:
            raise DoorError(self._way.why_not(self._session.said() or self._session.lost))

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()
        self._way.close()
        atexit.unregister(self.close)

    def remaining(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    def python_environment(self) -> dict[str, Any] | None:
        return None

    # files

    def _list_at_once(self, folders: Sequence[str]) -> None:
        asked = [folder for folder in folders if folder not in self._names and not self._is_hidden(folder)]
        answers = self._ask("; ".join(call("D", folder) for folder in asked)) if asked else []
        for folder, (_, content) in zip(asked, answers, strict=False):
            names = frozenset(name for name in content.decode("utf-8", "replace").split("\n") if name)
            if names:
                self._names[folder] = names

    def _is_hidden(self, path: str) -> bool:
        return any(path == folder or path.startswith(f"{folder}/") for folder in self._hidden)

    def _cannot_be(self, path: str) -> bool:
        """Whether an earlier listing shows that the path does not exist."""
        while path not in ("/", ""):
            folder, _, name = path.rpartition("/")
            names = self._names.get(folder or "/")
            if names and name not in names and name not in ("", ".", ".."):
                return True
            path = folder
        return False

    def _stat(self, path: str) -> tuple[Mode, int, bool] | str:
        """(mode, bytes, whether this user may open it), or the reason why not: missing, denied, gone (a link that leads nowhere)."""
        if not path.startswith("/") or self._is_hidden(path) or "\0" in path or "\n" in path:
            return "missing"
        if path not in self._stats:
            self._stats[path] = "missing" if self._cannot_be(path) else _parse_stat(self._text(call("S", path)))
        return self._stats[path]

    def read(self, path: str, *, limit: int = 1_000_000) -> Text:
        if self._is_hidden(path) or not path.startswith("/") or "\0" in path:
            return Text(problem="not-recorded" if path.startswith("/") else "missing")
        if self._cannot_be(path):
            return Text(problem="missing")
        answers = self._ask(call("R", path, str(limit + 1)))
        if not answers:
            return Text(problem="io-error")
        word, _, content = answers[0][1].partition(b"\n")
        if word != b"ok":
            return Text(problem=_PROBLEMS.get(word.decode("ascii", "replace").strip(), "io-error"))
        return Text(problem="too-large") if len(content) > limit else Text(content.decode("utf-8", "replace"))

    def exists(self, path: str) -> bool:
        found = self._stat(path)
        return not isinstance(found, str) and not (path.endswith("/.") and not found[0].mode.startswith("d"))

    def size(self, path: str) -> int | None:
        found = self._stat(path)
        return None if isinstance(found, str) else found[1]

    def knows(self, path: str) -> bool:
        return not self._is_hidden(path) and self._stat(path) != "denied"

    def listdir(self, path: str) -> list[str]:
        if self._is_hidden(path) or not path.startswith("/") or self._cannot_be(path):
            return []
        path = path.rstrip("/") or "/"
        if path not in self._names:
            names = [name for name in self._text(call("D", path)).split("\n") if name]
            self._names[path] = frozenset(names) if names else None
        return sorted(self._names[path] or ())

    def readlink(self, path: str) -> str | None:
        if self._is_hidden(path) or not path.startswith("/") or self._cannot_be(path):
            return None
        return self._text(call("T", path)).removesuffix("\n") or None

    def realpath(self, path: str) -> str:
        if not path.startswith("/"):
            return ""
        return path if self._is_hidden(path) or self._cannot_be(path) else self._text(call("F", path)).removesuffix("\n") or path

    def mode(self, path: str) -> Mode | None:
        found = self._stat(path)
        return None if isinstance(found, str) else found[0]

    def may_open(self, path: str) -> bool | None:
        found = self._stat(path)
        return None if isinstance(found, str) else found[2]

    def distrust(self, path: str, *, lies_here: bool = False) -> str:
        return distrust_by_modes(path, self._own_user, self._look, self.readlink)

    def _look(self, path: str) -> tuple[int, int, bool] | None:
        words = [] if self._cannot_be(path) else self._text(call("L", path)).split()
        if len(words) != 2 or not words[1].isdigit():
            return None
        bits = int(words[0], 16)
        return bits, int(words[1]), (bits & 0o170000) == 0o120000

    # variables

    def env(self, name: str) -> str | None:
        return self._environment.get(name)

    def env_names(self, prefix: str) -> list[str]:
        return sorted(name for name in self._environment if name.startswith(prefix))

    # programs

    def run(self, argv: Sequence[str], *, timeout: float = 5.0, limit: int = 4_000_000) -> Ran:
        key = tuple(argv)
        if self.quick or not key:
            return Ran(key, not_recorded=True)
        if self._hidden and key[0] not in _OF_FILES and not key[0].startswith("/"):
            return Ran(key, not_recorded=True, not_run=self.door.no_devices)
        return self._once(key, lambda: self._start(key, timeout, limit, {}, ""))

    def run_child(
        self, argv: Sequence[str], *, timeout: float, limit: int, env: Mapping[str, str], stdin_text: str = "", niced: bool = True
    ) -> Ran:
        if self.quick:
            return Ran(tuple(argv), not_recorded=True)
        from gpudoctor.system.doors.carried import carried

        words, text = carried(argv, stdin_text)
        return self._start(tuple(words), timeout, limit, env, text)

    def _start(self, argv: tuple[str, ...], timeout: float, limit: int, env: Mapping[str, str], stdin_text: str) -> Ran:
        import secrets

        from gpudoctor.system.doors.shell_script import finished, script
        from gpudoctor.system.local_host import find_program
        from gpudoctor.system.processes import execute

        left = min(timeout, self.remaining())
        if left <= 0:
            return Ran(argv, timed_out=True)
        if "/" not in argv[0] and self._session is not None and not self._session.lost and not self._text(call("C", argv[0])):
            return Ran(argv, missing=True)
        words, word = self._way.argv(first=False), secrets.token_hex(16)
        program = find_program(words[0], os.environ.get("PATH", os.defpath))
        if program is None or self._session is None or self._session.lost:
            return Ran(argv, not_recorded=True, not_run="the connection ended")
        cached = any("pocl" in name for name in self.listdir("/etc/OpenCL/vendors"))
        text = script(argv, word, seconds=left, env=env, stdin_text=stdin_text, own_cache=cached)
        ran = execute(words, program, timeout=left + 2.5, limit=limit, env=os.environ, stdin_text=text, niced=False)
        return finished(ran, argv, word, left)


def _parse_stat(text: str) -> tuple[Mode, int, bool] | str:
    lines = text.splitlines()
    words = lines[0].split() if lines else []
    if len(words) != 6 or not (words[1].isdigit() and words[2].isdigit() and words[5].isdigit()):
        return words[0] if words and words[0] in ("missing", "denied", "gone") else "missing"
    names = [number if name == "UNKNOWN" else name for name, number in ((words[3], words[1]), (words[4], words[2]))]
    return Mode(words[0], names[0], names[1], int(words[1]), int(words[2])), int(words[5]), lines[1:] == ["rw"]


def open_shell(wanted: Wanted, *, budget: float, quick: bool) -> ShellHost:
    """Raises DoorError."""
    if WINDOWS:
        raise DoorError(f"{OPTIONS[wanted.kind]} {wanted.name}: this works from Linux and macOS; run gpudoctor check in it, or from there")
    if wanted.kind == "host":
        from gpudoctor.system.doors.ssh import SshWay

        return ShellHost(SshWay(wanted.name), budget=budget, quick=quick, patience=20.0)
    from gpudoctor.system.doors.containers import open_container

    return ShellHost(open_container(wanted), budget=budget, quick=quick, in_container=wanted.kind == "container")
