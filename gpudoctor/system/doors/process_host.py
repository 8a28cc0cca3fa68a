"""A running process as a host: its variables, its interpreter, what it has loaded, and the files as it sees them.

Nothing is attached to it and nothing of it is run. Programs of the system (nvidia-smi, ldconfig) run as on this machine where the process
sees the same files; for one in a container none is run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence

from gpudoctor.model.door import Door
from gpudoctor.system.doors.process_snapshot import Snapshot, take
from gpudoctor.system.doors.root_host import RootedHost
from gpudoctor.system.host import Ran, Text
from gpudoctor.system.local_host import LocalHost
from gpudoctor.system.node_access import Who, may_open_by_mode

OWN = "/proc/self/"
_OTHER_NAMES = {"/proc/mounts": f"{OWN}mounts", "/proc/1/cgroup": f"{OWN}cgroup"}
"""Files that probes read about a machine or container, and those of the process that answer instead."""
READ_ONLY = "a running process is only read"
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*[a-z]?$")
_SITE = re.compile(r" (/[^\n ][^\n]{0,400}?)/lib(?:64)?/(?:python|pypy)3\.\d{1,3}t?/site-packages/")


class ProcessHost(RootedHost):
    def __init__(self, pid: str, *, budget: float = 30.0, quick: bool = False) -> None:
        taken = take(pid)
        self._taken = taken
        command = " ".join([os.path.basename(word) if not number else word for number, word in enumerate(taken.words)]) or taken.name
        self.process = taken.pid
        try:
            root = f"/proc/self/fd/{taken.root}"
            super().__init__(
                Door("process", str(taken.pid), f"process {taken.pid}: {_short(command)}"), root, budget=budget, quick=quick, in_use=True
            )
        finally:
            os.close(taken.root)
        self.target_why = f"process {taken.pid}"
        self._who = _who(taken.texts["status"])
        self._here = self._shares_our_files()
        self._local = LocalHost(budget, quick) if self._here else None
        self.target_python = interpreter(taken, self.realpath, self.exists) or None
        self.not_python = "" if self.target_python else f"{self.target_why} runs no Python"

    def _shares_our_files(self) -> bool:
        top, ours = self.files.stat("/"), os.stat("/")
        same_root = top is not None and (top.st_dev, top.st_ino) == (ours.st_dev, ours.st_ino)
        try:
            return same_root and os.readlink("/proc/self/ns/mnt") == self._taken.links["ns/mnt"]
        except OSError:
            return False

    @property
    def in_container(self) -> bool:
        """Whether it sees other files than this machine's."""
        return not self._here

    def run(self, argv: Sequence[str], *, timeout: float = 5.0, limit: int = 4_000_000) -> Ran:
        if tuple(argv) == ("id",):  # the ids of the examined process; the command would print those of gpudoctor
            return Ran(("id",), not_recorded=True, not_run=READ_ONLY)
        if self._local is None or (argv[0].startswith("/") and not argv[0].startswith(("/usr/", "/sbin/", "/bin/"))):
            return Ran(tuple(argv), not_recorded=True, not_run=READ_ONLY if self._local else "programs of the container are not run")
        return self._local.run(argv, timeout=timeout, limit=limit)

    def run_child(
        self, argv: Sequence[str], *, timeout: float, limit: int, env: Mapping[str, str], stdin_text: str = "", niced: bool = True
    ) -> Ran:
        return Ran(tuple(argv), not_recorded=True, not_run=READ_ONLY)

    def read(self, path: str, *, limit: int = 1_000_000) -> Text:
        path = _OTHER_NAMES.get(path, path)
        if path.startswith(OWN):
            text = self._taken.texts.get(path.removeprefix(OWN))
            return Text(problem="not-recorded") if text is None else Text(problem="too-large") if len(text) > limit else Text(text)
        return super().read(path, limit=limit)

    def listdir(self, path: str) -> list[str]:
        return sorted(self._taken.descriptors, key=int) if path == f"{OWN}fd" else super().listdir(path)

    def readlink(self, path: str) -> str | None:
        if path.startswith(f"{OWN}fd/"):
            return self._taken.descriptors.get(path.removeprefix(f"{OWN}fd/"))
        return self._taken.links.get(path.removeprefix(OWN)) if path.startswith(OWN) else super().readlink(path)

    def realpath(self, path: str) -> str:
        return self._taken.links["cwd"] if path == "." else super().realpath(path)

    def may_open(self, path: str) -> bool | None:
        """Whether the user and groups of the process may open the path, by its mode."""
        mode = self.mode(path)
        return None if mode is None else may_open_by_mode(mode, self._who, acl=False)

    def env(self, name: str) -> str | None:
        return self._taken.environment.get(name)

    def env_names(self, prefix: str) -> list[str]:
        return sorted(name for name in self._taken.environment if name.startswith(prefix))


def _short(command: str) -> str:
    command = "".join(letter if letter.isprintable() else " " for letter in command[:300])
    return command if len(command) <= 60 else f"{command[:57]}..."


def _who(status: str) -> Who | None:
    numbers = {
        key: [int(word) for word in re.findall(r"\d+", line)] for key, line in re.findall(r"^(Uid|Gid|Groups):(.*)$", status, re.MULTILINE)
    }
    if len(numbers.get("Uid", [])) < 2:
        return None
    gids = frozenset([*numbers.get("Gid", [])[1:2], *numbers.get("Groups", [])])
    return Who(numbers["Uid"][1], "", gids, frozenset())


def interpreter(taken: Snapshot, realpath: Callable[[str], str], exists: Callable[[str], bool]) -> str:
    """The path of the process's Python as it was started, which shows its environment; '' where it runs none.

    It is the first word of the command line where that leads to the running program, as a link of a virtual environment does; else the
    interpreter of the environment whose packages are loaded; else the program.
    """
    program = taken.links["exe"].removesuffix(" (deleted)")
    if not _PYTHON.search(program) and "/libpython" not in taken.texts["maps"]:
        return ""
    first = taken.words[0] if taken.words else ""
    for candidate in _candidates(first, taken):
        if exists(candidate) and realpath(candidate) == program:
            return candidate
    loaded = _SITE.search(taken.texts["maps"])
    if loaded and exists(f"{loaded[1]}/bin/python"):
        return f"{loaded[1]}/bin/python"
    return program


def _candidates(first: str, taken: Snapshot) -> list[str]:
    if first.startswith("/"):
        return [first]
    if "/" in first:
        return [f"{taken.links['cwd']}/{first}"]
    folders = [folder for folder in taken.environment.get("PATH", "").split(":") if folder.startswith("/")]
    return [f"{folder}/{first}" for folder in folders if first]
