"""A recorded machine (capture v1) behind the same door as a live one. Nothing in it is executed or followed outside.

Beside the files of the contract, captures that gpudoctor itself made may hold (all optional, all about being exact):
`absent.toml`   `paths = [...]`: somebody looked there, and nothing was there;
`folders.toml`  `"/dev/dri" = ["card0", "renderD128"]`: the whole listing of a folder that was asked for;
`realpaths.toml` `"/asked/path" = "/where/it/leads"`;
`modes.toml`    an entry may say `may_open = true`, what the kernel answered (ACLs included);
`machine.toml`  `host` (the platform as the live host called it), `target` (what --python said), and `door`: what was recorded in the
                place of a machine (kind, name, title; how a container was started);
`beside.json`   beside a container: facts of the machine on which it ran;
`measurements.json` `{"runs": [{"date": …, "measurements": […]}]}`: what `validate` had measured there, as a report has it;
`unreadable.toml` an entry may be `distrusted` and why: what was not run there, since others could have changed it;
`commands.jsonl` lines of `gpudoctor-child` and a digest: what our own children in the target environment said.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec.structs import replace

from gpudoctor import __version__
from gpudoctor.capture.capture_store import Store, open_store
from gpudoctor.capture.parsing import read_commands, read_json, read_python, read_toml, typed
from gpudoctor.capture.recorded_door import recorded_door, recorded_engine
from gpudoctor.capture.recording_host import CHILD, DISTRUSTED, child_digest
from gpudoctor.model.bounds import TooComplex, check_path
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import CaptureError, Mode, Problem, Ran, Text, bounded
from gpudoctor.system.node_access import acl_marked, listed_modes, may_open_by_mode, parse_id

__all__ = ["CaptureError", "RecordedHost", "open_recorded"]

PLATFORMS = ("linux", "wsl2", "windows", "macos", "container")
_MAX_HOPS = 40
MOST_FOLDERS = 100_000
_COARSE = frozenset({"/", "/sys", "/sys/class", "/sys/bus", "/sys/module", "/sys/devices", "/proc", "/usr", "/usr/lib", "/var", "/home"})
"""Folders of which a hand-made capture has only some subfolders: a missing one proves nothing unless the folder holds files."""
_PROBLEMS: dict[str, Problem] = {"denied": "denied", "io-error": "io-error", "too-large": "too-large", "missing": "missing"}
_DRIVE = lazy(r"^/?([A-Za-z]):(?=/|$)")


def open_recorded(path: str, *, quick: bool = False, budget: float = 30.0) -> RecordedHost:
    """The machine recorded in a folder, .tar.gz or .zip. Raises CaptureError with one line where it cannot be read."""
    return RecordedHost(open_store(path), quick=quick, budget=budget)


class RecordedHost:
    """Answers from a capture. For what it lacks, a complete capture answers 'not recorded', any other 'not there'."""

    def __init__(self, store: Store, *, quick: bool = False, budget: float = 30.0) -> None:
        self._store = store
        self.quick = quick
        self.target_python: str | None = None
        self._budget = budget
        machine = read_toml(store, "machine.toml", required=True)
        if machine.get("format") != 1:
            raise CaptureError(f"{store.where}: machine.toml: format is {machine.get('format')!r}, expected 1")
        self.machine: Mapping[str, Any] = machine
        self.complete = typed(store, "machine.toml", "complete", machine.get("complete", False), bool)
        self.platform = typed(store, "machine.toml", "platform", machine.get("platform", "linux"), str)
        if self.platform not in PLATFORMS:
            raise CaptureError(f"{store.where}: machine.toml: platform is {self.platform[:40]!r}, expected one of {', '.join(PLATFORMS)}")
        # Our own recording by the same version holds an answer to each question of the probes, which may treat it like the machine.
        self.exact = self.complete and machine.get("recorder") == f"gpudoctor {__version__}"
        self.origin: Literal["live", "capture"] = "live" if self.exact else "capture"
        if self.exact:
            self.platform = str(machine.get("host", self.platform))
            self.target_python = str(machine["target"]) if machine.get("target") else None
        self.title = str(machine.get("title", ""))
        self.door = recorded_door(store, machine)
        self.target_why = f"process {self.door.name}" if self.door is not None and self.door.kind == "process" else "--python"
        no_python = self.exact and self.door is not None and self.door.kind == "process" and not self.target_python
        self.not_python = f"{self.target_why} runs no Python" if no_python else ""
        self.engine = recorded_engine(machine)
        self.in_container = self.door is not None and read_json(store, "beside.json") is not None
        self.python: dict[str, Any] | None = read_python(store)
        self._commands = read_commands(store)
        self._env = {name: typed(store, "env.toml", name, value, str) for name, value in read_toml(store, "env.toml").items()}
        self._files: dict[str, str] = {}
        self._unreadable: dict[str, str] = {}
        self._distrusted: dict[str, str] = {}
        self._folded: dict[str, str] = {}
        self._children: dict[str, set[str]] = {"/": set()}
        self._holds_files: set[str] = set()
        self._index()
        user = self._commands.get(("id",))
        self._who = parse_id(user.stdout) if user is not None and user.rc == 0 else None
        self._listed: dict[str, Mode] | None = None

    def _index(self) -> None:
        store = self._store
        links = {self._norm(k): typed(store, "links.toml", k, v, str) for k, v in read_toml(store, "links.toml").items()}
        for name, target in store.links().items():
            if name.startswith("files/"):
                links.setdefault(self._norm(name[5:]), target)
        for name in store.names():
            if name.startswith("files/"):
                self._files[self._norm(name[5:])] = name
            elif name.endswith(".toml") and "/" not in name:
                read_toml(store, name)  # read, although no answer needs it, since rewriting the capture reads all tables
        self._links: dict[str, str] = links
        self._modes: dict[str, Mapping[str, Any]] = {}
        for key, value in read_toml(store, "modes.toml").items():
            self._modes[self._norm(key)] = typed(store, "modes.toml", key, value, dict)
        for key, value in read_toml(store, "unreadable.toml").items():
            word, _, why = typed(store, "unreadable.toml", key, value, str).partition(" ")
            (self._distrusted if word == DISTRUSTED else self._unreadable)[self._norm(key)] = why if word == DISTRUSTED else value
        self._folders: dict[str, list[str]] = {}
        for key, value in read_toml(store, "folders.toml").items():
            listing = typed(store, "folders.toml", key, value, list)
            self._folders[self._norm(key)] = [typed(store, "folders.toml", key, name, str) for name in listing]
        absent = typed(store, "absent.toml", "paths", read_toml(store, "absent.toml").get("paths", []), list)
        self._absent = {self._norm(typed(store, "absent.toml", "paths", path, str)) for path in absent}
        real = {key: typed(store, "realpaths.toml", key, value, str) for key, value in read_toml(store, "realpaths.toml").items()}
        self._realpaths: dict[str, str] = {self._norm(key) if key.startswith("/") else key: value for key, value in real.items()}
        for path in (*self._files, *links, *self._modes):
            self._adopt(path)
        self._known_there = {path for path, why in self._unreadable.items() if why != "missing" and path not in self._absent}
        self._known_there.update(self._norm(posixpath.join(path, name)) for path, names in self._folders.items() for name in names)
        for path in self._known_there:
            self._adopt(path)
        for path in self._folders:
            self._adopt(posixpath.join(path, "."), leaf=False)

    def _adopt(self, path: str, leaf: bool = True) -> None:
        """Make the path a child of its folder, and its folders folders. Raises CaptureError where that would take too many folders."""
        try:
            check_path(path)
        except TooComplex as error:
            raise CaptureError(f"{self._store.where}: {error}; a capture holds paths that a system can open") from None
        if len(self._children) > MOST_FOLDERS:
            raise CaptureError(f"{self._store.where}: its paths lie in more than {MOST_FOLDERS} folders, which no recorded machine has")
        folder, _, name = path.rpartition("/")
        folder = folder or "/"
        if leaf:
            self._children.setdefault(folder, set()).add(name)
            self._holds_files.add(folder)
            if self.platform == "windows":
                self._folded.setdefault(path.lower(), path)
        while folder != "/":
            self._children.setdefault(folder, set())
            if self.platform == "windows":
                self._folded.setdefault(folder.lower(), folder)
            folder, _, name = folder.rpartition("/")
            folder = folder or "/"
            siblings = self._children.setdefault(folder, set())
            if name in siblings:
                break
            siblings.add(name)

    def _norm(self, path: str) -> str:
        """The path in one spelling: absolute, no '..', drives as `/C:/…`; on Windows `files/C/…` is the drive C."""
        if self.platform == "windows" or _DRIVE.match(path):
            path = path.replace("\\", "/")
        path = posixpath.normpath("/" + path.lstrip("/"))
        drive = _DRIVE.match(path)
        if drive:
            return f"/{drive[1].upper()}:{path[drive.end() :]}"
        if self.platform == "windows" and re.match(r"^/[A-Za-z](/|$)", path):
            return f"/{path[1].upper()}:{path[2:]}"
        return path

    def _resolve(self, path: str) -> str | None:
        """Where a path leads; None for a loop. A recording under the path itself takes precedence over its links."""
        path = self._norm(path)
        for _ in range(_MAX_HOPS):
            if path in self._files or path in self._unreadable or path in self._folders or path in self._modes or self._children.get(path):
                return path
            followed = self._follow_one(path)
            if followed is None:
                return self._folded.get(path.lower(), path) if self.platform == "windows" else path
            path = followed
            if len(path) > 65536:
                return None
        return None

    def _follow_one(self, path: str) -> str | None:
        at = 0
        while at >= 0:
            at = path.find("/", at + 1)
            prefix = path if at < 0 else path[:at]
            target = self._links.get(prefix)
            if target is not None:
                rest = "" if at < 0 else path[at:]
                start = target if target.startswith("/") or _DRIVE.match(target) else posixpath.join(posixpath.dirname(prefix), target)
                return self._norm(start + rest)
        return None

    def _is_there(self, resolved: str | None) -> bool:
        if resolved is None or resolved in self._absent:
            return False
        return resolved in self._files or resolved in self._children or resolved in self._modes or resolved in self._known_there

    def _knows_missing(self, resolved: str) -> bool:
        """Whether a path that is not recorded is known to be absent."""
        if resolved in self._absent:
            return True
        folder = resolved
        while folder != "/":
            folder = posixpath.dirname(folder)
            if folder in self._absent:
                return True
            if folder in self._folders or self._children.get(folder):  # it exists, and lacks the next part of this path
                is_listed = folder in self._folders
                return is_listed or (not self.complete and (folder in self._holds_files or folder not in _COARSE))
        return False

    # methods of Host

    def run(self, argv: Sequence[str], *, timeout: float = 5.0, limit: int = 4_000_000) -> Ran:
        key = tuple(argv)
        if self.quick:
            return Ran(key, not_recorded=True)
        found = self._commands.get(key)
        if found is None:
            return Ran(key, not_recorded=True) if self.complete else Ran(key, missing=True)
        if len(found.stdout) > limit:
            return Ran(key, rc=None, stdout=bounded(found.stdout, True), stderr=found.stderr, truncated=True, seconds=found.seconds)
        return found

    def run_child(
        self, argv: Sequence[str], *, timeout: float, limit: int, env: Mapping[str, str], stdin_text: str = "", niced: bool = True
    ) -> Ran:
        """The recorded output of the same child, if there is one: a recorded machine runs nothing."""
        found = None if self.quick else self._commands.get((CHILD, child_digest(argv, stdin_text)))
        return Ran(tuple(argv), not_recorded=True) if found is None else replace(found, argv=tuple(argv))

    def read(self, path: str, *, limit: int = 1_000_000) -> Text:
        resolved = self._resolve(path)
        if resolved is None:
            return Text(problem="io-error")
        why = self._unreadable.get(resolved)
        if why is not None:
            return Text(problem=_PROBLEMS.get(why, "io-error"))
        name = self._files.get(resolved)
        if name is None:
            if self._is_there(resolved):
                return Text(problem="io-error" if resolved in self._children else "not-recorded")
            return Text(problem="missing" if self._knows_missing(resolved) else "not-recorded")
        size = self._store.size(name)
        if size < 0:
            return Text(problem="io-error")
        if size > limit:
            return Text(problem="too-large")
        content = self._store.read(name, limit + 1)
        return Text(problem="io-error") if content is None else Text(content.decode("utf-8", "replace"))

    def exists(self, path: str) -> bool:
        """Whether the path exists. `name/.` exists for folders only."""
        resolved = self._resolve(path)
        return self._is_there(resolved) and not (path.endswith("/.") and self._is_no_folder(resolved or ""))

    def _is_no_folder(self, resolved: str) -> bool:
        if resolved in self._folders or self._children.get(resolved):
            return False
        return resolved in self._files or str(self._modes.get(resolved, {}).get("mode", ""))[:1] in tuple("-bcps")

    def knows(self, path: str) -> bool:
        """Whether the answers of `exists`, `listdir` and `mode` are recorded, rather than defaults."""
        resolved = self._resolve(path)
        return resolved is not None and (self._is_there(resolved) or self._knows_missing(resolved))

    def listdir(self, path: str) -> list[str]:
        resolved = self._resolve(path)
        if resolved is None:
            return []
        if resolved in self._folders:
            return sorted(self._folders[resolved])
        return sorted(self._children.get(resolved, ()))

    def readlink(self, path: str) -> str | None:
        normal = self._norm(path)
        if normal in self._links:
            return self._links[normal]
        folder = self._resolve(posixpath.dirname(normal))
        return None if folder is None else self._links.get(posixpath.join(folder, posixpath.basename(normal)))

    def realpath(self, path: str) -> str:
        recorded = self._realpaths.get(self._norm(path) if path.startswith("/") else path)
        if recorded is not None:
            return recorded
        resolved = self._resolve(path)
        if resolved is None:
            return path
        return resolved[1:] if _DRIVE.match(resolved) else resolved

    def mode(self, path: str) -> Mode | None:
        resolved = self._resolve(path)
        entry = self._modes.get(resolved or "")
        if entry is None or "mode" not in entry:
            return self._from_listings().get(resolved or "")
        uid, gid = entry.get("uid"), entry.get("gid")
        return Mode(
            str(entry.get("mode", "")),
            str(entry.get("owner", "")),
            str(entry.get("group", "")),
            uid if isinstance(uid, int) else None,
            gid if isinstance(gid, int) else None,
        )

    def _from_listings(self) -> dict[str, Mode]:
        if self._listed is None:
            self._listed = listed_modes(self._commands.values())
        return self._listed

    def may_open(self, path: str) -> bool | None:
        resolved = self._resolve(path)
        if resolved is None or not self._is_there(resolved):
            return None
        recorded = self._modes.get(resolved, {}).get("may_open")
        if isinstance(recorded, bool):
            return recorded
        mode = self.mode(resolved)
        if mode is None:
            return None
        listed = self._from_listings().get(resolved)
        return may_open_by_mode(mode, self._who, acl=acl_marked(mode) or (listed is not None and acl_marked(listed)))

    def distrust(self, path: str, *, lies_here: bool = False) -> str:
        return self._distrusted.get(self._norm(path), "")

    def env(self, name: str) -> str | None:
        if self.platform == "windows":
            return {key.upper(): value for key, value in self._env.items()}.get(name.upper())
        return self._env.get(name)

    def env_names(self, prefix: str) -> list[str]:
        if self.platform == "windows":
            return sorted(name for name in self._env if name.upper().startswith(prefix.upper()))
        return sorted(name for name in self._env if name.startswith(prefix))

    def remaining(self) -> float:
        return self._budget

    def python_environment(self) -> dict[str, Any] | None:
        """The target environment by python.json; None for an exact capture, which holds the files themselves."""
        return None if self.exact else self.python

    def beside(self) -> Any:
        """Facts of the machine on which a recorded container ran (beside.json); None where there are none."""
        return read_json(self._store, "beside.json")

    def measurements(self) -> Any:
        """Measurements of `validate` on the recorded machine (measurements.json); None where there are none."""
        return read_json(self._store, "measurements.json")
